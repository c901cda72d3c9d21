// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/contradictions.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> found(const std::vector<std::pair<Resource, double>>& rates) {
  Roofline roofline;
  for (const auto& [resource, rate] : rates) roofline.at(resource).first = rate;
  std::vector<Finding> findings;
  find_contradictions(roofline, findings);
  std::vector<std::string> briefs;
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.kind, FindingKind::contradiction);
    EXPECT_GT(finding.size, 0.05);
    briefs.push_back(finding.brief);
  }
  return briefs;
}

TEST(Contradictions, AnInnerLevelIsNotSlowerThanAnOuterOne) {
  using namespace resource;
  EXPECT_THAT(found({{l1, 400e9}, {l2, 200e9}, {l3, 100e9}, {dram, 50e9}}), IsEmpty());
  EXPECT_THAT(found({{l1, 400e9}, {l2, 60e9}, {l3, 100e9}, {dram, 50e9}}), ElementsAre("L2 cache was slower than L3 cache"));
  EXPECT_THAT(found({{l1, 400e9}, {l2, 60e9}, {l3, 70e9}, {dram, 90e9}}),
              ElementsAre("L2 cache was slower than DRAM", "L3 cache was slower than DRAM"));
  EXPECT_THAT(found({{l3, 50e9}, {dram, 52e9}}), IsEmpty()) << "noise";
}

TEST(Contradictions, OfPipesOnlyWhatHoldsOnEveryDevice) {
  using namespace resource;
  EXPECT_THAT(found({{fp16_fma, 120e12}, {fp16_tensor, 100e12}}),
              ElementsAre("fp16 tensor, fp32 accumulate was slower than fp16 FMA"));
  EXPECT_THAT(found({{fp64_fma, 10e12}, {fp32_fma, 5e12}}), ElementsAre("fp32 FMA was slower than fp64 FMA"));
  EXPECT_THAT(found({{fp32_fma, 35e12}, {tf32_tensor, 30e12}}), IsEmpty()) << "as on cards for graphics";
  EXPECT_THAT(found({{fp32_fma_one_core, 50e9}, {fp32_fma, 20e9}}), ElementsAre("fp32 FMA was slower than fp32 FMA, one core"));
}

TEST(Contradictions, TheTextHasBothRates) {
  Roofline roofline;
  roofline.at(resource::l2).first = 60e9;
  roofline.at(resource::l3).first = 100e9;
  std::vector<Finding> findings;
  find_contradictions(roofline, findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].text,
            "L2 cache reached 60.0 GB/s, less than the 100 GB/s of L3 cache, which is slower on every device");
  EXPECT_NEAR(findings[0].size, 0.67, 0.01);
}

}  // namespace
}  // namespace roofmark
