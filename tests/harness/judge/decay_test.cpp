// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/analysis.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

Sustained rates_of(double settled_of_burst, std::optional<double> per_clock, std::optional<double> explained,
                   ClockDomain clock = ClockDomain::sm) {
  Sustained rates;
  rates.settled_after_seconds = 12.3;
  rates.settled_of_burst = settled_of_burst;
  rates.clock = clock;
  rates.rate_per_clock_ratio = per_clock;
  rates.explained_by_clock = explained;
  return rates;
}

std::vector<std::string> decays(double settled_of_burst, std::optional<double> per_clock, std::optional<double> explained,
                                ClockDomain clock = ClockDomain::sm) {
  Record record = ok_record("sustained", "gemm", {{{{resource::dram, 1e9}}}}, 1e-3);
  record.sustained = rates_of(settled_of_burst, per_clock, explained, clock);
  std::vector<Record> records = {record};
  std::vector<std::string> found;
  for (const Finding& finding : analyze({}, records, {}).findings) {
    found.push_back(std::string(type_of(finding.kind).id) + ": " + finding.text);
  }
  return found;
}

TEST(Decay, ADecayToTheEndSaysSo) {
  Record record = ok_record("sustained", "gemm", {{{{resource::dram, 1e9}}}}, 1e-3);
  record.sustained = rates_of(0.8, 1, 1);
  record.sustained->settled_after_seconds.reset();
  std::vector<Record> records = {record};
  EXPECT_THAT(analyze({}, records, {}).findings.at(0).text,
              testing::StartsWith("the rate never settled; in the last quarter it was 80.0 % of the rate in the first second"));
}

TEST(Decay, ADecaySaysHowMuchTheClockExplains) {
  using testing::ElementsAre, testing::IsEmpty;
  EXPECT_THAT(decays(0.96, 1, 1), IsEmpty());
  EXPECT_THAT(decays(0.8, 1, 1),
              ElementsAre("decay_by_clock: after 13 s the rate is 80.0 % of the rate in the first second; the lower "
                          "clock explains 100.0 % of the drop"));
  EXPECT_THAT(
      decays(0.8, std::nullopt, std::nullopt),
      ElementsAre(
          "decay: after 13 s the rate is 80.0 % of the rate in the first second; the clock was not read at both times"));
  EXPECT_THAT(decays(0.8, 0.9, 0.5, ClockDomain::memory),
              ElementsAre("decay: after 13 s the rate is 80.0 % of the rate in the first second; the lower memory clock "
                          "explains 50.0 % of the drop",
                          "rate_per_clock: after 13 s the rate is 80.0 % of the rate in the first second; the rate per "
                          "memory clock is 90.0 % of that in the first second"));
  EXPECT_THAT(decays(0.8, std::nullopt, std::nullopt, ClockDomain::none),
              ElementsAre("decay: after 13 s the rate is 80.0 % of the rate in the first second; no device clock limits it"));
}

TEST(Decay, DipsAreAFindingAlsoWhereTheRateHeld) {
  Record record = ok_record("sustained", "gemm", {{{{resource::dram, 1e9}}}}, 1e-3);
  const auto found = [&](const Dips& dips) {
    record.sustained = rates_of(1, 1, std::nullopt);
    record.sustained->dips = dips;
    std::vector<Record> records = {record};
    std::vector<std::string> texts;
    for (const Finding& finding : analyze({}, records, {}).findings) {
      texts.push_back(std::string(type_of(finding.kind).id) + ": " + finding.text);
    }
    return texts;
  };
  EXPECT_THAT(found({}), testing::IsEmpty());
  EXPECT_THAT(
      found({1, 5.5, 0.314, 121.7, 5.5}),
      testing::ElementsAre("dips: the rate dipped to 31.4 % of that of the median second, 121 s after the start, for 6 s"));
  EXPECT_THAT(found({3, 14, 0.314, 121.7, 5.5}),
              testing::ElementsAre("dips: 3 dips of the rate, 14 s in all; the deepest to 31.4 % of that of the median second, "
                                   "121 s after the start, for 6 s"));
}

// As that of a CPU one of whose cores another program takes.
TEST(Decay, ADecayAtAConstantClockIsNotAscribedToIt) {
  EXPECT_THAT(
      decays(0.6, 0.6, 0),
      testing::ElementsAre(
          "decay: after 13 s the rate is 60.0 % of the rate in the first second; the lower clock explains 0.0 % of the drop",
          "rate_per_clock: after 13 s the rate is 60.0 % of the rate in the first second; the rate per clock is 60.0 % of "
          "that in the first second"));
}

