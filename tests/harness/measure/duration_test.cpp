// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/judge/analysis.hpp"
#include "harness/measure/runner.hpp"
#include "harness/team/json.hpp"
#include "tests/harness/fake_measure.hpp"
#include "tests/harness/fake_telemetry.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

/// Cases with a duration, by the clock of a fake device.
class Duration : public testing::Test {
 protected:
  static Case make_case(double seconds) {
    Case c = fake_case([](const roofmark::Setup&) { return std::make_unique<FakePrepared>(); });
    c.protocol.seconds = seconds;
    c.protocol.cache = Cache::warm;
    c.work = {{{{resource::dram, 50}}}};
    return c;
  }
  Record measure(double seconds) {
    return Runner(device, team, settings_for(device)).run({{make_case(seconds)}, {}}, 1).front();
  }

  FakeDevice device;
  SoloTeam team;
};

TEST_F(Duration, LaunchesFollowOneAnotherUntilTheTimeIsOver) {
  const Record record = measure(10);
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  const Measurement& measurement = *record.measurement;
  EXPECT_EQ(measurement.launches_per_sample, 1);
  ASSERT_EQ(measurement.blocks.size(), 5u);
  const double begin = measurement.blocks.front().span.first, end = measurement.blocks.back().span.second;
  EXPECT_NEAR(end - begin, 10, 1);
  for (std::size_t i = 0; i < 5; ++i) {
    const Span& span = measurement.blocks[i].span;
    EXPECT_NEAR(span.second - span.first, 2, 0.7);
    if (i == 0) continue;
    EXPECT_DOUBLE_EQ(span.first, measurement.blocks[i - 1].span.second) << "a gap";
  }
  EXPECT_TRUE(measurement.summary.interval_low);
  EXPECT_EQ(measurement.stopped_by, StopReason::budget);
  ASSERT_TRUE(record.sustained);
  EXPECT_EQ(record.sustained->launches_checked, static_cast<std::int64_t>(measurement.samples.size()));
  EXPECT_EQ(record.sustained->share_checked, 1);
  // Each launch takes 1 ms, and two times 10 us of the host; the hash of 4 bytes takes 4 us.
  EXPECT_NEAR(record.sustained->checking_share_of_time, 4e-6 / 1024e-6, 1e-4);
}

// As where ranks wait for one another.
TEST_F(Duration, WhatTakesTimeBetweenLaunchesDoesNotMakeItLonger) {
  SoloTeam slow(nullptr, [&] { device.now += 4e-3; });
  const Record record = Runner(device, slow, settings_for(device)).run({{make_case(22)}, {}}, 1).front();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  const std::vector<Block>& blocks = record.measurement->blocks;
  EXPECT_NEAR(blocks.back().span.second - blocks.front().span.first, 22, 1.5) << "launches of 1 ms every 5 ms";
}

TEST_F(Duration, ShortLaunchesAreTimedAndCheckedInBatches) {
  device.seconds = [](int) { return 20e-6; };
  Case c = make_case(10);
  c.protocol.executions = 3;  // of which each launch enqueues as many
  const Record record = Runner(device, team, settings_for(device)).run({{c}, {}}, 1).front();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  const Measurement& measurement = *record.measurement;
  EXPECT_EQ(measurement.launches_per_sample, 50 * 3) << "1 ms";
  EXPECT_EQ(measurement.batches_per_sample, 1);
  EXPECT_NEAR(measurement.summary.median, 20e-6 / 3, 1e-12);
  EXPECT_EQ(record.sustained->launches_checked, static_cast<std::int64_t>(measurement.samples.size()));
}

