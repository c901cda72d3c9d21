// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What pairs that are measured alone after the rounds say of those that stood out in them.
#include "harness/judge/ranks/pairs_alone.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/communication.hpp"
#include "harness/model/case_pattern.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// How much longer a pair takes, in its round or alone.
using Times = std::function<double(int, int)>;

double even(int /*a*/, int /*b*/) { return 1; }

class Team {
 public:
  explicit Team(const std::vector<std::string>& hosts) : members_(members(hosts)) {}

  Communication in_rounds(const Times& times) {
    records_ = ping_pong(members_, sizes_, seconds(times));
    set_intervals();
    return analyze_communication(records_, members_);
  }
  /// What a run measures next, as long as there is any.
  Communication alone(const Times& times) {
    std::vector<std::pair<int, int>> pairs;
    for (const std::string& name : analyze_communication(records_, members_).measure_next) {
      const CaseName c = names_of_pattern(name).at(0);
      EXPECT_EQ(value_of(c.shape, "bytes"), std::to_string(sizes_.back()));
      pairs.emplace_back(std::stoi(value_of(c.shape, "from")), std::stoi(value_of(c.shape, "to")));
    }
    const auto ranks = static_cast<int>(members_.size());
    for (const Record& record : pairs_alone(pairs, ranks, {sizes_.back()}, seconds(times))) records_.push_back(record);
    set_intervals();
    return analyze_communication(records_, members_);
  }

 private:
  const std::vector<std::size_t> sizes_ = {8, 65536, 16'000'000, 64'000'000};

  std::function<double(int, int, std::size_t)> seconds(const Times& times) const {
    return [this, times](int a, int b, std::size_t bytes) {
      const bool within = members_[std::size_t(a)].host == members_[std::size_t(b)].host;
      const double scatter = 1 + 0.005 * std::sin(12.9898 * a + 78.233 * b);
      return (1e-5 + double(bytes) / (within ? 200e9 : 25e9)) * scatter * times(a, b);
    };
  }
  void set_intervals() {
    for (Record& record : records_) {
      for (auto& rank : record.measurement->ranks) {
        if (!rank) continue;
        rank->interval_low = rank->median * 0.99;
        rank->interval_high = rank->median * 1.01;
      }
    }
  }

  std::vector<RankInfo> members_;
  std::vector<Record> records_;
};

const std::vector<std::string> kEightHosts = {"a", "b", "c", "d", "e", "f", "g", "h"};
const std::vector<std::string> kFourHosts = {"a", "a", "b", "b", "c", "c", "d", "d"};

TEST(SlowAlone, NobodyIsMeasuredAgainWhereNobodyIsSlow) {
  EXPECT_THAT(Team(kEightHosts).in_rounds(even).measure_next, IsEmpty());
}

TEST(SlowAlone, ALink) {
  Team team(kEightHosts);
  const Times slow = [](int a, int b) { return a == 2 && b == 5 ? 2 : 1; };
  const Communication before = team.in_rounds(slow);
  ASSERT_THAT(before.findings, SizeIs(1));
  EXPECT_FALSE(before.findings[0].times_alone);
  EXPECT_THAT(before.findings[0].text,
              EndsWith("; alone: --case 'ping_pong/fp32/bytes:64000000/ranks:8/from:2/to:5/impl:mpi'"));
  ASSERT_THAT(before.measure_next, SizeIs(3));
  EXPECT_EQ(before.measure_next[0], "ping_pong/fp32/bytes:64000000/ranks:8/from:2/to:5/impl:mpi");
  EXPECT_THAT(before.measure_next[1], ContainsRegex("(from|to):2/")) << "of either rank another pair";
  EXPECT_THAT(before.measure_next[2], ContainsRegex("(from|to):5/"));
  const Communication after = team.alone(slow);
  ASSERT_THAT(after.findings, SizeIs(1));
  EXPECT_NEAR(after.findings[0].times_alone.value(), 2, 0.05);
  EXPECT_THAT(after.findings[0].text,
              AllOf(HasSubstr("rank 2 (c) and rank 5 (f): this pair takes "), HasSubstr("; each alone, ranks 2 and 5 take "),
                    EndsWith(": slow without other traffic, too")));
  EXPECT_THAT(after.measure_next, IsEmpty());
}

