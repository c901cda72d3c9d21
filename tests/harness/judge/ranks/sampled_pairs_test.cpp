// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/communication.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Between rails, of ranks with different places on their hosts, a message passes one switch more, or NVLink.
TEST(SampledPairs, NobodyIsSlowForBeingOnTwoRails) {
  constexpr int kHosts = 10, kRanks = 4;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < kHosts * kRanks; ++rank) hosts.push_back("node" + std::to_string(rank / kRanks));
  const auto all = rounds_of_pairs(members(hosts));
  const auto scatter = [](int a, int b) { return 1 + 0.01 * std::sin(12.9898 * a + 78.233 * b); };
  const auto found = [&](std::size_t most_between, double slower) {
    std::vector<std::vector<int>> sample;
    for (const std::size_t round : sample_of_rounds(members(hosts), most_between)) sample.push_back(all[round]);
    const auto records = ping_pong(sample, {8, 1024, 1'000'000}, [&](int a, int b, std::size_t bytes) {
      const double once = (1e-5 + double(bytes) / 50e9) * scatter(a, b) * (a == 2 && b == 6 ? slower : 1);
      return once * (a / kRanks == b / kRanks ? 0.5 : a % kRanks == b % kRanks ? 1 : 1.4);
    });
    return analyze_communication(records, members(hosts)).findings;
  };
  for (std::size_t most_between = 1; most_between <= kRanks * (kHosts - 1); ++most_between) {
    EXPECT_THAT(found(most_between, 1), IsEmpty()) << most_between;
  }
  // Relative to the way that most pairs of its ranks take.
  for (const auto& [most_between, times] : std::map<std::size_t, std::string>{{12, "2.4"}, {36, "1.7"}}) {
    ASSERT_THAT(found(most_between, 2.5), SizeIs(1));
    EXPECT_THAT(found(most_between, 2.5)[0].text, HasSubstr("rank 2 (node0) and rank 6 (node1): this pair takes " + times));
  }
}

std::vector<std::pair<int, int>> row_of_last(int ranks) {
  std::vector<std::pair<int, int>> row;
  for (int rank = 0; rank + 1 < ranks; ++rank) row.emplace_back(ranks - 1, rank);
  return row;
}

// Of a row, each rank but one has a single pair: whether that, the rank or the way is slow cannot be told.
TEST(PairsAlone, NobodyIsNamedForThem) {
  const std::vector<RankInfo> hosts = members({"a", "b", "c", "d", "e", "f", "g", "h"});
  const auto two_leaves = [](int a, int b, std::size_t bytes) {
    return (1e-5 + double(bytes) / 50e9) * (1 + 0.01 * std::sin(12.9898 * a + 78.233 * b)) * ((a < 2) == (b < 2) ? 1 : 2);
  };
  const auto found = analyze_communication(pairs_alone(row_of_last(8), 8, {8, 1'000'000}, two_leaves), hosts);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.slow, testing::StartsWith("this run did not check for slow ranks: rounds of pairs are among the cases"));
}

TEST(PairsAlone, LeaveTheVerdictOnRoundsAsItIs) {
  const std::vector<RankInfo> hosts = members({"a", "a", "b", "b", "c", "c", "d", "d"});
  const auto even = [](int a, int b, std::size_t) { return 1e-5 * (1 + 0.01 * std::sin(12.9898 * a + 78.233 * b)); };
  std::vector<Record> records = ping_pong(hosts, {8, 1'000'000}, even);
  const std::vector<Record> alone = pairs_alone({{0, 7}}, 8, {8, 1'000'000}, even);
  records.insert(records.end(), alone.begin(), alone.end());
  EXPECT_EQ(analyze_communication(records, hosts).slow, "no rank, host or pair stands out");
}

// Two pairs of a round share a path, and one of them is measured alone as well.
TEST(PairsAlone, WhatWasBesideAPairInARoundStaysKnown) {
  const std::vector<RankInfo> hosts = members({"a", "b", "c", "d", "e", "f", "g", "h"});
  const std::vector<std::vector<int>> rounds = rounds_of_pairs(hosts);
  std::vector<std::pair<int, int>> shared;
  for (const int colour : {0, 1}) {
    const auto first = std::find(rounds[2].begin(), rounds[2].end(), colour),
               second = std::find(first + 1, rounds[2].end(), colour);
    shared.emplace_back(first - rounds[2].begin(), second - rounds[2].begin());
  }
  const auto healthy = [](int a, int b) { return 1e-5 * (1 + 0.01 * std::sin(12.9898 * a + 78.233 * b)); };
  std::vector<Record> records = ping_pong(hosts, {8, 1'000'000}, [&](int a, int b, std::size_t) {
    return healthy(a, b) * (std::count(shared.begin(), shared.end(), std::pair(a, b)) > 0 ? 2 : 1);
  });
  ASSERT_THAT(analyze_communication(records, hosts).findings, IsEmpty());
  const auto alone = pairs_alone({shared[0]}, 8, {8, 1'000'000}, [&](int a, int b, std::size_t) { return healthy(a, b); });
  records.insert(records.end(), alone.begin(), alone.end());
  EXPECT_THAT(analyze_communication(records, hosts).findings, IsEmpty());
}

// In processor time: four times as many pairs, of four times as many hosts.
TEST(SampledPairs, TakeTimeByTheirNumberAlone) {
  const auto seconds_of = [](int hosts) {
    std::vector<std::string> names;
    for (int host = 0; host < hosts; ++host) names.push_back("node" + std::to_string(host));
    const std::vector<RankInfo> ranks = members(names);
    const auto all = rounds_of_pairs(ranks);
    std::vector<std::vector<int>> sample;
    for (const std::size_t round : sample_of_rounds(ranks, 32)) sample.push_back(all[round]);
    const auto records = ping_pong(sample, {8}, [](int, int, std::size_t) { return 1e-5; });
    const std::clock_t begin = std::clock();
    analyze_communication(records, ranks);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds_of(1024), 10 * seconds_of(256));
}

}  // namespace
}  // namespace roofmark