TEST_F(Duration, LaunchesThatBuildOnOneAnotherAreNotCompared) {
  for (const bool accumulating : {true, false}) {
    device.hashes_bytes = true;
    Case c = make_case(2);
    c.prepare = [&](const roofmark::Setup&) {
      auto prepared = std::make_unique<FakePrepared>();
      FakePrepared* const one = prepared.get();
      prepared->accumulating = accumulating;
      prepared->resetting = true;
      prepared->on_reset = [one] { one->value = 0; };
      prepared->on_launch = [one](int) { ++one->value; };
      return prepared;
    };
    const Record record = Runner(device, team, settings_for(device)).run({{c}, {}}, 1).front();
    ASSERT_EQ(record.status, Status::ok) << record.reason;
    EXPECT_EQ(record.sustained->launches_checked > 0, !accumulating);
  }
}

// The first launches show what is needed beside each.
TEST_F(Duration, WhatABatchNeedsBesideItsLaunchesDoesNotMakeItLonger) {
  device.overhead = 20e-3;
  const Record record = measure(22);
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  const std::vector<Block>& blocks = record.measurement->blocks;
  EXPECT_NEAR(blocks.back().span.second - blocks.front().span.first, 22, 3);
}

// The watch ends a run that tells nothing for two minutes.
TEST_F(Duration, LaunchesOfAMinuteAreNoHang) {
  device.seconds = [](int) { return 60; };
  double last = device.now, longest = 0;
  const auto told = [&] { longest = std::max(longest, device.now - std::exchange(last, device.now)); };
  SoloTeam stepping(nullptr, told);
  Runner runner(device, stepping, settings_for(device));
  runner.on_stage([&](const std::string&, std::string_view) { told(); });
  ASSERT_EQ(runner.run({{make_case(300)}, {}}, 1).front().status, Status::ok);
  EXPECT_LT(longest, 100) << "one launch at a time";
}

TEST_F(Duration, SaysHowItGoes) {
  device.telemetry = std::make_unique<FakeTelemetry>();
  Runner runner(device, team, settings_for(device));
  std::vector<Course> courses;
  runner.on_course([&](const std::string& case_name, const Course& course) {
    EXPECT_EQ(case_name, make_case(10).name());
    courses.push_back(course);
  });
  runner.run({{make_case(10), make_case(0)}, {}}, 1);
  ASSERT_GE(courses.size(), 5u) << "at least one per block, and none of the case without a duration";
  EXPECT_LE(courses.size(), 12u);
  for (const Course& course : courses) {
    EXPECT_NEAR(course.rate, 50e3, 1) << "50 bytes per launch of 1 ms";
    EXPECT_EQ(course.unit, Unit::byte);
    EXPECT_EQ(course.of_seconds, 10);
    EXPECT_TRUE(course.state.power_watts);
  }
  for (std::size_t i = 1; i < courses.size(); ++i) EXPECT_GT(courses[i].seconds, courses[i - 1].seconds);
  EXPECT_GE(courses.back().seconds, 9);
}

TEST_F(Duration, OfShortLaunchesEachCounts) {
  device.seconds = [](int) { return 0.1e-3; };
  device.telemetry = std::make_unique<FakeTelemetry>();
  Runner runner(device, team, settings_for(device));
  runner.on_course([](const std::string&, const Course& course) { EXPECT_NEAR(course.rate, 500e3, 10); });
  Case pulses = make_case(10);
  pulses.protocol.period_seconds = 0.5;
  std::vector<Record> records;
  for (const Case& c : {make_case(10), pulses}) records.push_back(runner.run({{c}, {}}, 1).front());
  for (const Record& record : records) {
    ASSERT_EQ(record.status, Status::ok) << record.reason;
    EXPECT_EQ(record.measurement->launches_per_sample, 10);
    EXPECT_NEAR(record.sustained->burst_rate, 10e3, 1);
  }
  // A batch of 1 ms takes two times 10 us of the host, its hash 4 us, and as long a rest.
  const TelemetrySummary& telemetry = *records[1].measurement->telemetry;
  EXPECT_NEAR(*telemetry.joules_per_launch, *telemetry.power_watts * 0.2e-3, *telemetry.power_watts * 0.01e-3);
}

