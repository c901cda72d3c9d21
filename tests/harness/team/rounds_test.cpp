// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/rounds.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

namespace roofmark {
namespace {

using Pair = std::pair<int, int>;
using testing::Each;

/// Ranks on these hosts, below these ports.
std::vector<RankInfo> ranks_on(const std::vector<std::string>& hosts, const std::vector<std::string>& ports = {}) {
  std::vector<RankInfo> members(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    members[i].rank = static_cast<int>(i);
    members[i].host = hosts[i];
    if (!ports.empty()) members[i].root_port = ports[i];
  }
  return members;
}

/// `count` ranks on each of `hosts`, in turn or one host after the other.
std::vector<std::string> even(int hosts, int count, bool in_turn) {
  std::vector<std::string> all;
  for (int i = 0; i < hosts * count; ++i) all.push_back("node" + std::to_string(in_turn ? i % hosts : i / count));
  return all;
}

std::vector<std::vector<Pair>> pairs_by_round(const std::vector<RankInfo>& members) {
  std::vector<std::vector<Pair>> all;
  for (const std::vector<int>& colours : rounds_of_pairs(members)) {
    EXPECT_EQ(colours.size(), members.size());
    std::vector<Pair>& pairs = all.emplace_back();
    std::map<int, std::vector<int>> groups;
    for (std::size_t rank = 0; rank < colours.size(); ++rank) {
      if (colours[rank] >= 0) groups[colours[rank]].push_back(static_cast<int>(rank));
    }
    for (const auto& [colour, group] : groups) {
      EXPECT_EQ(group.size(), 2U);
      pairs.emplace_back(group.front(), group.back());
    }
  }
  return all;
}

void expect_each_pair_once(const std::vector<RankInfo>& members) {
  std::map<Pair, int> met;
  for (const std::vector<Pair>& pairs : pairs_by_round(members)) {
    EXPECT_FALSE(pairs.empty()) << "a round without pairs";
    for (const Pair& pair : pairs) ++met[pair];
  }
  const auto n = members.size();
  EXPECT_EQ(met.size(), n * (n - 1) / 2);
  for (const auto& [pair, times] : met) EXPECT_EQ(times, 1) << pair.first << " and " << pair.second;
}

TEST(RoundsOfPairs, EveryRankMeetsEveryOtherOnce) {
  for (const std::vector<int>& counts :
       std::vector<std::vector<int>>{{1}, {2}, {3}, {8}, {1, 1}, {3, 5}, {4, 4, 8}, {1, 2, 3, 4}, {8, 7}}) {
    std::vector<std::string> hosts;
    for (std::size_t host = 0; host < counts.size(); ++host) {
      hosts.insert(hosts.end(), static_cast<std::size_t>(counts[host]), "node" + std::to_string(host));
    }
    SCOPED_TRACE(testing::PrintToString(counts));
    expect_each_pair_once(ranks_on(hosts));
  }
  for (const bool in_turn : {false, true}) expect_each_pair_once(ranks_on(even(3, 4, in_turn)));
  expect_each_pair_once(ranks_on(even(1, 8, false), {"a", "a", "b", "b", "c", "c", "d", "d"}));
  expect_each_pair_once(ranks_on(even(2, 5, true), {"a", "a", "b", "b", "a", "a", "b", "b", "a", "a"}));
}

TEST(RoundsOfPairs, OfAnEvenNumberOfHostsTakeAsFewAsPossible) {
  EXPECT_EQ(rounds_of_pairs(ranks_on(even(1, 8, false))).size(), 7U);
  EXPECT_EQ(rounds_of_pairs(ranks_on(even(4, 8, false))).size(), 31U);
  EXPECT_EQ(rounds_of_pairs(ranks_on(even(16, 1, false))).size(), 15U);
  EXPECT_TRUE(rounds_of_pairs(ranks_on({"node"})).empty());
}

// A host whose ranks exchange with several hosts at once would share its ports among more pairs in one round than in another.
TEST(RoundsOfPairs, AHostMeetsOneOtherWithAllOfItsRanks) {
  for (const int hosts : {2, 3, 4, 8}) {
    for (const bool in_turn : {false, true}) {
      const std::vector<RankInfo> members = ranks_on(even(hosts, 4, in_turn));
      for (const std::vector<Pair>& pairs : pairs_by_round(members)) {
        std::map<std::string, std::multiset<std::string>> peers;
        for (const auto& [a, b] : pairs) {
          const std::string &one = members[static_cast<std::size_t>(a)].host,
                            &other = members[static_cast<std::size_t>(b)].host;
          peers[one].insert(other);
          peers[other].insert(one);
        }
        for (const auto& [host, met] : peers) {
          EXPECT_EQ(met.size(), 4U) << host;
          EXPECT_THAT(met, Each(*met.begin())) << host;
        }
      }
    }
  }
}

// NVLink joins the hosts of a domain; the network, which has the ports of each host, the domains.
TEST(RoundsOfPairs, BetweenNvlinkDomainsEachHostMeetsOneOther) {
  std::vector<RankInfo> members = ranks_on(even(6, 4, false));
  for (RankInfo& member : members) member.nvlink_domain = member.rank < 12 ? "one/1" : "other/1";
  expect_each_pair_once(members);
  for (const std::vector<Pair>& pairs : pairs_by_round(members)) {
    std::map<std::string, std::multiset<std::string>> peers;
    for (const auto& [a, b] : pairs) {
      const RankInfo &one = members[static_cast<std::size_t>(a)], &other = members[static_cast<std::size_t>(b)];
      if (one.nvlink_domain == other.nvlink_domain) continue;
      peers[one.host].insert(other.host);
      peers[other.host].insert(one.host);
    }
    for (const auto& [host, met] : peers) {
      EXPECT_EQ(met.size(), 4U) << host;
      EXPECT_THAT(met, Each(*met.begin())) << host;
    }
  }
}

TEST(RoundsOfPairs, ThoseOfANumaNodeComeBeforeThoseBetweenNodes) {
  std::vector<RankInfo> members = ranks_on(even(1, 8, false));
  for (RankInfo& member : members) member.numa_node = member.rank / 4;
  const auto rounds = pairs_by_round(members);
  ASSERT_EQ(rounds.size(), 7U);
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    for (const auto& [a, b] : rounds[round]) EXPECT_EQ(a / 4 == b / 4, round < 3) << "round " << round;
    EXPECT_EQ(rounds[round].size(), 4U);
  }
}

TEST(RoundsOfPairs, ThoseBelowAPortComeFirst) {
  const std::vector<RankInfo> members = ranks_on(even(1, 8, false), {"a", "b", "a", "b", "a", "b", "a", "b"});
  const auto rounds = pairs_by_round(members);
  ASSERT_EQ(rounds.size(), 7U);
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    for (const auto& [a, b] : rounds[round]) EXPECT_EQ(a % 2 == b % 2, round < 3) << "round " << round;
  }
}

