// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/channel/report.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace roofmark::channel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Link = RankState::Link;

std::string describe(int rank) { return fmt::format("rank {}", rank); }

RankState answered(std::int64_t steps, double waiting_seconds, bool rests = false) {
  return {Link::joined, true, {steps, waiting_seconds, rests, ""}};
}

Report of(const std::vector<RankState>& ranks) { return report(ranks, {10, false}, describe); }

TEST(Report, WaitsForTheRankThatMadeItsStepLast) {
  const Report found = of({answered(5, 10), answered(4, 7)});
  EXPECT_FALSE(found.standstill);
  EXPECT_DOUBLE_EQ(found.wait_seconds, 3);
}

TEST(Report, TheRankWithTheFewestStepsNeverArrived) {
  const Report found = of({answered(5, 10), answered(4, 10), answered(3, 10)});
  ASSERT_TRUE(found.standstill);
  EXPECT_EQ(found.standstill->reason, "no progress for 10 s: rank 2 never arrived");
  EXPECT_THAT(found.standstill->never_arrived, ElementsAre(2));
  EXPECT_EQ(found.late_steps, 3);
}

TEST(Report, ARankThatDoesNotAnswerExplainsWhyOthersAreBehind) {
  const Report found = of({answered(5, 10), answered(4, 10), {Link::joined, false, {}}});
  ASSERT_TRUE(found.standstill);
  EXPECT_THAT(found.standstill->never_arrived, IsEmpty());
  EXPECT_THAT(found.standstill->silent, ElementsAre(2));
  EXPECT_EQ(found.late_steps, kNobody);
}

TEST(Report, ADeadRankNeedsNoTimeout) {
  const Report found = of({answered(5, 1), {Link::ended, false, {}}, {Link::failed, false, {}}});
  ASSERT_TRUE(found.standstill);
  EXPECT_EQ(found.standstill->reason, "rank 1 ended unexpectedly");
  EXPECT_THAT(found.standstill->ended, ElementsAre(1, 2));
}

TEST(Report, AllRanksAtOneStepBlameTheNetwork) {
  const Report found = of({answered(5, 10), answered(5, 10)});
  ASSERT_TRUE(found.standstill);
  EXPECT_THAT(found.standstill->reason, testing::HasSubstr("all ranks arrived and none proceeds"));
}

TEST(Report, AFaultThatRanksFindThemselvesNeedsNoTimeout) {
  RankState lost = answered(5, 2);
  lost.fault = "link down";
  RankState other = lost;
  other.fault = "peer gone";
  const Report found = of({answered(5, 2), lost, answered(4, 2), lost, other});
  ASSERT_TRUE(found.standstill);
  EXPECT_EQ(found.standstill->reason, "rank 1, rank 3: link down; rank 4: peer gone");
  EXPECT_THAT(found.standstill->faulty, ElementsAre(1, 3, 4));
  EXPECT_THAT(found.standstill->never_arrived, IsEmpty());
  EXPECT_EQ(found.late_steps, kNobody);
  // Its peers' errors are of a killed rank.
  EXPECT_EQ(of({lost, {Link::ended, false, {}}}).standstill->reason, "rank 1 ended unexpectedly");
  EXPECT_EQ(of({lost, {Link::joined, false, {}}}).standstill->reason,
            "rank 0: link down; rank 1 does not answer: stopped, or the host or network is down");
}

TEST(Report, ManyFaultsAreNotAllTold) {
  std::vector<RankState> ranks(6, answered(5, 2));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].fault = fmt::format("f{}", i);
  EXPECT_EQ(of(ranks).standstill->reason, "rank 0: f0; rank 1: f1; rank 2: f2; rank 3: f3; and 2 more");
}

TEST(Report, AnInterruptionSaysHowLongTheRanksHadWaited) {
  const Report found = report({answered(5, 41), answered(4, 63), answered(5, 60)}, {3, true}, describe);
  ASSERT_TRUE(found.standstill);
  EXPECT_EQ(found.standstill->reason, "interrupted while no rank made progress, for 41 s: rank 1 never arrived");
  EXPECT_FALSE(report({answered(5, 41), answered(5, 2)}, {3, true}, describe).standstill);
}

TEST(Report, ARestingRankHoldsTheOthersOnlyIfItHasNotArrived) {
  EXPECT_FALSE(of({answered(5, 10), answered(4, 0, true)}).standstill);
  EXPECT_TRUE(of({answered(5, 10), answered(5, 0, true)}).standstill);
}

}  // namespace
}  // namespace roofmark::channel
