// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/sampler.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/harness/fake_telemetry.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// A clock that advances by one with each look at it.
std::function<double()> counting_clock() {
  return [now = std::make_shared<std::atomic<int>>(0)] { return static_cast<double>((*now)++); };
}

constexpr double kPatience = 0.05;
constexpr double kForever = 1e6;

TEST(Sampler, WithoutASourceEveryAnswerIsEmpty) {
  Sampler sampler(nullptr, counting_clock());
  EXPECT_FALSE(sampler.read().power_watts);
  EXPECT_THAT(sampler.counters(), IsEmpty());
  EXPECT_THAT(sampler.around({0, 1}), IsEmpty());
  EXPECT_THAT(sampler.series().readings, IsEmpty());
  EXPECT_FALSE(sampler.gave_up());
}

TEST(Sampler, ReadsAtThePeriodWithoutBeingAsked) {
  const auto source = std::make_shared<FakeTelemetry>();
  source->period = 1e-3;
  const Sampler sampler(source, counting_clock(), kForever);
  while (sampler.series().readings.size() < 5) std::this_thread::yield();
  EXPECT_EQ(sampler.series().period_seconds, 1e-3);
  EXPECT_EQ(sampler.series().power, "instantaneous");
}

TEST(Sampler, MayBeThrottledByWhatTheLastReadingSawButNotByASetting) {
  EXPECT_TRUE(Sampler(nullptr, counting_clock()).may_be_throttled()) << "not known";
  const auto source = std::make_shared<FakeTelemetry>();
  source->period = kForever;
  Sampler sampler(source, counting_clock(), kForever);
  sampler.read();  // its thread's own first reading is over
  const auto with = [&](const std::vector<std::string>& reasons) {
    source->reasons = reasons;
    sampler.read();
    return sampler.may_be_throttled();
  };
  EXPECT_TRUE(with({"application clocks", "power cap"}));
  EXPECT_FALSE(with({"application clocks"}));
  EXPECT_TRUE(with({"thermal"}));
  EXPECT_FALSE(with({}));
}