TEST(SlowAlone, NotALinkThatIsSlowBesideOthers) {
  Team team(kEightHosts);
  team.in_rounds([](int a, int b) { return a == 2 && b == 5 ? 2 : 1; });
  const Communication after = team.alone(even);
  ASSERT_THAT(after.findings, SizeIs(1));
  EXPECT_EQ(after.findings[0].kind, FindingKind::slow_link);
  EXPECT_NEAR(after.findings[0].times_alone.value(), 1, 0.02);
  EXPECT_THAT(after.findings[0].text, EndsWith(": slow only beside other traffic, or only for a time"));
  const auto cell = std::find_if(after.pairs.begin(), after.pairs.end(),
                                 [](const PairTime& pair) { return pair.a == 2 && pair.b == 5 && pair.bytes == 64'000'000; });
  ASSERT_NE(cell, after.pairs.end());
  EXPECT_NEAR(cell->seconds, 2 * 64e6 / 25e9, 1e-4) << "the matrix is of the rounds";
}

TEST(SlowAlone, ARankBesideAPairOfOthers) {
  Team team(kEightHosts);
  const Times slow = [](int a, int b) { return a == 3 || b == 3 ? 1.5 : 1; };
  ASSERT_THAT(team.in_rounds(slow).measure_next, SizeIs(2));
  const Communication after = team.alone(slow);
  ASSERT_THAT(after.findings, SizeIs(1));
  EXPECT_EQ(after.findings[0].kind, FindingKind::slow_rank);
  EXPECT_NEAR(after.findings[0].times_alone.value(), 1.5, 0.05);
  EXPECT_THAT(after.findings[0].text, EndsWith(": slow without other traffic, too"));
}

TEST(SlowAlone, AHostByAPairOfItsRanks) {
  Team team(kFourHosts);
  const Times slow = [](int a, int b) { return a / 2 != b / 2 && (a / 2 == 2 || b / 2 == 2) ? 1.5 : 1; };
  ASSERT_THAT(team.in_rounds(slow).measure_next, SizeIs(2));
  const Communication after = team.alone(slow);
  ASSERT_THAT(after.findings, SizeIs(1));
  EXPECT_EQ(after.findings[0].kind, FindingKind::slow_host);
  EXPECT_NEAR(after.findings[0].times_alone.value(), 1.5, 0.05);
}

TEST(SlowAlone, TheWayBetweenTwoHosts) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < 16; ++rank) hosts.push_back("node" + std::to_string(rank / 2));
  Team team(hosts);
  const Times slow = [](int a, int b) { return a / 2 == 2 && b / 2 == 6 ? 1.6 : 1; };
  const Communication before = team.in_rounds(slow);
  ASSERT_THAT(before.measure_next, SizeIs(3));
  EXPECT_THAT(before.measure_next[1], testing::Not(ContainsRegex("to:1[23]/"))) << "with a third host";
  const Communication after = team.alone(slow);
  ASSERT_THAT(after.findings, SizeIs(1));
  EXPECT_THAT(after.findings[0].text, HasSubstr("node2 and node6: a typical pair of their ranks"));
  EXPECT_NEAR(after.findings[0].times_alone.value(), 1.6, 0.05);
}

// Many pairs, one after the other, would take longer than the suite.
TEST(SlowAlone, TheWorstFewAlone) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < 48; ++rank) hosts.push_back("node" + std::to_string(rank));
  Team team(hosts);
  const Communication before = team.in_rounds([](int a, int b) { return b == a + 24 && a % 2 == 0 ? 2 : 1; });
  EXPECT_GT(before.findings.size(), kMostJudgedAlone);
  EXPECT_LE(before.measure_next.size(), 3 * kMostJudgedAlone);
  EXPECT_GT(before.measure_next.size(), kMostJudgedAlone);
}

const CaseName kRound = {"ping_pong", "", DataType::int8, {{"bytes", "8"}, {"round", "1"}, {"impl", "nccl"}}};