/// 40 C, and more from the second reading on.
struct Warming final : TelemetrySource {
  double by = 0;
  int readings = 0;

  explicit Warming(double by) : by(by) {}
  Telemetry read() override {
    Telemetry state;
    state.temperature_celsius = readings++ == 0 ? 40 : 40 + by;
    return state;
  }
  CounterReadings counters() override { return {}; }
  double period_seconds() const override { return 3600; }
  std::string power_kind() override { return ""; }
};

TEST_F(Duration, ABurstThatBeganHotSaysSo) {
  const auto note = [&](double by) -> std::string {
    device.telemetry = std::make_unique<Warming>(by);
    const std::vector<Record> records = Runner(device, team, settings_for(device)).run({{make_case(0), make_case(10)}, {}}, 1);
    const auto& notes = records.at(1).notes;
    const auto found = std::find_if(notes.begin(), notes.end(), [](const auto& one) { return one.first == "burst"; });
    return found == notes.end() ? "" : found->second;
  };
  EXPECT_EQ(note(4), "");
  EXPECT_EQ(note(6), "began at 46 C, 6 above the start of the run: on a cold device it may be faster");
}

TEST_F(Duration, WithoutOneThereAreNoSustainedRates) { EXPECT_FALSE(measure(0).sustained); }

TEST_F(Duration, ThereIsNoWarmUpThatHidesTheBurst) {
  device.seconds = [this](int) { return device.now < 2 ? 1e-3 : 2e-3; };
  const Record record = measure(10);
  EXPECT_LT(record.measurement->samples.front().start_seconds, 0.1);
  EXPECT_NEAR(record.sustained->burst_rate, 1000, 1);
  EXPECT_NEAR(record.sustained->settled_of_burst, 0.5, 1e-6);
  EXPECT_NEAR(*record.sustained->settled_after_seconds, 2, 0.1);
}

TEST_F(Duration, PulsesRestForHalfOfEachPeriodOfTheHostsClock) {
  device.now = 0.2;  // a process begins at any time
  device.telemetry = std::make_unique<FakeTelemetry>();
  Case c = make_case(10);
  c.protocol.period_seconds = 0.5;
  const Record record = Runner(device, team, settings_for(device)).run({{c}, {}}, 1).front();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  std::map<int, std::size_t> launches;  // by period
  for (const Sample& sample : record.measurement->samples) {
    const double period = std::floor(sample.start_seconds / 0.5);
    EXPECT_LE(sample.start_seconds + sample.seconds - 0.5 * period, 0.27) << "launched in the second half";
    ++launches[static_cast<int>(period)];
  }
  // Each launch takes 1 ms, two times 10 us of the host, and its hash 4 us.
  for (const auto& [period, count] : launches) EXPECT_NEAR(static_cast<double>(count), 250, 10) << period;
  EXPECT_NEAR(static_cast<double>(launches.size()), 20, 1) << "a pulse in each period";
  EXPECT_EQ(launches.rbegin()->first - launches.begin()->first, static_cast<int>(launches.size()) - 1) << "none is left out";
  EXPECT_NEAR(record.sustained->settled_of_burst, 1, 1e-9) << "rests are no time of launches";
  EXPECT_FALSE(record.measurement->clock_hz) << "of its rests too";
  const TelemetrySummary& telemetry = *record.measurement->telemetry;
  EXPECT_NEAR(*telemetry.joules_per_launch, *telemetry.power_watts * 2e-3, *telemetry.power_watts * 0.1e-3)
      << "a launch has its share of the rests";
  const auto note =
      std::find_if(record.notes.begin(), record.notes.end(), [](const auto& n) { return n.first == "power swing"; });
  ASSERT_NE(note, record.notes.end());
  EXPECT_THAT(note->second, HasSubstr(" W in "));
}

/// Clocks that hold, whatever happens.
struct SteadyClocks final : TelemetrySource {
  Telemetry read() override {
    Telemetry state;
    state.sm_clock_hz = 1.5e9;
    state.memory_clock_hz = 3e9;
    return state;
  }
  CounterReadings counters() override { return {}; }
  double period_seconds() const override { return 3600; }
  std::string power_kind() override { return ""; }
};

