// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "harness/measure/overhead.hpp"
#include "harness/measure/runner.hpp"
#include "tests/harness/fake_measure.hpp"

namespace roofmark {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

/// What surrounds the samples of a block.
class BlockOfSamples : public testing::Test {
 protected:
  static Case make_case(const std::function<void(FakePrepared&)>& adjust = [](FakePrepared&) {}) {
    Case c = fake_case([adjust](const roofmark::Setup&) {
      auto prepared = std::make_unique<FakePrepared>();
      adjust(*prepared);
      return prepared;
    });
    c.work = {{{{resource::dram, 50}}}};
    return c;
  }
  /// `begun` is called as each block begins, before its lead-in.
  Record measure(
      const Case& c, const std::function<void()>& begun = [] {}) {
    Runner runner(device, team, settings);
    runner.on_stage([&](const std::string&, std::string_view stage) {
      if (stage == "timing") begun();
    });
    return runner.run({{c}, {}}, 1).front();
  }
  Record measure() { return measure(make_case()); }

  FakeDevice device;
  SoloTeam team;
  Settings settings = settings_for(device);
};

TEST_F(BlockOfSamples, ALeadInLastsUntilTheRateStandsStill) {
  // As under a power cap: 20 % slower after 20 ms of load.
  double begun = 0;
  device.seconds = [&](int) { return 1e-3 * (1 + 0.2 * std::min(1.0, (device.now - begun) / 20e-3)); };
  const Record record = measure(make_case(), [&] { begun = device.now; });
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  for (const Sample& sample : record.measurement->samples) EXPECT_NEAR(sample.seconds, 1.2e-3, 0.02e-3);
  for (const Block& block : record.measurement->blocks) {
    EXPECT_GT(block.lead_in_seconds, 20e-3);
    EXPECT_LT(block.lead_in_seconds, 40e-3);
  }
}

TEST_F(BlockOfSamples, ARateThatNeverStandsStillIsWaitedForFiftyMilliseconds) {
  double begun = 0;
  device.seconds = [&](int) { return 1e-3 * (1 + 10 * (device.now - begun)); };
  const Record record = measure(make_case(), [&] { begun = device.now; });
  for (const Block& block : record.measurement->blocks) {
    EXPECT_GE(block.lead_in_seconds, 50e-3);
    EXPECT_LT(block.lead_in_seconds, 60e-3);
  }
}

TEST_F(BlockOfSamples, ALongBatchComesOnceBeforeItsBlock) {
  device.seconds = [](int) { return 0.1; };
  const Record record = measure();
  for (const Block& block : record.measurement->blocks) EXPECT_NEAR(block.lead_in_seconds, 0.1, 1e-3);
}

/// A GPU whose clock falls while launches run: by 100 MHz per 10 ms, from 2 GHz as a block begins to 1.5 GHz.
class FallingClock : public BlockOfSamples {
 protected:
  FallingClock() {
    settings.effort.lead_in_seconds = 0;
    settings.effort.min_samples = 200;
    device.clock_probe = [this] { return std::optional(clock_hz(device.now - begun_)); };
    device.stamps = [this] {
      const double span = device.now - begun_;
      const double cycles = span < 50e-3 ? span * (2e9 + clock_hz(span)) / 2 : 87.5e6 + (span - 50e-3) * 1.5e9;
      return std::vector<ClockStamp>{
          {3, static_cast<std::uint64_t>(cycles + 5e9 * begun_), static_cast<std::uint64_t>(device.now * 1e9)}};
    };
  }
  static double clock_hz(double seconds) { return std::max(1.5e9, 2e9 - 1e10 * seconds); }
  Record measure() {
    return BlockOfSamples::measure(make_case(), [this] { begun_ = device.now; });
  }