/// Two ranks on each NUMA node of a host.
PairsOf<int> of_two_nodes(double of_rank_0) {
  PairsOf<int> pairs;
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      const double times = (a / 2 == b / 2 ? 0.95 : 1.0) * (a == 0 ? of_rank_0 : 1);
      pairs[{a, b}] = {times, times, times, 0};
    }
  }
  return pairs;
}

Places two_nodes() {
  std::vector<RankInfo> ranks = members({"a", "a", "a", "a"});
  for (RankInfo& rank : ranks) rank.numa_node = rank.rank / 2;
  return Places(ranks);
}

TEST(PairsAlone, AreOfTheSameWay) {
  const auto across = alone_of_link(kRound, of_two_nodes(1), {0}, {2}, two_nodes());
  ASSERT_TRUE(across);
  EXPECT_THAT(across->others, ElementsAre(std::pair(0, 3), std::pair(1, 2)));
  EXPECT_FALSE(alone_of_link(kRound, of_two_nodes(1), {0}, {1}, two_nodes())) << "the only pair of this node";
}

// The fastest pair of the rank is the only one of its NUMA node.
TEST(PairsAlone, OfARankTheFastestThatCanBeCompared) {
  const auto slow = alone_of_end(kRound, of_two_nodes(1.5), {0}, two_nodes());
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->pair, std::pair(0, 2));
  EXPECT_THAT(slow->others, ElementsAre(std::pair(1, 2)));
}

TEST(PairsAlone, WithinAHostAreComparedWithOtherHosts) {
  PairsOf<int> pairs;
  for (int a = 0; a < 8; a += 2) pairs[{a, a + 1}] = {a == 4 ? 1.5 : 1 + 0.01 * a, 1, 1, 0};
  const auto slow = alone_of_end(kRound, pairs, {4, 5}, Places(members(kFourHosts)));
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->pair, std::pair(4, 5));
  EXPECT_THAT(slow->others, ElementsAre(std::pair(2, 3)));
}

/// What pair 0-1 of such a time tells beside pair 1-2 of 1 s.
AloneRatio beside_one_second(const TripTime& time) {
  const PairsAlone pairs{kRound, {0, 1}, {{1, 2}}};
  TimesAlone alone;
  alone.times[like_round(kRound, {0, 1}).name()] = time;
  alone.times[like_round(kRound, {1, 2}).name()] = {1, 0.99, 1.02};
  return *ratio_alone(pairs, alone);
}

TEST(PairsAlone, SomeTellNothing) {
  using Tells = AloneRatio::Tells;
  EXPECT_EQ(beside_one_second({1.5, 1.4, 1.6}).tells, Tells::slow);
  EXPECT_EQ(beside_one_second({1.05, 1.04, 1.06}).tells, Tells::not_slow);
  EXPECT_EQ(beside_one_second({1.5, 1.01, 1.9}).tells, Tells::nothing) << "perhaps by chance";
  EXPECT_EQ(beside_one_second({0.5, 0.49, 0.51}).tells, Tells::nothing) << "it is the other one that is slow";
}

TEST(PairsAlone, OneThatFailedIsNotMeasuredAgain) {
  const PairsAlone pairs{kRound, {0, 1}, {{1, 2}}};
  TimesAlone alone;
  EXPECT_THAT(unmeasured(pairs, alone),
              ElementsAre("ping_pong/int8/bytes:8/from:0/to:1/impl:nccl", "ping_pong/int8/bytes:8/from:1/to:2/impl:nccl"));
  alone.times["ping_pong/int8/bytes:8/from:0/to:1/impl:nccl"] = {};
  EXPECT_THAT(unmeasured(pairs, alone), ElementsAre("ping_pong/int8/bytes:8/from:1/to:2/impl:nccl"));
  alone.times["ping_pong/int8/bytes:8/from:1/to:2/impl:nccl"] = {1, 1, 1};
  EXPECT_FALSE(ratio_alone(pairs, alone));
}

}  // namespace
}  // namespace roofmark