/// As where another program takes cores from a CPU, or a neighbour the bandwidth of a GPU's memory.
TEST_F(Duration, ADecayWhileTheClocksHoldIsNotAscribedToThem) {
  for (const Resource& resource : {resource::fp32_fma, resource::dram}) {
    device.now = 0;
    device.seconds = [this](int) { return device.now < 4 ? 1e-3 : 2e-3; };
    device.telemetry = std::make_unique<SteadyClocks>();
    Case c = make_case(10);
    c.work = {{{{resource, 50}}}};
    std::vector<Record> records = Runner(device, team, settings_for(device)).run({{c}, {}}, 1);
    ASSERT_TRUE(records.at(0).sustained) << records[0].reason;
    EXPECT_EQ(records[0].sustained->clock, resource.clock);
    EXPECT_NEAR(*records[0].sustained->explained_by_clock, 0, 1e-6);
    std::map<FindingKind, std::string> found;
    for (const Finding& finding : analyze({}, records, {}).findings) found[finding.kind] = finding.text;
    EXPECT_THAT(found[FindingKind::decay], HasSubstr("clock explains 0.0 % of the drop"));
    EXPECT_THAT(found[FindingKind::rate_per_clock], HasSubstr("clock is 50.0 %"));
  }
}

/// As of a product beside a triad: its rate falls with the SM clock, but not by as much.
TEST_F(Duration, ARateThatFollowsTwoClocksHasNoRatePerClock) {
  device.seconds = [this](int) { return device.now < 4 ? 1e-3 : 2e-3; };
  device.telemetry = std::make_unique<SteadyClocks>();
  Case c = make_case(10);
  c.work = {{{{resource::fp32_fma, 50}, {resource::dram, 50}}}};
  c.protocol.follows_one_clock = false;
  const Record record = Runner(device, team, settings_for(device)).run({{c}, {}}, 1).at(0);
  ASSERT_TRUE(record.sustained) << record.reason;
  EXPECT_FALSE(record.sustained->rate_per_clock_ratio);
  EXPECT_NEAR(*record.sustained->explained_by_clock, 0, 1e-6) << "the SM clock still explains a decay";
}

