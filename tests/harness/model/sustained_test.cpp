// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/sustained.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "harness/model/measurement.hpp"

namespace roofmark {
namespace {

/// Launches without a pause from second 5 on, each as long as the rate at its start says.
std::vector<Sample> launches(double seconds, const std::function<double(double)>& rate) {
  std::vector<Sample> samples;
  for (double at = 0; at < seconds;) {
    const double took = 1 / rate(at);
    samples.push_back({5 + at, took, 0, 0, false});
    at += took;
  }
  return samples;
}

using Curve = std::function<double(double)>;

std::vector<Reading> readings(double seconds, const Curve& clock_hz, const Curve& memory_clock_hz = {}) {
  std::vector<Reading> all;
  for (double at = 0; at <= seconds; at += 0.05) {
    Telemetry state;
    state.sm_clock_hz = clock_hz(at);
    if (memory_clock_hz) state.memory_clock_hz = memory_clock_hz(at);
    state.power_watts = 400 + 10 * at;
    all.push_back({5 + at, state});
  }
  return all;
}

Sustained summarized(const std::vector<Sample>& samples, const std::vector<Reading>& around) {
  return summarize_sustained(samples, around, ClockDomain::sm);
}

/// 1000 until `from`, then down to `to` of it within a second.
double falling(double at, double from, double to) {
  return 1000 * (at < from ? 1 : at > from + 1 ? to : 1 - (1 - to) * (at - from));
}

TEST(Sustained, AConstantRateSettlesAtOnce) {
  const Sustained found = summarized(launches(20, [](double) { return 500; }), {});
  EXPECT_NEAR(found.burst_rate, 500, 1e-9);
  EXPECT_NEAR(found.settled_rate, 500, 1e-9);
  EXPECT_EQ(found.settled_after_seconds, 0);
  EXPECT_NEAR(found.settled_of_burst, 1, 1e-12);
  EXPECT_FALSE(found.burst_clock_hz || found.burst_power_watts || found.rate_per_clock_ratio || found.explained_by_clock);
}

// As in a GPU at its power limit: two of five launches take half as long again.
TEST(Sustained, ARateIsOfAllLaunches) {
  std::vector<Sample> samples = launches(40, [](double) { return 500; });
  const auto mixed = [&](std::size_t slow_of_ten) {
    std::vector<Sample> all;
    double at = 5;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double took = at > 6 && i % 10 < slow_of_ten ? 3e-3 : 2e-3;
      all.push_back({at, took, 0, 0, false});
      at += took;
    }
    return summarized(all, {});
  };
  EXPECT_NEAR(mixed(4).settled_of_burst, 1 / 1.2, 5e-3);
  EXPECT_NEAR(mixed(4).settled_after_seconds.value_or(-1), 1, 1e-9);
  EXPECT_NEAR(mixed(0).settled_of_burst, 1, 1e-12);
}

TEST(Sustained, ASingleHiccupIsNoRate) {
  std::vector<Sample> samples = launches(8, [](double) { return 500; });
  samples[100].seconds += 0.1;  // a tenth of the burst
  for (std::size_t i = 101; i < samples.size(); ++i) samples[i].start_seconds += 0.1;
  EXPECT_NEAR(summarized(samples, {}).settled_of_burst, 1, 1e-9);
}

TEST(Sustained, DipsAreTimesInWhichTheRateFellAndRecovered) {
  // From 30.5 s on at 40 % for 3 s, from 20 s on at 80 % for 1 s.
  const auto dipping = [](double at) { return at > 30.5 && at < 33.5 ? 400 : at > 20 && at < 21 ? 800 : 1000; };
  const Sustained found = summarized(launches(60, dipping), {});
  ASSERT_TRUE(found.dips);
  EXPECT_EQ(found.dips->count, 2);
  EXPECT_NEAR(found.dips->deepest, 0.4, 1e-6);
  EXPECT_NEAR(found.dips->deepest_after, 30, 0.01);
  EXPECT_NEAR(found.dips->deepest_seconds, 4, 0.01) << "whole seconds";
  EXPECT_NEAR(found.dips->seconds, 4 + 1, 0.01);
  EXPECT_NEAR(found.settled_of_burst, 1, 1e-9) << "the burst and the last quarter do not see them";
}

TEST(Sustained, AStalledLaunchIsADip) {
  std::vector<Sample> samples = launches(60, [](double) { return 500; });
  samples[15000].seconds += 7;
  for (std::size_t i = 15001; i < samples.size(); ++i) samples[i].start_seconds += 7;
  const Sustained found = summarized(samples, {});
  EXPECT_EQ(found.dips->count, 1);
  EXPECT_NEAR(found.dips->deepest_after, 30, 1);
  EXPECT_NEAR(found.dips->deepest_seconds, 8, 1);
  EXPECT_LT(found.dips->deepest, 0.15);
}

TEST(Sustained, ASlowStartAndALastingDecayAreNoDips) {
  const auto dips = [](double seconds, const Curve& rate) { return summarized(launches(seconds, rate), {}).dips; };
  EXPECT_EQ(dips(60, [](double) { return 1000; })->count, 0);
  EXPECT_EQ(dips(60, [](double at) { return at < 3 ? 500 : 1000; })->count, 0);
  EXPECT_EQ(dips(60, [](double at) { return at < 45 ? 1000 : 500; })->count, 0);
  EXPECT_EQ(dips(60, [](double at) { return at > 20 && at < 23 ? 950 : 1000; })->count, 0) << "5 %";
  EXPECT_FALSE(dips(15, [](double at) { return at > 7 && at < 9 ? 500 : 1000; })) << "too short to know what is usual";
  std::mt19937 generator(1);
  std::normal_distribution<double> scatter(1, 0.04);
  std::vector<double> factors(61);
  for (double& factor : factors) factor = scatter(generator);
  EXPECT_EQ(dips(60, [&](double at) { return 1000 * factors[static_cast<std::size_t>(at)]; })->count, 0)
      << "it scatters as much";
}

TEST(Sustained, ADecayThatFollowsTheClockIsExplainedByIt) {
  const auto curve = [](double at) { return falling(at, 6, 0.8); };
  const Sustained found = summarized(launches(40, curve), readings(40, [&](double at) { return 1e6 * curve(at); }));
  EXPECT_NEAR(found.burst_rate, 1000, 1e-6);
  EXPECT_NEAR(found.settled_of_burst, 0.8, 1e-9);
  EXPECT_EQ(found.settled_after_seconds, 7);
  EXPECT_NEAR(*found.burst_clock_hz, 1e9, 1);
  EXPECT_NEAR(*found.settled_clock_hz, 0.8e9, 1);
  EXPECT_NEAR(*found.burst_power_watts, 405, 0.1);
  EXPECT_NEAR(*found.settled_power_watts, 750, 1);
  EXPECT_NEAR(*found.rate_per_clock_ratio, 1, 1e-6);
  EXPECT_NEAR(*found.explained_by_clock, 1, 1e-6);
}

TEST(Sustained, ADecayAtAConstantClockIsNotExplainedByIt) {
  const Sustained found =
      summarized(launches(40, [](double at) { return falling(at, 2, 0.9); }), readings(40, [](double) { return 1.5e9; }));
  EXPECT_NEAR(*found.rate_per_clock_ratio, 0.9, 1e-6);
  EXPECT_NEAR(*found.explained_by_clock, 0, 1e-6);
}

TEST(Sustained, HalfOfADecayIsTheClocks) {
  const auto half = [](double at) { return 1e6 * std::sqrt(falling(at, 2, 0.81) * 1000); };
  const Sustained found = summarized(launches(40, [](double at) { return falling(at, 2, 0.81); }), readings(40, half));
  EXPECT_NEAR(*found.explained_by_clock, 0.5, 1e-3);
  EXPECT_NEAR(*found.rate_per_clock_ratio, 0.9, 1e-3);
}

/// Heat makes the memory slower, and the power cap the SMs: each rate follows its own.
TEST(Sustained, ADecayIsExplainedByTheClockThatTheRateFollows) {
  const auto rate = [](double at) { return falling(at, 6, 0.8); };
  const auto memory_fell = readings(
      40, [](double) { return 1.5e9; }, [&](double at) { return 3e6 * rate(at); });
  const auto sm_fell = readings(
      40, [&](double at) { return 1e6 * rate(at); }, [](double) { return 3e9; });
  const auto found = [&](const std::vector<Reading>& around, ClockDomain clock) {
    return summarize_sustained(launches(40, rate), around, clock);
  };
  EXPECT_NEAR(*found(memory_fell, ClockDomain::memory).explained_by_clock, 1, 1e-6);
  EXPECT_NEAR(*found(memory_fell, ClockDomain::memory).rate_per_clock_ratio, 1, 1e-6);
  EXPECT_NEAR(*found(memory_fell, ClockDomain::sm).explained_by_clock, 0, 1e-6);
  EXPECT_NEAR(*found(sm_fell, ClockDomain::memory).explained_by_clock, 0, 1e-6);
  EXPECT_NEAR(*found(sm_fell, ClockDomain::memory).rate_per_clock_ratio, 0.8, 1e-6);
  EXPECT_NEAR(*found(sm_fell, ClockDomain::sm).explained_by_clock, 1, 1e-6);
  EXPECT_FALSE(found(sm_fell, ClockDomain::none).explained_by_clock);
  EXPECT_FALSE(found(readings(40, rate), ClockDomain::memory).explained_by_clock) << "not read";
  EXPECT_NEAR(*found(memory_fell, ClockDomain::sm).settled_memory_clock_hz, 2.4e9, 1);
}

// The cap takes some readings to lower the clock, at any share of the first second: the rate is of most of its launches.
TEST(Sustained, TheClockOfABurstIsThatOfMostOfItsLaunches) {
  const auto clock = [](double at) { return at < 0.12 ? 1980e6 : at < 5 ? 1560e6 : 1455e6; };
  const auto rate = [&](double at) { return 795 * clock(at) / 1980e6 / 4; };
  const Sustained found = summarized(launches(40, rate), readings(40, clock));
  EXPECT_NEAR(*found.burst_clock_hz, 1560e6, 1);
  EXPECT_NEAR(*found.settled_clock_hz, 1455e6, 1);
  EXPECT_NEAR(*found.rate_per_clock_ratio, 1, 1e-3);
  EXPECT_NEAR(*found.explained_by_clock, 1, 0.02);
}

// A clock that moves all the time has no reading that most launches share: each launch has the clock around it.
TEST(Sustained, ARateThatFollowsAMovingClockHasAConstantRatePerClock) {
  const auto clock = [](double at) { return 1e9 * (1.5 + 0.3 * std::exp(-at) + 0.1 * std::sin(7 * at)); };
  const Sustained found = summarized(launches(40, [&](double at) { return 2e-7 * clock(at); }), readings(40, clock));
  EXPECT_NEAR(*found.rate_per_clock_ratio, 1, 2e-3);
}

// While the clock falls, readings every 50 ms are late.
TEST(Sustained, TheFirstThirdOfABurstSaysNothingOfTheRatePerClock) {
  const auto rate = [](double at) { return at < 0.28 ? 3000.0 : 200.0; };
  const auto late = [](double at) { return at < 0.05 ? 1.98e9 : 1.4e9; };
  EXPECT_NEAR(*summarized(launches(40, rate), readings(40, late)).rate_per_clock_ratio, 1, 1e-6);
}

TEST(Sustained, ARateThatHeldNeedsNoExplanation) {
  const Sustained found =
      summarized(launches(20, [](double) { return 500; }), readings(20, [](double at) { return 1e9 + 1e6 * at; }));
  EXPECT_FALSE(found.explained_by_clock);
  EXPECT_LT(*found.rate_per_clock_ratio, 1);
}

TEST(Sustained, ARateThatFallsToTheEndNeverSettles) {
  const Sustained found = summarized(launches(20, [](double at) { return 1000 - 30 * at; }), {});
  EXPECT_FALSE(found.settled_after_seconds);
}

// By 1 % alone, some second among 60 lies outside, mostly a late one.
TEST(Sustained, ARateThatScattersFromSecondToSecondHasSettledWhenItFallsNoMore) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const double fallen : {1.0, 0.9}) {
    int late = 0;
    for (int run = 0; run < 200; ++run) {
      const auto samples =
          launches(60, [&](double at) { return 4 * std::exp(0.02 * normal(random)) * (at < 20 ? 1 : fallen); });
      const auto after = summarized(samples, {}).settled_after_seconds;
      EXPECT_TRUE(fallen == 1 || !after || *after > 19);
      late += !after || *after > (fallen == 1 ? 0 : 22);
    }
    EXPECT_LE(late, 200 * 0.06) << fallen;
  }
}

