// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "harness/model/units.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Units, ThreeDigitsAndAPrefix) {
  EXPECT_EQ(format_rate(789.2e12, Unit::flop), "789 TFLOP/s");
  EXPECT_EQ(format_rate(1.979e15, Unit::op), "1.98 Pop/s");
  EXPECT_EQ(format_rate(450e3, Unit::launch), "450 k launches/s");
  EXPECT_EQ(format_rate(450, Unit::launch), "450 launches/s");
  EXPECT_EQ(format_amount(1, Unit::byte), "1 B");
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
  EXPECT_THAT(table, HasSubstr("gemm  blas  fp32  n:1"));
  EXPECT_THAT(table, HasSubstr("50.0 TFLOP/s"));
  EXPECT_THAT(table, HasSubstr("50.0 %"));
  EXPECT_THAT(table, Not(HasSubstr("copy")));
  EXPECT_THAT(table, Not(HasSubstr("\033")));
  EXPECT_THAT(ceilings_table(analysis.roofline), HasSubstr("1.00 TB/s"));
  // What is said to bind is found in the table of ceilings.
  EXPECT_THAT(table, HasSubstr("  bound by fp32_fma\n"));
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

TEST(Terminal, FindingsStandBySeverityAreCountedAndAdvised) {
  std::vector<Finding> findings;
  for (int i = 0; i < 10; ++i) findings.push_back({FindingKind::throttle, "the clock fell", "gemm/" + std::to_string(i)});
  findings.push_back({FindingKind::above_theoretical, "DRAM: too fast", "stream/copy"});
  const std::string text = findings_text(findings, {});
  EXPECT_THAT(text, StartsWith("error: above_theoretical  stream/copy: DRAM: too fast\n  Verification passed"));
  EXPECT_THAT(
      text,
      HasSubstr("warning: throttle  gemm/2: the clock fell\nwarning: throttle  and 7 more like these\n  The samples are kept"));
  EXPECT_THAT(text, Not(HasSubstr("gemm/3")));
}

TEST(Terminal, ADoubtfulCeilingIsMarked) {
  Roofline roofline;
  roofline.at(resource::dram).first = 1e12;
  roofline.at(resource::dram).theoretical = 0.9e12;
  EXPECT_THAT(ceilings_table(roofline), Not(HasSubstr("?")));
  roofline.at(resource::dram).doubtful = true;
  EXPECT_THAT(ceilings_table(roofline), AllOf(HasSubstr(" 900 GB/s ? "), HasSubstr("\n? doubtful: ")));
}