TEST_F(Duration, OneOtherBitInAHundredThousandLaunchesIsFoundAndNamed) {
  int hashes = 0;
  device.hash_value = [&] { return ++hashes == 77'777 ? 3u : 1u; };
  device.device.gpu.uuid = "GPU-7";
  const Record record = measure(100);
  EXPECT_GT(hashes, 90'000);
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_FALSE(record.measurement);
  EXPECT_FALSE(record.sustained);
  EXPECT_THAT(record.reason, HasSubstr("wrong result: 1 of "));
  EXPECT_THAT(record.reason, HasSubstr(" on cpu (fake, GPU-7) at "));
  // A few hashes come before the timed launches; 77,777 launches of 1.024 ms take 79.6 s.
  EXPECT_THAT(record.reason, testing::ContainsRegex("the first is launch 777[67][0-9] .*, 79\\.[67][0-9]* s after the first"));
  EXPECT_GE(device.now, 100) << "the case did not go on to its end";
}

TEST_F(Duration, ALongOneKeepsNoMoreSamplesThanAnyCase) {
  const Record record = measure(100);
  EXPECT_GT(record.measurement->launches_per_sample, 1);
  EXPECT_EQ(record.measurement->batches_per_sample, record.measurement->launches_per_sample) << "of 1 ms";
  EXPECT_LE(record.measurement->samples.size(), 20'100u);
  EXPECT_NEAR(record.measurement->summary.median, 1e-3, 1e-9);
  EXPECT_EQ(record.sustained->launches_checked,
            static_cast<std::int64_t>(record.measurement->samples.size()) * record.measurement->launches_per_sample);
}

TEST_F(Duration, LaunchesThatDifferAnywayAreNotChecked) {
  device.hash_value = [bits = std::uint64_t{0}]() mutable { return ++bits; };
  const Record record = measure(2);
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_FALSE(record.fingerprint->deterministic);
  EXPECT_EQ(record.sustained->launches_checked, 0);
}

/// A GPU that is wrong now and then must not be excused as an algorithm whose bits vary.
TEST_F(Duration, LaunchesOfAPinnedAlgorithmThatDifferAreWrong) {
  Case c = make_case(2);
  c.prepare = [](const roofmark::Setup&) {
    auto prepared = std::make_unique<FakePrepared>();
    prepared->deterministic = true;
    return prepared;
  };
  const auto measured = [&] { return Runner(device, team, settings_for(device)).run({{c}, {}}, 1).front(); };
  device.hash_value = [hashes = 0]() mutable { return ++hashes == 3 ? 3u : 1u; };  // one of the three of the fingerprint
  const Record record = measured();
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_EQ(record.reason, "three launches of a pinned algorithm gave different bits, on cpu (fake)");
  EXPECT_FALSE(record.measurement);
  device.hash_value = [] { return 1u; };
  EXPECT_EQ(measured().status, Status::ok);
}

TEST_F(Duration, TheBitsComparedAreThoseThatWereVerified) {
  device.hash_value = [hashes = 0]() mutable { return ++hashes == 4 ? 3u : 1u; };  // after those of the fingerprint
  const Record record = measure(2);
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_THAT(record.reason, HasSubstr("before the timed launches, on cpu (fake): other bits"));
}

TEST_F(Duration, AResultThatIsWrongInTheEndHasNoRates) {
  Case c = make_case(1);
  c.prepare = [](const roofmark::Setup&) {
    auto prepared = std::make_unique<FakePrepared>();
    prepared->on_verify = [calls = 0](int) mutable { return Verification::within(++calls > 1 ? 2 : 0, 1, "u"); };
    prepared->outputs_all = false;
    return prepared;
  };
  const Record record = Runner(device, team, settings_for(device)).run({{c}, {}}, 1).front();
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_FALSE(record.measurement || record.sustained);
}

TEST_F(Duration, AStickyErrorEndsTheCaseAndTheRest) {
  device.seconds = [](int launch) {
    if (launch == 500) throw DeviceError("lost", true);
    return 1e-3;
  };
  Runner runner(device, team, settings_for(device));
  EXPECT_EQ(runner.run({{make_case(2)}, {}}, 1).front().status, Status::failed);
  EXPECT_EQ(runner.run({{make_case(2)}, {}}, 1).front().status, Status::not_run);
}

TEST_F(Duration, AnInterruptEndsIt) {
  std::atomic<bool> stop{false};
  SoloTeam stopped(&stop);
  Runner runner(device, stopped, settings_for(device));
  runner.on_stage([&](const std::string&, std::string_view stage) { stop = stage == "timing" && device.now > 3; });
  EXPECT_THROW(runner.run({{make_case(10)}, {}}, 1), Interrupted);
  EXPECT_TRUE(runner.take_cut_off().empty());
}

TEST_F(Duration, HashingThatGetsSlowerIsHeldToItsShare) {
  int hashes = 0;
  device.hash_value = [&] {
    if (++hashes == 500) device.hash_seconds_per_byte = 1e-4;  // 0.4 ms, where a launch takes 1 ms
    return 1;
  };
  const Record record = measure(10);
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_LE(record.sustained->checking_share_of_time, 0.031);
  EXPECT_GT(record.sustained->checking_share_of_time, 0.025);
  EXPECT_DOUBLE_EQ(*record.measurement->checking_share_of_time, record.sustained->checking_share_of_time);
  EXPECT_LT(record.sustained->launches_checked, static_cast<std::int64_t>(record.measurement->samples.size()));
}

}  // namespace
}  // namespace roofmark