TEST(Sustained, AFewLaunchesAfterTheLastWindowDoNotDecide) {
  std::vector<Sample> samples = launches(20, [](double at) { return at < 5 ? 1000 : 900; });
  samples.push_back({25, 0.9 / 900, 0, 0, false});
  EXPECT_EQ(summarized(samples, {}).settled_after_seconds, 5);
}

TEST(Sustained, SlowLaunchesThatComeAllTheTimeAreNoDecay) {
  std::vector<Sample> samples = launches(20, [](double) { return 500; });
  for (std::size_t i = 0; i < samples.size(); i += 10) samples[i].seconds *= 3;
  const Sustained found = summarized(samples, {});
  EXPECT_NEAR(found.settled_of_burst, 1, 1e-3);
  EXPECT_EQ(found.settled_after_seconds, 0);
}

TEST(Sustained, WhatIsShorterThanFourSecondsIsSplitInQuarters) {
  const Sustained found = summarized(launches(2, [](double at) { return at < 0.5 ? 100 : 50; }), {});
  EXPECT_NEAR(found.settled_of_burst, 0.5, 1e-9);
  EXPECT_NEAR(*found.settled_after_seconds, 0.5, 0.02);
}

TEST(Sustained, WhatIsShorterThanFourSecondsSettlesAtTheEndOfAQuarter) {
  const Sustained found = summarized(launches(2, [](double at) { return at < 0.7 ? 1000 : 500; }), {});
  EXPECT_DOUBLE_EQ(*found.settled_after_seconds, 1);
}

