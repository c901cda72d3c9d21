// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Which of the cases chosen by name are prepared together, and compared.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/bench/fabrics.hpp"
#include "tests/bench/program/chosen.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(ChosenComparisons, CasesThatDifferInWordsAreComparedWithTheFirstInOneGroup) {
  if (!has_cuda()) GTEST_SKIP() << "this build has no CUDA kernels";
  const std::vector<Group> groups = chosen({h200()}, {"gemm/bf16/m=n=k:512,1024/algo:tuned,default",
                                                      "attention/bf16/heads:8/queries:512/mask:none,causal/impl:"
                                                      "tiled_wgmma,cudnn"});
  ASSERT_THAT(groups, SizeIs(3));
  for (int i : {0, 1}) {
    ASSERT_THAT(groups[static_cast<std::size_t>(i)].comparisons, SizeIs(1));
    EXPECT_EQ(groups[static_cast<std::size_t>(i)].comparisons[0].name, "tuned against default");
  }
  EXPECT_THAT(groups[2].cases, SizeIs(4));
}

TEST(ChosenComparisons, CasesThatDifferInTwoKeysAreComparedAlongEach) {
  if (!has_cuda()) GTEST_SKIP() << "this build has no CUDA kernels";
  const std::vector<Group> groups =
      chosen({h200()}, {"gemm/bf16/m=n=k:512/epilogue:none,relu,gelu/act:fused,separate/algo:default"});
  ASSERT_THAT(groups, SizeIs(1));
  // epilogue:none/act:separate is unsupported.
  std::vector<std::string> compared;
  for (const Comparison& c : groups[0].comparisons) {
    compared.push_back(
        fmt::format("{}: {} {}", c.name, value_of(c.denominator.shape, "epilogue"), value_of(c.denominator.shape, "act")));
  }
  EXPECT_THAT(compared,
              ElementsAre("none against relu: relu ", "fused against separate: relu separate", "none against gelu: gelu ",
                          "relu against gelu: gelu separate", "fused against separate: gelu separate"));
}

TEST(ChosenComparisons, CasesWithAndWithoutPeerAccessAreNotPreparedTogether) {
  const Fabric gpus = made_up_gpus(2);
  const std::vector<Group> groups =
      chosen({.device = h200(), .fabric = &gpus}, {"transfer/peer/int8/bytes:1M/from:0/to:1/access:on,off"});
  ASSERT_THAT(groups, SizeIs(2));
  for (const Group& group : groups) EXPECT_THAT(group.cases, SizeIs(1));
}

TEST(ChosenComparisons, SizesThatRoundToOneAreOneCaseInComparisonsToo) {
  if (!has_cuda()) GTEST_SKIP() << "this build has no CUDA kernels";
  const std::vector<Group> groups = chosen({h200()}, {"latency/chase/int8/bytes:1,128,200/load:ca,cg"});
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_THAT(groups[0].cases, SizeIs(2));
  EXPECT_THAT(groups[0].comparisons, SizeIs(1));
}

}  // namespace
}  // namespace roofmark
