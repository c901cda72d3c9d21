// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/telemetry_summary.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

Reading at(double seconds, Telemetry state) { return {seconds, std::move(state)}; }

Reading with_power(double seconds, double watts) {
  Telemetry state;
  state.power_watts = watts;
  return at(seconds, state);
}
Reading with_energy(double seconds, double joules) {
  Telemetry state;
  state.energy_joules = joules;
  return at(seconds, state);
}
Reading with_reasons(double seconds, std::vector<std::string> reasons, std::map<std::string, double> counted = {}) {
  Telemetry state;
  state.throttle_reasons = std::move(reasons);
  state.throttled_seconds = std::move(counted);
  return at(seconds, state);
}

TEST(Around, TakesTheReadingsInASpanAndTheNearestBesideIt) {
  std::vector<Reading> readings;
  for (int i = 0; i < 6; ++i) readings.push_back(with_power(i, i));
  const auto seconds = [&](const Span& span) {
    std::vector<double> found;
    for (const Reading& reading : around(readings, span)) found.push_back(reading.seconds);
    return found;
  };
  EXPECT_THAT(seconds({1.5, 3.5}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(seconds({2.1, 2.2}), ElementsAre(2, 3));
  EXPECT_THAT(seconds({2, 3}), ElementsAre(2, 3));
  EXPECT_THAT(seconds({-2, -1}), ElementsAre(0));
  EXPECT_THAT(seconds({7, 8}), ElementsAre(5));
  readings.clear();
  EXPECT_THAT(seconds({1, 2}), IsEmpty());
}

TEST(TelemetrySummary, NothingWithoutAReadingOrABlock) {
  EXPECT_FALSE(summarize({}, {{0, 1}}, 1));
  EXPECT_FALSE(summarize({with_power(0, 1)}, {}, 1));
  EXPECT_FALSE(summarize({with_power(0, 1)}, {{1, 1}}, 1));
}

TEST(TelemetrySummary, MeansAreOverTheTimeOfTheBlocks) {
  // 100 W over the first block of 1 s; 200 W rising to 400 W over the second of 3 s.
  const auto summary =
      summarize({with_power(0, 100), with_power(1, 100), with_power(10, 200), with_power(13, 400)}, {{0, 1}, {10, 13}}, 0.5);
  ASSERT_TRUE(summary);
  EXPECT_DOUBLE_EQ(summary->seconds, 4);
  EXPECT_DOUBLE_EQ(*summary->power_watts, (100 * 1 + 300 * 3) / 4.0);
  EXPECT_DOUBLE_EQ(*summary->integrated_joules, 1000);
  EXPECT_DOUBLE_EQ(*summary->joules_per_launch, 125);
  EXPECT_FALSE(summary->energy_joules);
  EXPECT_FALSE(summary->sm_clock_hz || summary->memory_clock_hz || summary->temperature_celsius);
}

TEST(TelemetrySummary, AReadingBesideABlockCountsOnlyWhereNoneLiesInIt) {
  // The GPU idles at 100 W before and after.
  EXPECT_DOUBLE_EQ(*summarize({with_power(0, 100), with_power(1.5, 700), with_power(3, 100)}, {{1, 2}}, 1)->power_watts, 700);
  EXPECT_DOUBLE_EQ(*summarize({with_power(0, 100), with_power(3, 700)}, {{1, 2}}, 1)->power_watts, 400);
}

TEST(TelemetrySummary, AReadingWithoutTheValueIsNoReadingOfIt) {
  EXPECT_DOUBLE_EQ(*summarize({at(0.5, {}), with_power(0.7, 600), at(0.8, {})}, {{0, 1}}, 1)->power_watts, 600);
  EXPECT_FALSE(summarize({at(0.5, {})}, {{0, 1}}, 1)->power_watts);
}

TEST(TelemetrySummary, OneReadingStandsForTheBlocks) {
  Telemetry state;
  state.power_watts = 500;
  state.sm_clock_hz = 1.7e9;
  state.memory_clock_hz = 3e9;
  state.temperature_celsius = 60;
  state.throttle_reasons = {"power cap"};
  state.throttled_seconds = {{"power cap", 5}};
  for (const double when : {-5.0, 0.1, 7.0}) {
    const auto summary = summarize({at(when, state)}, {{0, 0.2}, {1, 1.2}}, 0.1);
    ASSERT_TRUE(summary);
    EXPECT_THAT(summary->sm_clock_hz, Optional(DoubleNear(1.7e9, 1)));
    EXPECT_THAT(summary->memory_clock_hz, Optional(DoubleNear(3e9, 1)));
    EXPECT_FALSE(summary->power_watts || summary->integrated_joules || summary->joules_per_launch)
        << "it may be the power of what ran before";
    const auto longer = summarize({at(when, state)}, {{0, 0.5}, {1, 1.5}}, 0.1);
    EXPECT_THAT(longer->power_watts, Optional(DoubleNear(500, 1e-9)));
    EXPECT_THAT(longer->integrated_joules, Optional(DoubleNear(500, 1e-9)));
    EXPECT_THAT(longer->joules_per_launch, Optional(DoubleNear(50, 1e-9)));
    // One value of a counter says nothing; the state at that moment does.
    EXPECT_THAT(summary->throttled_share, Optional(ElementsAre(Pair("power cap", DoubleNear(1, 1e-9)))));
  }
}

TEST(TelemetrySummary, TemperaturesAreTheHighestAndTheMarginTheLowest) {
  std::vector<Reading> readings;
  for (int i = 0; i < 3; ++i) {
    Telemetry state;
    state.temperature_celsius = std::vector{60, 71, 65}[i];
    state.memory_temperature_celsius = std::vector{80, 85, 90}[i];
    state.slowdown_margin_celsius = std::vector{20, 9, 15}[i];
    readings.push_back(at(i, state));
  }
  const auto summary = summarize(readings, {{0, 2}}, 1);
  EXPECT_EQ(summary->temperature_celsius, 71);
  EXPECT_EQ(summary->memory_temperature_celsius, 90);
  EXPECT_EQ(summary->slowdown_margin_celsius, 9);
}

/// Readings of a counter that advances by 10 J each 0.1 s, taken each 0.05 s: 100 W.
std::vector<Reading> energy_in_steps(int readings) {
  std::vector<Reading> made;
  for (int i = 0; i < readings; ++i) {
    const int steps = i / 2;
    made.push_back(with_energy(0.05 * i, 1000 + 10.0 * steps));
  }
  return made;
}

TEST(TelemetrySummary, EnergyIsTheCountersOverTheBlocks) {
  const auto summary = summarize(energy_in_steps(61), {{0.03, 2.97}}, 0.01);
  EXPECT_THAT(summary->energy_joules, Optional(DoubleNear(294, 1e-6)));
  EXPECT_THAT(summary->joules_per_launch, Optional(DoubleNear(1, 1e-6)));
  EXPECT_THAT(summary->power_watts, Optional(DoubleNear(100, 1e-6))) << "without readings of the power";
  EXPECT_FALSE(summary->integrated_joules);
}

TEST(TelemetrySummary, ACounterWithFewStepsIsNotReadOff) {
  EXPECT_FALSE(summarize(energy_in_steps(21), {{0, 1}}, 0.01)->energy_joules) << "10 steps";
  EXPECT_TRUE(summarize(energy_in_steps(23), {{0, 1.1}}, 0.01)->energy_joules) << "11 steps";
}

TEST(TelemetrySummary, ACounterThatWasResetGivesNoEnergy) {
  auto readings = energy_in_steps(61);
  for (std::size_t i = 30; i < readings.size(); ++i) *readings[i].state.energy_joules -= 1000;
  EXPECT_FALSE(summarize(readings, {{0, 3}}, 0.01)->energy_joules);
}

TEST(TelemetrySummary, ACounterMayBeReadLessOftenThanTheRest) {
  auto readings = energy_in_steps(61);
  for (std::size_t i = 1; i < readings.size(); i += 2) readings[i].state.energy_joules.reset();
  EXPECT_THAT(summarize(readings, {{0.03, 2.97}}, 0.01)->energy_joules, Optional(DoubleNear(294, 1e-6)));
  for (Reading& reading : readings) {
    if (reading.state.energy_joules) reading.state.throttled_seconds = {{"power cap", reading.seconds / 4}};
  }
  EXPECT_THAT(summarize(readings, {{0.03, 2.97}}, 0.01)->throttled_share,
              Optional(ElementsAre(Pair("power cap", DoubleNear(0.25, 1e-9)))));
}

TEST(TelemetrySummary, EnergyOfMostOfTheTimeStandsForAllBlocks) {
  // The second block is too short for the counter.
  const auto readings = energy_in_steps(61);
  EXPECT_THAT(summarize(readings, {{0, 2}, {2.5, 2.6}}, 0.01)->energy_joules, Optional(DoubleNear(210, 1e-6)));
  EXPECT_FALSE(summarize(readings, {{0, 0.5}, {1, 1.5}, {2, 2.5}}, 0.01)->energy_joules);
}

TEST(TelemetrySummary, TheCountersSayHowLongAReasonLoweredTheClock) {
  // No reading happened to see it.
  const auto summary = summarize(
      {with_reasons(0, {}, {{"power cap", 7}, {"thermal", 1}}), with_reasons(1, {}, {{"power cap", 7.25}, {"thermal", 1}})},
      {{0, 1}}, 1);
  EXPECT_THAT(summary->throttled_share, Optional(ElementsAre(Pair("power cap", DoubleNear(0.25, 1e-9)))));
}

TEST(TelemetrySummary, ACounterThatWasReadOverAFifthLessThanTheReadingsTellsNothing) {
  const auto share = [](double until) {
    std::vector<Reading> readings;
    for (int i = 0; i <= 10; ++i) {
      readings.push_back(with_reasons(i, {"power cap"}));
      if (i <= until) readings.back().state.throttled_seconds = {{"power cap", 0.25 * i}};
    }
    return summarize(readings, {{0, 10}}, 1)->throttled_share.value().at("power cap");
  };
  EXPECT_NEAR(share(9), 0.25, 1e-9);
  EXPECT_NEAR(share(8), 0.25, 1e-9);
  EXPECT_NEAR(share(7), 1, 1e-9) << "each reading saw it";
}

TEST(TelemetrySummary, ACounterThatMakesUpForATimeBeforeIsNoMoreThanAllOfTheTime) {
  const auto summary =
      summarize({with_reasons(0, {}, {{"power cap", 7}}), with_reasons(2, {}, {{"power cap", 9.1}})}, {{0, 2}}, 1);
  EXPECT_THAT(summary->throttled_share, Optional(ElementsAre(Pair("power cap", 1))));
}

TEST(TelemetrySummary, AReasonWithoutACounterIsTheShareOfTheReadings) {
  const std::map<std::string, double> counted = {{"power cap", 0}};
  const auto summary =
      summarize({with_reasons(0, {"power brake"}, counted), with_reasons(0.5, {"power brake", "power cap"}, counted),
                 with_reasons(0.7, {}, counted), with_reasons(1, {}, counted)},
                {{0, 1}}, 1);
  EXPECT_THAT(summary->throttled_share, Optional(ElementsAre(Pair("power brake", DoubleNear(0.5, 1e-9)))))
      << "the counter knows better of the power cap";
}

TEST(TelemetrySummary, OverLessThanASecondTheReadingsTellMoreThanACounter) {
  // An H100 under a power cap for all of the time: its counter stands still, and then makes up for a tenth of a second.
  const auto shares = [](double before, double after, const std::vector<std::string>& seen) {
    return summarize({with_reasons(0, seen, {{"power cap", before}}), with_reasons(0.01, seen, {{"power cap", after}})},
                     {{0.001, 0.009}}, 1)
        ->throttled_share.value();
  };
  const auto all = ElementsAre(Pair("power cap", DoubleNear(1, 1e-9)));
  EXPECT_THAT(shares(7, 7, {"power cap"}), all);
  EXPECT_THAT(shares(7, 7.1, {"power cap"}), all);
  EXPECT_THAT(shares(7, 7.1, {}), IsEmpty()) << "of the load before";
}

TEST(TelemetrySummary, ASlowdownThatOneReadingAloneSawHasNoShare) {
  const auto shares = [](const std::vector<std::string>& seen, const std::vector<Span>& blocks) {
    return summarize({with_reasons(0, {}), with_reasons(1, seen), with_reasons(2, {})}, blocks, 1)->throttled_share.value();
  };
  EXPECT_THAT(shares({"hardware slowdown"}, {{0, 2}}), IsEmpty());
  EXPECT_THAT(shares({"hardware slowdown"}, {{0, 0.9}, {1.1, 2}}), IsEmpty()) << "the same reading, for two blocks";
  EXPECT_THAT(shares({"sync boost"}, {{0, 2}}), ElementsAre(Pair("sync boost", DoubleNear(1.0 / 3, 1e-9))));
}

TEST(TelemetrySummary, SharesAreOverTheTimeOfAllBlocks) {
  const auto summary =
      summarize({with_reasons(0, {"thermal"}), with_reasons(1, {"thermal"}), with_reasons(10, {}), with_reasons(13, {})},
                {{0, 1}, {10, 13}}, 1);
  EXPECT_THAT(summary->throttled_share, Optional(ElementsAre(Pair("thermal", DoubleNear(0.25, 1e-9)))));
}

TEST(TelemetrySummary, ACounterThatWasResetTellsNothingAndTheReadingsDo) {
  const auto share = [](const std::vector<std::string>& seen, const std::map<std::string, double>& after) {
    return summarize({with_reasons(0, seen, {{"thermal", 7}}), with_reasons(0.5, seen, {{"thermal", 7}}),
                      with_reasons(0.7, {}, after), with_reasons(1, {}, after)},
                     {{0, 1}}, 1)
        ->throttled_share.value();
  };
  for (const auto& after : {std::map<std::string, double>{{"thermal", 0.5}}, {}}) {
    EXPECT_THAT(share({}, after), IsEmpty());
    EXPECT_THAT(share({"thermal"}, after), ElementsAre(Pair("thermal", DoubleNear(0.5, 1e-9))));
  }
}

TEST(TelemetrySummary, ACounterThatWasResetAndRoseAgainTellsNothing) {
  const auto share = [](double between) {
    return summarize({with_reasons(0, {}, {{"thermal", 1}}), with_reasons(0.5, {}, {{"thermal", between}}),
                      with_reasons(0.7, {}), with_reasons(1, {}, {{"thermal", 1.5}})},
                     {{0, 1}}, 1)
        ->throttled_share.value();
  };
  EXPECT_THAT(share(1.25), ElementsAre(Pair("thermal", DoubleNear(0.5, 1e-9)))) << "one reading failed";
  EXPECT_THAT(share(0), IsEmpty());
}

TEST(TelemetrySummary, WithoutReasonsAndTheirTimesThereAreNoShares) {
  EXPECT_FALSE(summarize({with_power(0, 1), with_power(1, 1)}, {{0, 1}}, 1)->throttled_share) << "the device tells none";
  EXPECT_THAT(summarize({with_power(0, 1), with_reasons(1, {})}, {{0, 1}}, 1)->throttled_share, Optional(IsEmpty()));
  Telemetry counted;
  counted.throttled_seconds = {{"thermal", 1}};
  EXPECT_THAT(summarize({at(0, counted), at(1, counted)}, {{0, 1}}, 1)->throttled_share, Optional(IsEmpty()));
  EXPECT_FALSE(summarize({at(0, counted), at(0.4, counted)}, {{0, 0.4}}, 1)->throttled_share) << "too short for the counter";
}

TEST(ThrottledShare, IsWhatTheNearestReadingsTell) {
  const std::vector<Reading> readings = {with_reasons(0, {}), with_reasons(1, {"thermal"}), with_reasons(2, {}),
                                         with_reasons(3, {})};
  EXPECT_THAT(throttled_share(readings, {0.2, 0.3}), ElementsAre(Pair("thermal", DoubleNear(0.5, 1e-9))));
  EXPECT_THAT(throttled_share(readings, {1.2, 1.3}), ElementsAre(Pair("thermal", DoubleNear(0.5, 1e-9))));
  EXPECT_THAT(throttled_share(readings, {2.2, 2.3}), IsEmpty());
}

TEST(ThrottledShare, FollowsTheCounterAgainstWhatTheReadingsHappenedToSee) {
  const auto counted = [](double seconds) { return std::map<std::string, double>{{"power cap", seconds}}; };
  // The cap set in between two readings; then it stood at both and lowered nothing between them.
  const std::vector<Reading> readings = {with_reasons(0, {}, counted(7)), with_reasons(1, {}, counted(7.25)),
                                         with_reasons(2, {"power cap"}, counted(7.5)),
                                         with_reasons(3, {"power cap"}, counted(7.5))};
  EXPECT_THAT(throttled_share(readings, {0.2, 0.3}), ElementsAre(Pair("power cap", DoubleNear(0.25, 1e-9))));
  EXPECT_THAT(throttled_share(readings, {2.2, 2.3}), IsEmpty());
}

TelemetrySeries with_clocks(const std::vector<double>& clocks_hz) {
  TelemetrySeries series;
  for (const double hz : clocks_hz) {
    series.readings.push_back(with_power(static_cast<double>(series.readings.size()), 100));
    series.readings.back().state.sm_clock_hz = hz;
  }
  return series;
}

TEST(Thinned, KeepsEveryDipAndTheOrder) {
  std::vector<double> clocks(1000, 1.9e9);
  clocks[333] = 0.3e9;
  clocks[777] = 2.1e9;
  const TelemetrySeries thin = thinned(with_clocks(clocks), 60);
  EXPECT_LE(thin.readings.size(), 60U);
  std::vector<double> seconds, dips;
  for (const Reading& reading : thin.readings) {
    seconds.push_back(reading.seconds);
    if (reading.state.sm_clock_hz != 1.9e9) dips.push_back(reading.seconds);
  }
  EXPECT_TRUE(std::is_sorted(seconds.begin(), seconds.end()));
  EXPECT_THAT(dips, ElementsAre(333, 777));
  EXPECT_EQ(seconds.front(), 0);
  EXPECT_EQ(seconds.back(), 999);
}

TEST(Thinned, LeavesAShortSeriesAndOneWithoutClocks) {
  EXPECT_EQ(thinned(with_clocks({1, 2, 3}), 3).readings.size(), 3U);
  TelemetrySeries series;
  for (int i = 0; i < 100; ++i) series.readings.push_back(with_power(i, i));
  const TelemetrySeries thin = thinned(series, 10);
  ASSERT_EQ(thin.readings.size(), 10U);
  EXPECT_EQ(thin.readings[1].state.power_watts, 19);
}

TEST(RankTelemetry, IsBoundedByTheNumberOfDevices) {
  const TelemetrySeries series = with_clocks(std::vector<double>(6000, 1.9e9));
  EXPECT_EQ(rank_telemetry(series, 8)->course.readings.size(), 600U);
  EXPECT_LE(rank_telemetry(series, 100)->course.readings.size(), 200U);
  EXPECT_EQ(rank_telemetry(series, 100'000)->course.readings.size(), 60U);
  EXPECT_EQ(rank_telemetry(series, 8)->summary.seconds, 5999);
  EXPECT_FALSE(rank_telemetry(with_clocks({1}), 8));
}

}  // namespace
}  // namespace roofmark