TEST(Sustained, TellsTheStateOfTheDeviceInBothTimes) {
  const auto falling = [](double at) { return at < 10 ? 3e9 : 2e9; };
  std::vector<Reading> around = readings(
      20, [](double) { return 1e9; }, falling);
  for (Reading& reading : around) reading.state.temperature_celsius = 45 + reading.seconds;
  const Sustained found = summarized(launches(20, [](double) { return 500; }), around);
  EXPECT_EQ(found.burst_clock_hz, 1e9);
  EXPECT_EQ(found.settled_clock_hz, 1e9);
  EXPECT_EQ(found.burst_memory_clock_hz, 3e9);
  EXPECT_EQ(found.settled_memory_clock_hz, 2e9);
  EXPECT_NEAR(*found.burst_temperature_celsius, 51, 0.06) << "the highest of its first second";
  EXPECT_NEAR(*found.settled_temperature_celsius, 70, 0.06);
  EXPECT_NEAR(*found.burst_power_watts, 405, 1);
  EXPECT_NEAR(*found.settled_power_watts, 575, 1);
}

TEST(Sustained, OneLaunchIsItsOwnBurst) {
  const Sustained found = summarized({{0, 30, 0, 0, false}}, {});
  EXPECT_EQ(found.settled_of_burst, 1);
  EXPECT_THROW(summarized({}, {}), std::invalid_argument);
}

}  // namespace
}  // namespace roofmark