TEST(Decay, ARatePerClockThatMovedIsAFindingEitherWayAlsoWhereTheRateHeld) {
  EXPECT_THAT(decays(1.0, 0.96, std::nullopt),
              testing::ElementsAre(
                  "rate_per_clock: after 13 s the rate is 100.0 % of the rate in the first second; the rate per clock is "
                  "96.0 % of that in the first second"));
  EXPECT_THAT(decays(1.0, 1.04, std::nullopt),
              testing::ElementsAre(
                  "rate_per_clock: after 13 s the rate is 100.0 % of the rate in the first second; the rate per clock is "
                  "104.0 % of that in the first second"));
  // A step of the clock is 1 % of it, and it is read twice.
  EXPECT_THAT(decays(1.0, 1.031, std::nullopt), testing::SizeIs(1));
  EXPECT_THAT(decays(1.0, 1.029, std::nullopt), testing::IsEmpty());
  EXPECT_THAT(decays(1.0, 0.971, std::nullopt), testing::IsEmpty());
}

// An H200 that falls from 795 to 687 TFLOP/s as its clock does is healthy.
TEST(Decay, ADecayThatTheClockExplainsPutsNothingInDoubt) {
  EXPECT_THAT(decays(687.0 / 795, 1.004, 0.97), testing::ElementsAre(testing::StartsWith("decay_by_clock: ")));
  EXPECT_EQ(type_of(FindingKind::decay_by_clock).doubt, Doubt::nothing);
  EXPECT_THAT(decays(0.8, std::nullopt, 0.89), testing::ElementsAre(testing::StartsWith("decay: ")));
  // Two steps of the clock are a third of a drop by 6 %.
  EXPECT_THAT(decays(0.94, 0.98, 0.67), testing::ElementsAre(testing::StartsWith("decay_by_clock: ")));
  EXPECT_THAT(decays(0.94, 0.94, 0),
              testing::ElementsAre(testing::StartsWith("decay: "), testing::StartsWith("rate_per_clock: ")));
  EXPECT_EQ(type_of(FindingKind::decay).doubt, Doubt::rates);
}

// The record's own rates are those of the slowest of each sample.
TEST(Decay, TheDecayOfEachRankIsLookedAtAndTheWorstIsNamed) {
  Record record = ok_record("sustained", "gemm", {{{{resource::dram, 1e9}}}}, 1e-3);
  record.sustained = rates_of(1, 1, std::nullopt);
  auto& ranks = record.measurement->ranks;
  ranks = {RankTimes{1e-3, 1e-3, {}, {}}, std::nullopt, RankTimes{1e-3, 1e-3, {}, {}}, RankTimes{1e-3, 1e-3, {}, {}}};
  ranks[0]->sustained = rates_of(0.99, 1, std::nullopt);
  ranks[2]->sustained = rates_of(0.9, 1, 0.95);
  ranks[3]->sustained = rates_of(0.8, 1, 0.95);
  std::vector<Record> records = {record};
  const Analysis found = analyze({}, records, {});
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].kind, FindingKind::decay_by_clock);
  EXPECT_THAT(found.findings[0].ranks, testing::ElementsAre(2, 3));
  EXPECT_DOUBLE_EQ(found.findings[0].size, 1 - 0.8);
  EXPECT_EQ(found.findings[0].text,
            "rank 3: after 13 s the rate is 80.0 % of the rate in the first second; the lower clock explains 95.0 % "
            "of the drop; it is the worst of ranks 2, 3");
  EXPECT_FALSE(found.unseen.contains(FindingKind::rate_per_clock));
  EXPECT_TRUE(analyze({}, records = {ok_record("stream", "triad", {{{{resource::dram, 1e9}}}}, 1e-3)}, {})
                  .unseen.contains(FindingKind::decay));
  record.measurement->ranks[0]->sustained = rates_of(0.7, 1.1, 0.95);
  records = {record};
  const std::vector<Finding> of_rank_0 = analyze({}, records, {}).findings;
  EXPECT_THAT(of_rank_0.at(0).ranks, testing::ElementsAre(0, 2, 3));
  EXPECT_EQ(of_rank_0.at(1).kind, FindingKind::rate_per_clock);
  EXPECT_NEAR(of_rank_0.at(1).size, 0.1, 1e-9);
}

}  // namespace
}  // namespace roofmark
