// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal.hpp"

#include <gmock/gmock.h>

#include "harness/model/units.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Units, ThreeDigitsAndAPrefix) {
  EXPECT_EQ(format_rate(789.2e12, Unit::flop), "789 TFLOP/s");
  EXPECT_EQ(format_rate(1.979e15, Unit::op), "1.98 Pop/s");
  EXPECT_EQ(format_rate(450e3, Unit::launch), "450 k launches/s");
  EXPECT_EQ(format_rate(450, Unit::launch), "450 launches/s");
  EXPECT_EQ(format_amount(1, Unit::byte), "1.00 B");
  EXPECT_EQ(format_rate(4.131e12, Unit::byte), "4.13 TB/s");
  EXPECT_EQ(format_rate(999.6e9, Unit::byte), "1.00 TB/s");
  EXPECT_EQ(format_rate(0, Unit::byte), "0 B/s");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 us");
  EXPECT_EQ(format_seconds(0.9996e-3), "1.00 ms");
  EXPECT_EQ(format_seconds(2.5), "2.50 s");
  EXPECT_EQ(format_bytes(268435456), "268 MB");
  EXPECT_EQ(format_share(0.9414), "94.1 %");
  EXPECT_EQ(format_share(std::nullopt), "-");
  EXPECT_EQ(format_duration(125), "2 m 05 s");
}

std::vector<Record> placed_records() {
  Record memory = ok_record("ceilings", "dram_read", {{{{resource::dram, 1e9}}}}, 1e-3);
  memory.raises = resource::dram;
  Record compute = ok_record("ceilings", "fma", {{{{resource::fp32_fma, 1e12}}}}, 1e-2);
  compute.raises = resource::fp32_fma;
  Record gemm = ok_record("gemm", "blas", {{{{resource::fp32_fma, 1e12}, {resource::dram, 1e9}}}}, 2e-2);
  Record wrong = ok_record("stream", "copy", {{{{resource::dram, 1e9}}}}, 1e-3);
  wrong.status = Status::wrong;
  wrong.measurement.reset();
  return {memory, compute, gemm, wrong};
}

TEST(Terminal, TablesShowOkRecordsAlone) {
  auto records = placed_records();
  const Analysis analysis = analyze({}, records, {});
  const std::string table = records_table(records, {});
  EXPECT_THAT(table, HasSubstr("blas/fp32/n:1"));
  EXPECT_THAT(table, HasSubstr("50.0 TFLOP/s"));
  EXPECT_THAT(table, HasSubstr("50.0 %"));
  EXPECT_THAT(table, Not(HasSubstr("copy")));
  EXPECT_THAT(table, Not(HasSubstr("\033")));
  EXPECT_THAT(ceilings_table(analysis.roofline), HasSubstr("1.00 TB/s"));
  // What is said to bind is found in the table of ceilings.
  EXPECT_THAT(table, HasSubstr("  fp32_fma  "));
  EXPECT_THAT(ceilings_table(analysis.roofline), HasSubstr("fp32 FMA  fp32_fma  "));
}

TEST(Terminal, TheRooflineHoldsThePointsAndTheRoofs) {
  auto records = placed_records();
  const Analysis analysis = analyze({}, records, {});
  const std::string plot = roofline_plot(analysis.roofline, records, {});
  EXPECT_THAT(plot, HasSubstr("G gemm"));
  EXPECT_THAT(plot, HasSubstr("fp32 FMA"));
  EXPECT_THAT(plot, HasSubstr("/"));
  EXPECT_EQ(roofline_plot({}, {}, {}), "");
}

TEST(Terminal, NoTitleOfARoofIsCut) {
  auto records = placed_records();
  // Its ridge is far to the right of all results.
  Record tensor = ok_record("ceilings", "mma", {{{{resource::fp16_tensor, 1e15}}}}, 1e-2);
  tensor.raises = resource::fp16_tensor;
  records.push_back(tensor);
  const Analysis analysis = analyze({}, records, {});
  for (const int columns : {60, 100, 120}) {
    EXPECT_THAT(roofline_plot(analysis.roofline, records, {false, false, columns}), HasSubstr("fp16 tensor, fp32 accumulate"))
        << columns;
  }
}

TEST(Terminal, ColourOnlyWhereItIsWanted) {
  auto records = placed_records();
  analyze({}, records, {});
  EXPECT_THAT(records_table(records, {true, true, 100}), HasSubstr("\033[1m"));
}

TEST(Terminal, LikeFindingsAreCounted) {
  std::vector<Finding> findings;
  for (int i = 0; i < 10; ++i) findings.push_back({"throttle", "the clock fell", "gemm/" + std::to_string(i)});
  EXPECT_THAT(findings_text(findings, {}), HasSubstr("and 7 more like these"));
}

TEST(Terminal, ColumnsAlign) { EXPECT_EQ(align({{"a", "bb"}, {"ccc", "d"}}), "a    bb\nccc   d\n"); }

}  // namespace
}  // namespace roofmark