TEST(SampleOfRounds, HasAllWithinHostsAndFirstThoseOfEqualPlaces) {
  const std::vector<RankInfo> members = ranks_on(even(12, 4, false));
  const auto rounds = pairs_by_round(members);
  const auto hosts_met = [&](std::size_t most_between) {
    std::map<int, std::set<int>> met;
    std::size_t within = 0;
    for (const std::size_t round : sample_of_rounds(members, most_between)) {
      if (rounds[round].front().first / 4 == rounds[round].front().second / 4) ++within;
      for (const auto& [a, b] : rounds[round]) {
        if (a / 4 == b / 4) continue;
        EXPECT_TRUE(a % 4 == b % 4 || most_between > 11);
        met[a / 4].insert(b / 4);
        met[b / 4].insert(a / 4);
      }
    }
    EXPECT_EQ(within, 3U);
    std::set<std::size_t> counts;
    for (int host = 0; host < 12; ++host) counts.insert(met[host].size());
    return counts;
  };
  EXPECT_EQ(hosts_met(11), (std::set<std::size_t>{11})) << "each host met each other";
  EXPECT_EQ(hosts_met(5), (std::set<std::size_t>{5}));
  EXPECT_EQ(hosts_met(0), (std::set<std::size_t>{0}));
  EXPECT_EQ(sample_of_rounds(members, 5).size(), 3U + 5U);
  EXPECT_EQ(sample_of_rounds(members, 21).size(), 3U + 11U) << "no part of the next places";
  EXPECT_EQ(sample_of_rounds(members, 22).size(), 3U + 22U);
  EXPECT_EQ(sample_of_rounds(members, 1000).size(), rounds.size());
}

TEST(SampleOfRounds, OfHostsWithDifferentNumbersOfRanks) {
  std::vector<std::string> hosts = even(9, 3, true);
  hosts.emplace_back("node0");
  const std::vector<RankInfo> members = ranks_on(hosts);
  const std::size_t all = rounds_of_pairs(members).size();
  std::size_t last = 0;
  for (std::size_t most = 0; most < 40; ++most) {
    const auto sample = sample_of_rounds(members, most);
    EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
    EXPECT_EQ(std::adjacent_find(sample.begin(), sample.end()), sample.end());
    EXPECT_LT(sample.back(), all);
    EXPECT_GE(sample.size(), last);
    last = sample.size();
  }
  EXPECT_EQ(last, all);
}

}  // namespace
}  // namespace roofmark