  double begun_ = 0;
};

TEST_F(FallingClock, IsKnownAtBothEndsAndInTheMean) {
  const Record record = measure();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  for (const Block& block : record.measurement->blocks) {
    const double begin = block.lead_in_seconds, end = begin + block.span.second - block.span.first;
    EXPECT_THAT(block.first_clock_hz, Optional(DoubleNear(clock_hz(begin), 1e6)));
    EXPECT_THAT(block.last_clock_hz, Optional(DoubleNear(clock_hz(end), 1e6)));
    ASSERT_TRUE(block.mean_clock_hz);
    EXPECT_LT(*block.mean_clock_hz, *block.first_clock_hz - 50e6);
    EXPECT_GT(*block.mean_clock_hz, *block.last_clock_hz + 50e6);
    EXPECT_EQ(block.clock_hz(), block.mean_clock_hz);
  }
  EXPECT_THAT(record.measurement->clock_hz, Optional(DoubleNear(*record.measurement->blocks[2].mean_clock_hz, 1e6)));
}

TEST_F(FallingClock, WithoutStampsIsWhatTheProbesSayOnAverage) {
  device.stamps = [] { return std::vector<ClockStamp>(); };
  const Record record = measure();
  for (const Block& block : record.measurement->blocks) {
    EXPECT_FALSE(block.mean_clock_hz);
    EXPECT_THAT(block.clock_hz(), Optional(DoubleNear((*block.first_clock_hz + *block.last_clock_hz) / 2, 1)));
  }
  device.clock_probe = [] { return std::nullopt; };
  EXPECT_FALSE(measure().measurement->clock_hz);
}

/// Readings that a test scripts.
class ScriptedTelemetry final : public TelemetrySource {
 public:
  explicit ScriptedTelemetry(std::function<Telemetry()> script) : script_(std::move(script)) {}
  Telemetry read() override { return script_(); }
  CounterReadings counters() override { return {}; }
  double period_seconds() const override { return 3600; }
  std::string power_kind() override { return "instantaneous"; }