/// What a reading takes is part of the period. A stretch of readings may be late on a loaded machine, so the fastest counts.
TEST(Sampler, AReadingThatTakesLongDoesNotDelayTheNext) {
  static constexpr double kPeriod = 5e-3;
  static constexpr std::size_t kReadings = 2000, kStretch = 5;
  class Slow final : public TelemetrySource {
   public:
    std::vector<std::chrono::steady_clock::time_point> begun;
    std::atomic<bool> done = false;
    Telemetry read() override {
      if (begun.size() < kReadings) begun.push_back(std::chrono::steady_clock::now());
      done = begun.size() == kReadings || fastest_in_periods() < kStretch * 1.3;
      std::this_thread::sleep_for(std::chrono::duration<double>(0.8 * kPeriod));
      return {};
    }
    CounterReadings counters() override { return {}; }
    double period_seconds() const override { return kPeriod; }
    std::string power_kind() override { return ""; }

    /// For kStretch readings that follow one another.
    double fastest_in_periods() const {
      double fastest = kForever;
      for (std::size_t i = kStretch; i < begun.size(); ++i) {
        fastest = std::min(fastest, std::chrono::duration<double>(begun[i] - begun[i - kStretch]).count() / kPeriod);
      }
      return fastest;
    }
  };
  const auto source = std::make_shared<Slow>();
  {
    const Sampler sampler(source, counting_clock(), kForever);
    while (!source->done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(source->fastest_in_periods(), kStretch * 1.3);
}

TEST(Sampler, CountsTheCpuTimeThatReadingCosts) {
  class Busy final : public TelemetrySource {
   public:
    Telemetry read() override {
      const std::clock_t until = std::clock() + CLOCKS_PER_SEC / 100;  // of all threads; the others sleep
      while (std::clock() < until) continue;
      Telemetry state;
      state.power_watts = 1;
      return state;
    }
    CounterReadings counters() override { return {}; }
    double period_seconds() const override { return 3600; }
    std::string power_kind() override { return ""; }
  };
  Sampler sampler(std::make_shared<Busy>(), counting_clock(), kForever);
  sampler.read();
  const double one = sampler.series().cpu_seconds;
  sampler.read();
  EXPECT_GT(one, 0.005);
  EXPECT_GT(sampler.series().cpu_seconds, one + 0.005);
}

TEST(Sampler, AReadingIsNewerThanTheCallAndPartOfTheSeries) {
  const auto source = std::make_shared<FakeTelemetry>();
  Sampler sampler(source, counting_clock(), kForever);
  for (int i = 0; i < 20; ++i) {
    const int before = source->readings;
    EXPECT_GT(*sampler.read().power_watts, before);
  }
  const TelemetrySeries series = sampler.series();
  EXPECT_GE(series.readings.size(), 20u);
  EXPECT_EQ(static_cast<int>(series.readings.size()), source->readings);
}

TEST(Sampler, AReadingThatSaysNothingIsNotInTheSeries) {
  class Silent final : public TelemetrySource {
   public:
    Telemetry read() override { return {}; }
    CounterReadings counters() override { return {}; }
    double period_seconds() const override { return 3600; }
    std::string power_kind() override { return ""; }
  };
  Sampler sampler(std::make_shared<Silent>(), counting_clock(), kForever);
  EXPECT_EQ(sampler.read(), Telemetry());
  EXPECT_THAT(sampler.series().readings, IsEmpty());
}

TEST(Sampler, TheSeriesAscendsAndItsTimesAreTheMiddlesOfTheReadings) {
  Sampler sampler(std::make_shared<FakeTelemetry>(), counting_clock(), kForever);
  for (int i = 0; i < 5; ++i) sampler.read();
  const auto readings = sampler.series().readings;
  ASSERT_GE(readings.size(), 5u);
  for (std::size_t i = 0; i < readings.size(); ++i) EXPECT_EQ(readings[i].seconds, 2.0 * static_cast<double>(i) + 0.5);
}

TEST(Sampler, GivesTheReadingsAroundASpan) {
  Sampler sampler(std::make_shared<FakeTelemetry>(), counting_clock(), kForever);
  for (int i = 0; i < 5; ++i) sampler.read();
  // At 0.5, 2.5, 4.5, ...
  const auto found = sampler.around({2, 3});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.front().seconds, 0.5);
  EXPECT_EQ(found.back().seconds, 4.5);
}

TEST(Sampler, ReadsTheCountersNow) {
  const auto source = std::make_shared<FakeTelemetry>();
  Sampler sampler(source, counting_clock(), kForever);
  EXPECT_THAT(sampler.counters(), IsEmpty());
  sampler.read();
  source->counts = {{"xid", 2}};
  EXPECT_THAT(sampler.counters(), ElementsAre(Pair("", ElementsAre(Pair("xid", 2)))));
}

// What waited for a reading that never comes would hang here.
TEST(Sampler, ASourceThatHangsIsGivenUpForGood) {
  Latch latch;
  const auto source = std::make_shared<FakeTelemetry>();
  source->hangs_at_reading = &latch;
  {
    Sampler sampler(source, counting_clock(), kPatience);
    while (sampler.series().readings.empty()) std::this_thread::yield();
    EXPECT_FALSE(sampler.series().gave_up);
    EXPECT_FALSE(sampler.read().power_watts);
    EXPECT_TRUE(sampler.gave_up());
    EXPECT_FALSE(sampler.read().power_watts);
    EXPECT_THAT(sampler.counters(), IsEmpty());
    EXPECT_EQ(sampler.series().readings.size(), 1u) << "what was read before is kept";
    EXPECT_TRUE(sampler.series().gave_up);
  }
  latch.open();
  while (source.use_count() > 1) std::this_thread::yield();
}

// As the driver of a GPU that has fallen off the bus does.
TEST(Sampler, ASourceThatSaysNothingAnyMoreHasEnded) {
  const auto source = std::make_shared<FakeTelemetry>();
  source->silent = true;
  Sampler sampler(source, counting_clock(), kForever);
  sampler.read();
  EXPECT_FALSE(sampler.series().gave_up) << "it has never said anything";
  source->silent = false;
  sampler.read();
  EXPECT_FALSE(sampler.series().gave_up);
  source->silent = true;
  EXPECT_FALSE(sampler.read().power_watts);
  EXPECT_TRUE(sampler.series().gave_up);
  source->silent = false;
  EXPECT_TRUE(sampler.read().power_watts);
  EXPECT_FALSE(sampler.series().gave_up) << "it was asked again";
}

TEST(Sampler, CountersThatHangAreGivenUpToo) {
  Latch latch;
  const auto source = std::make_shared<FakeTelemetry>();
  source->hangs_at_counters = &latch;
  {
    Sampler sampler(source, counting_clock(), kForever, kPatience);
    EXPECT_THAT(sampler.counters(), IsEmpty());
    EXPECT_TRUE(sampler.gave_up());
    EXPECT_FALSE(sampler.read().power_watts);
  }
  latch.open();
  while (source.use_count() > 1) std::this_thread::yield();
}

TEST(Sampler, TheFirstAnswerAndCountersMayTakeLonger) {
  class Waking final : public TelemetrySource {
   public:
    Telemetry read() override { return {}; }
    double period_seconds() const override { return 3600; }
    CounterReadings counters() override {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      return {{"", {{"xid", 0}}}};
    }
    std::string power_kind() override {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      return "instantaneous";
    }
  };
  Sampler sampler(std::make_shared<Waking>(), counting_clock(), kPatience, kForever);
  for (const char* when : {"before", "after"}) {
    EXPECT_THAT(sampler.counters(), ElementsAre(Pair("", ElementsAre(Pair("xid", 0))))) << when;
  }
  EXPECT_FALSE(sampler.gave_up());
}

/// Each look at the clock is a reading's.
TEST(Sampler, WhileItIsQuietNobodyReadsButWhoAsks) {
  const auto source = std::make_shared<FakeTelemetry>();
  source->period = 1e-4;
  Sampler sampler(source, counting_clock(), kForever);
  while (sampler.series().readings.size() < 3) std::this_thread::yield();
  {
    const Sampler::Quiet quiet(sampler);
    const std::size_t before = sampler.series().readings.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(sampler.series().readings.size(), before);
    sampler.read();
    EXPECT_EQ(sampler.series().readings.size(), before + 1);
    sampler.counters();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(sampler.series().readings.size(), before + 1) << "also after an answer";
  }
  const std::size_t after = sampler.series().readings.size();
  while (sampler.series().readings.size() < after + 3) std::this_thread::yield();
  Sampler none(nullptr, counting_clock());
  const Sampler::Quiet nothing(none);
}

}  // namespace
}  // namespace roofmark
