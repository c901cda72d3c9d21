// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/shared_cores.hpp"

#include <gmock/gmock.h>

#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

std::vector<Finding> found(const std::vector<std::string>& hosts, const std::vector<std::vector<int>>& cores) {
  std::vector<RankInfo> team = members(hosts);
  for (std::size_t i = 0; i < team.size(); ++i) team[i].cores = cores[i];
  return shared_cores(team);
}

TEST(SharedCores, RanksOfOneHostNeedCoresOfTheirOwn) {
  EXPECT_TRUE(found({"a", "a", "b"}, {{0, 1}, {2, 3}, {0, 1}}).empty());
  EXPECT_TRUE(found({"a", "a"}, {{}, {}}).empty()) << "GPUs";
  const auto shared = found({"a", "a", "a", "b"}, {{0}, {1}, {0}, {0}});
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_EQ(shared[0].kind, FindingKind::shared_cores);
  EXPECT_EQ(shared[0].text, "2 ranks share 1 core of a: ranks 0, 2 may run on the same cores, 0");
  EXPECT_EQ(shared[0].brief, "2 ranks share 1 core of a");
  EXPECT_EQ(shared[0].size, 2);
}

/// Ranks of GPUs, on hosts of 128 cores.
std::vector<Finding> found_of_gpus(const std::vector<std::string>& hosts, const std::vector<std::vector<int>>& cores) {
  std::vector<RankInfo> team = members(hosts);
  for (std::size_t i = 0; i < team.size(); ++i) {
    team[i].cores = cores[i];
    team[i].host_cores = 128;
    team[i].uuid = "GPU-" + std::to_string(i);
  }
  return shared_cores(team);
}

TEST(SharedCores, OverTheNetworkARankOfAGpuNeedsCoresForTheThreadsOfNccl) {
  EXPECT_TRUE(found_of_gpus({"a", "b"}, {{0, 1, 2}, {0, 1, 2}}).empty());
  EXPECT_TRUE(found_of_gpus({"a", "a"}, {{0}, {1}}).empty()) << "on one host NVLink or shared memory carries it";
  EXPECT_TRUE(found_of_gpus({"a", "b"}, {{}, {}}).empty()) << "unknown";
  const auto few = found_of_gpus({"a", "b", "c"}, {{0, 1, 2, 3}, {5}, {6, 7}});
  ASSERT_EQ(few.size(), 1U);
  EXPECT_EQ(few[0].kind, FindingKind::shared_cores);
  EXPECT_EQ(few[0].text,
            "2 of 3 ranks may use fewer than 3 cores of their hosts: NCCL's threads share them with the rank's own; "
            "rank 1 (b) has core 5 of 128");
  EXPECT_EQ(few[0].ranks, (std::vector<int>{1, 2}));
}

TEST(SharedCores, AHostWithFewCoresCannotGiveMore) {
  std::vector<RankInfo> team = members({"a", "b"});
  for (RankInfo& member : team) member.cores = {0, 1}, member.host_cores = 2, member.uuid = "GPU";
  EXPECT_TRUE(shared_cores(team).empty());
}

// They may all use the same cores: what matters is how many they have.
TEST(SharedCores, RanksOfGpusMayUseTheSame) {
  EXPECT_TRUE(found_of_gpus({"a", "a", "b"}, {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}).empty());
}

}  // namespace
}  // namespace roofmark