 private:
  std::function<Telemetry()> script_;
};

TEST_F(BlockOfSamples, WhatTheHostTimesIsSingleCallsWhoseScatterIsTheResult) {
  Case c = make_case();
  c.protocol.timed = Timed::call;
  c.protocol.samples = 1000;
  device.overhead = 1e-6;
  device.seconds = [](int launch) { return launch % 10 == 0 ? 9e-6 : 4e-6; };
  const Record record = measure(c);
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  const Measurement& measured = *record.measurement;
  EXPECT_EQ(measured.timed, Timed::call);
  EXPECT_EQ(measured.launches_per_sample, 1);
  EXPECT_GE(measured.samples.size(), 1000u);
  EXPECT_NEAR(measured.summary.median, 4e-6, 1e-12);
  EXPECT_NEAR(measured.summary.p95.value(), 9e-6, 1e-12);
  EXPECT_NEAR(measured.summary.maximum, 9e-6, 1e-12);
  EXPECT_LT(measured.warm_up_seconds, 60e-3);
  EXPECT_EQ(measured.samples_checked, 0) << "a hash between two calls would change the second";
}

TEST_F(BlockOfSamples, ABudgetInSamplesIsKeptWhateverTheyTake) {
  Case c = make_case();
  c.protocol.timed = Timed::call;
  c.protocol.budget_samples = 10;
  for (const double seconds : {1e-6, 0.3, 30.0}) {
    device.seconds = [&](int launch) { return seconds * (1 + launch % 3); };
    const Record record = measure(c);
    ASSERT_EQ(record.status, Status::ok) << record.reason;
    EXPECT_EQ(record.measurement->samples.size(), 10u) << seconds;
    EXPECT_EQ(record.measurement->blocks.size(), 5u);
    EXPECT_EQ(record.measurement->stopped_by, StopReason::budget);
    EXPECT_FALSE(record.measurement->summary.p95.has_value()) << "takes 20 samples";
  }
  Settings settings = settings_for(device);
  settings.effort.longer = 3;
  device.seconds = [](int) { return 0.3; };
  EXPECT_EQ(Runner(device, team, settings).run({{c}, {}}, 1).front().measurement->samples.size(), 30u);
}

TEST_F(BlockOfSamples, TheDeviceIsKeptBusyWhileItsTelemetryIsRead) {
  std::atomic<int> launches = 0;
  std::atomic<bool> leads_in = false;
  device.telemetry = std::make_unique<ScriptedTelemetry>([&] {
    // It takes as long as three launches: for ever, on a device that idles.
    for (const int seen = launches; leads_in && launches < seen + 3;) std::this_thread::yield();
    Telemetry state;
    state.power_watts = 500;
    return state;
  });
  device.clock_probe = [&] {
    leads_in = false;
    return std::optional(1e9);
  };
  settings.effort.lead_in_seconds = 1e9;  // the host is faster than the fake device's clock
  const Case c = make_case([&](FakePrepared& p) { p.on_launch = [&](int) { ++launches; }; });
  const Record record = measure(c, [&] { leads_in = true; });
  ASSERT_EQ(record.measurement->blocks.size(), 5u);
  for (const Block& block : record.measurement->blocks) EXPECT_TRUE(block.before.power_watts);
}

/// Readings that see these reasons.
class Throttled : public BlockOfSamples {
 protected:
  Record measure(const std::vector<std::string>& seen) {
    device.telemetry = std::make_unique<ScriptedTelemetry>([=] {
      Telemetry state;
      state.power_watts = 1;  // a reading that says nothing is none
      state.throttle_reasons = seen;
      return state;
    });
    return BlockOfSamples::measure(make_case());
  }
};

TEST_F(Throttled, ABlocksReasonsAreThoseThatItsReadingsSaw) {
  Record record = measure({"power cap"});
  ASSERT_EQ(record.measurement->blocks.size(), 5u);
  const auto all = ElementsAre(Pair("power cap", DoubleNear(1, 1e-9)));
  for (const Block& block : record.measurement->blocks) EXPECT_THAT(block.throttled_share, all);
  for (const Sample& sample : record.measurement->samples) EXPECT_TRUE(sample.throttled);
  EXPECT_THAT(record.measurement->telemetry->throttled_share, testing::Optional(all));
  record = measure({"application clocks"});
  for (const Sample& sample : record.measurement->samples) EXPECT_FALSE(sample.throttled) << "a setting holds for all";
  record = measure({});
  for (const Block& block : record.measurement->blocks) EXPECT_THAT(block.throttled_share, IsEmpty());
  for (const Sample& sample : record.measurement->samples) EXPECT_FALSE(sample.throttled);
}

TEST_F(Throttled, EachBlockRestsLongerWhereSomethingLowersTheClock) {
  double rested = 0;
  settings.sleep = [&](double seconds) {
    rested += seconds;
    device.now += seconds;
  };
  const auto seconds_of = [&](const std::vector<std::string>& seen) {
    rested = 0;
    measure(seen);
    return rested;
  };
  settings.effort.gap_seconds = 0.01;
  settings.effort.rest_seconds = 0.02;
  const double one_unread = 0.02 - 0.01;  // the first block may begin before the first reading
  EXPECT_THAT(seconds_of({}), DoubleNear(5 * 0.01 + one_unread / 2, one_unread / 2 + 1e-9));
  EXPECT_NEAR(seconds_of({"power cap"}), 5 * 0.02, 1e-9);
}

// NVML's readings are up to a tenth of a second old.
TEST_F(Throttled, AFallenClockWithoutAReasonIsUnderLoadUntilTheDriverCanKnowTheReason) {
  const auto warm_up_seconds = [this](double clock_hz, const std::vector<std::string>& seen) {
    device.device.rated_clock_hz = device.device.highest_clock_hz = 2e9;
    device.stamps = [this, clock_hz] {
      return std::vector<ClockStamp>{
          {3, static_cast<std::uint64_t>(device.now * clock_hz), static_cast<std::uint64_t>(device.now * 1e9)}};
    };
    device.telemetry = std::make_unique<ScriptedTelemetry>([=] {
      Telemetry state;
      state.power_watts = 1;
      state.throttle_reasons = seen;
      return state;
    });
    Runner runner(device, team, settings);
    runner.run({{make_case()}, {}}, 1);  // from its blocks on there are readings
    return runner.run({{make_case()}, {}}, 1).front().measurement->warm_up_seconds;
  };
  settings.effort.reason_seconds = 0.2;
  const double usual = warm_up_seconds(1.95e9, {});
  EXPECT_NEAR(warm_up_seconds(1.7e9, {"power cap"}), usual, 0.01);
  EXPECT_NEAR(warm_up_seconds(1.7e9, {}), usual + 0.2, 0.01);
}

TEST(ClockOverhead, IsATimeThatAClockCanTell) {
  const double seconds = clock_overhead_seconds();
  EXPECT_GE(seconds, 0);
  EXPECT_TRUE(std::isfinite(seconds));
}

TEST_F(BlockOfSamples, TimingOverheadIsTheMedianOfSamplesWithoutALaunch) {
  device.seconds = [](int sample) { return sample % 10 == 0 ? 1e-3 : 2e-6; };
  EXPECT_EQ(timing_overhead_seconds(device), 2e-6);
  // An idle device's clock rises at first.
  device.seconds = [](int sample) { return std::max(2e-6, 20e-6 * std::pow(0.999, sample)); };
  EXPECT_LT(timing_overhead_seconds(device).value(), 2.2e-6);
  device.valid = [](int) { return false; };
  EXPECT_FALSE(timing_overhead_seconds(device)) << "the first case says why";
}

}  // namespace
}  // namespace roofmark