TEST(Terminal, TheVerdictNamesEachCaseThatIsWrongWithItsReason) {
  const auto record = [](const std::string& name, Status status, const std::string& reason) {
    Record made;
    made.name = name;
    made.status = status;
    made.reason = reason;
    return made;
  };
  const std::vector<Record> records = {record("a", Status::ok, ""),
                                       record("b", Status::wrong, "element 3"),
                                       record("c", Status::failed, "no memory"),
                                       record("d", Status::not_run, "lost"),
                                       record("e", Status::not_run, "lost"),
                                       record("f", Status::unsupported, "no fp8")};
  EXPECT_EQ(verdict_text(records, {}),
            "wrong  b: element 3\n"
            "failed  c: no memory\n"
            "not run  d and 1 more: lost\n"
            "1 ok, 1 wrong, 1 failed, 2 not run, 1 unsupported\n");
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

Record attention(const std::string& type, const std::string& queries, const std::string& mask, const std::string& impl) {
  Record record = ok_record("attention", "x", {{{{resource::fp16_tensor_fp16, 5e9}, {resource::dram, 1e8}}}}, 123.4e-6);
  record.name = fmt::format("attention/{}/batch:16/heads:128/kv_heads:8/queries:{}/keys:{}/d:128/mask:{}/impl:{}/cache:cold",
                            type, queries, queries, mask, impl);
  Summary& summary = record.measurement->summary;
  summary.interval_low = 0.99 * summary.median;
  summary.interval_high = 1.01 * summary.median;
  record.measurement->clock_hz = queries == "8192" ? 1980e6 : 1455e6;
  return record;
}

TEST(Terminal, WhatIsConstantOverATableStandsAboveIt) {
  std::vector<Record> records = {attention("bf16", "8192", "causal", "cudnn"), attention("bf16", "8192", "none", "cudnn")};
  const std::string table = records_table(records, {});
  EXPECT_THAT(table, StartsWith("attention  bf16  batch:16  heads:128  kv_heads:8  queries:8192  keys:8192  d:128  impl:cudnn  "
                                "cache:cold\n"
                                "mask    median  +- 95 %"));
  EXPECT_THAT(table, HasSubstr("\ncausal  123 us   1.00 %  "));
  EXPECT_THAT(table, Not(HasSubstr("of roof"))) << "no record has one";
}

TEST(Terminal, TablesWithOtherKeysAreTablesOfTheirOwn) {
  auto records = placed_records();
  records[1].name = "ceilings/fma/fp32";
  const std::string table = records_table(records, {});
  EXPECT_THAT(table, StartsWith("ceilings  dram_read  fp32  n:1"));
  EXPECT_THAT(table, HasSubstr("\n\nceilings  fma  fp32\n"));
}

TEST(Terminal, NoLineOfATableIsWiderThanTheTerminal) {
  std::vector<Record> records;
  for (const char* type : {"fp16", "bf16"}) {
    for (const char* queries : {"1024", "8192"}) {
      for (const char* mask : {"causal", "none"}) {
        for (const char* impl : {"tiled_wgmma", "naive"}) records.push_back(attention(type, queries, mask, impl));
      }
    }
  }
  Roofline roofline;
  for (const Resource& resource : kResources) {
    Ceiling& ceiling = roofline.at(resource);
    ceiling.first = resource.unit == Unit::launch ? 450e3 : 66.9e12;
    ceiling.last = 0.9 * *ceiling.first;
    if (resource.unit != Unit::launch) ceiling.theoretical = ceiling.datasheet = 66.9e12;
    ceiling.doubtful = ceiling.theoretical.has_value();
  }
  const std::string table = ceilings_table(roofline);
  EXPECT_LE(widest(table), 120U) << table;
  std::vector<ComparisonResult> comparisons;
  analyze(roofline, records, {});
  for (std::size_t i = 0; i + 1 < records.size(); i += 2) {
    comparisons.push_back({{"tiled against naive", "impl", records[i].name, records[i + 1].name}, 1.234, 1.2, 1.3});
  }
  for (const int columns : {100, 120}) {
    const TerminalStyle style{false, false, columns};
    const std::string all = records_table(records, style);
    EXPECT_LE(widest(all), std::size_t(columns)) << all;
    EXPECT_EQ(occurrences(all, "123 us"), records.size()) << all;
    EXPECT_LE(widest(comparisons_table(comparisons, style)), std::size_t(columns));
  }
}

TEST(Terminal, AComparisonSaysWhatItCompares) {
  const std::vector<ComparisonResult> results = {
      {{"tuned against default", "algo", "gemm/bf16/m:64/n:64/algo:tuned", "gemm/bf16/m:64/n:64/algo:default"}, 1.5, 1.4, 1.6},
      {{"tuned against default", "algo", "gemm/bf16/m:128/n:64/algo:tuned", "gemm/bf16/m:128/n:64/algo:default"},
       1.25,
       {},
       {}}};
  EXPECT_EQ(comparisons_table(results, {}),
            "algo tuned against default: gemm  bf16  n:64  algo:tuned\n"
            "m    times faster   95 % interval\n"
            "64          1.500  1.400 .. 1.600\n"
            "128         1.250               -\n");
}

TEST(Terminal, ColumnsAlign) { EXPECT_EQ(align({{"a", "bb"}, {"ccc", "d"}}), "a    bb\nccc   d\n"); }

}  // namespace
}  // namespace roofmark
