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

}  // namespace
}  // namespace roofmark
