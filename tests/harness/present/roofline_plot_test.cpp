// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/roofline_plot.hpp"

#include <gmock/gmock.h>

#include "harness/judge/analysis.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RooflinePlot, TheRooflineHoldsThePointsAndTheRoofs) {
  auto records = placed_records();
  const Analysis analysis = analyze({}, records, {});
  const std::string plot = roofline_plot(analysis.roofline, records, {});
  EXPECT_THAT(plot, HasSubstr("G gemm"));
  EXPECT_THAT(plot, HasSubstr("fp32 FMA"));
  EXPECT_THAT(plot, HasSubstr("/"));
  EXPECT_EQ(roofline_plot({}, {}, {}), "");
}

TEST(RooflinePlot, WithoutARateOfTheMemoryThereIsNone) {
  auto records = placed_records();
  Analysis analysis = analyze({}, records, {});
  Ceiling& dram = analysis.roofline.at(resource::dram);
  dram.first = dram.last = 0;
  EXPECT_EQ(roofline_plot(analysis.roofline, records, {}), "");
}

/// As that of one core beside a memory that all cores share.
TEST(RooflinePlot, ARoofBelowAllResultsIsInIt) {
  auto records = placed_records();
  records.push_back(probe_record("fma", resource::fp64_fma_one_core, 1e3, 1e-2));
  const Analysis analysis = analyze({}, records, {});
  EXPECT_THAT(roofline_plot(analysis.roofline, records, {}), HasSubstr("fp64 FMA, one core"));
}

/// As products of a type whose own roof could not be measured.
TEST(RooflinePlot, AResultAboveAllRoofsIsInIt) {
  auto records = placed_records();
  records.push_back(ok_record("reductions", "", {{{{resource::fp4_tensor, 1e18}, {resource::dram, 1e14}}}}, 1e-2));
  const Analysis analysis = analyze({}, records, {});
  ASSERT_FALSE(analysis.roofline.find(resource::fp4_tensor));
  const std::string plot = roofline_plot(analysis.roofline, records, {});
  EXPECT_THAT(plot.substr(0, plot.find('+')), HasSubstr("R"));
}

TEST(RooflinePlot, AtomicAdditionsAreNoRoof) {
  auto records = placed_records();
  records.push_back(probe_record("atomic_add", resource::global_atomic, 1e10, 1e-2));
  const Analysis analysis = analyze({}, records, {});
  ASSERT_TRUE(analysis.roofline.find(resource::global_atomic)->empirical());
  EXPECT_THAT(roofline_plot(analysis.roofline, records, {}), Not(HasSubstr("atomic")));
}

TEST(RooflinePlot, NoTitleOfARoofIsCut) {
  auto records = placed_records();
  // Its ridge is far to the right of all results.
  records.push_back(probe_record("mma", resource::fp16_tensor, 1e15, 1e-2));
  const Analysis analysis = analyze({}, records, {});
  for (const int columns : {60, 100, 120}) {
    EXPECT_THAT(roofline_plot(analysis.roofline, records, {false, false, columns}), HasSubstr("fp16 tensor, fp32 accumulate"))
        << columns;
  }
}

}  // namespace
}  // namespace roofmark
