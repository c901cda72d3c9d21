// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ladder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "harness/measure/runner.hpp"
#include "tests/harness/fake_measure.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

constexpr double kClock = 1.98e9;

/// A latency in cycles up to a size.
struct Step {
  double bytes, cycles;
  const Resource& resource;
};

// What was published of Hopper (arXiv 2501.12084 and later studies), with a TLB that ends at 32 GiB.
const std::vector<Step> kHopper = {{256 * 1024.0, 33, resource::l1_access},
                                   {26e6, 270, resource::l2_access},
                                   {60e6, 500, resource::l2_access},
                                   {34.4e9, 690, resource::dram_access},
                                   {1e99, 1000, resource::dram_access}};

const Step& step_at(const std::vector<Step>& steps, double bytes) {
  for (const Step& step : steps) {
    if (bytes <= step.bytes) return step;
  }
  return steps.back();
}

std::vector<std::size_t> sizes(double per_octave, double largest) {
  std::vector<std::size_t> all;
  for (int i = 0;; ++i) {
    const double bytes = 4096 * std::exp2(i / per_octave);
    if (bytes > largest) return all;
    all.push_back(static_cast<std::size_t>(bytes) / 128 * 128);
  }
}

Record record_of(std::size_t bytes, const Resource& resource, double seconds, std::string load = "ca") {
  Record record = ok_record("latency", "chase", {{{{resource, 1000}}}}, 1000 * seconds);
  record.shape = {{"bytes", std::to_string(bytes)}, {"stride", "128"}, {"load", std::move(load)}, {"impl", "own"}};
  record.measurement->clock_hz = kClock;
  return record;
}

std::vector<Record> records_of(const std::vector<Step>& steps, const std::vector<std::size_t>& sizes, double noise,
                               unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> error;
  std::vector<Record> records;
  for (const std::size_t bytes : sizes) {
    const Step& step = step_at(steps, static_cast<double>(bytes));
    records.push_back(record_of(bytes, step.resource, step.cycles / kClock * (1 + noise * error(random))));
  }
  return records;
}

void expect_levels(const std::vector<Step>& steps, const Ladder& ladder, double tolerance) {
  ASSERT_EQ(ladder.levels.size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    SCOPED_TRACE(i);
    const LadderLevel& level = ladder.levels[i];
    EXPECT_EQ(level.resource, steps[i].resource.id);
    EXPECT_NEAR(*level.cycles, steps[i].cycles, tolerance * steps[i].cycles);
    EXPECT_NEAR(level.seconds, steps[i].cycles / kClock, tolerance * steps[i].cycles / kClock);
    EXPECT_LE(static_cast<double>(level.largest_bytes), steps[i].bytes);
    ASSERT_EQ(level.beyond_bytes.has_value(), i + 1 < steps.size());
    if (!level.beyond_bytes) continue;
    EXPECT_GT(static_cast<double>(*level.beyond_bytes), steps[i].bytes);
  }
}

TEST(Ladder, FindsEveryPlantedStepBetweenTwoNeighbouringSizes) {
  for (const double noise : {0.0, 0.005, 0.02}) {
    for (const double per_octave : {2.0, 4.0}) {
      for (unsigned seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(testing::Message() << noise << ", " << per_octave << " sizes per octave, seed " << seed);
        const std::vector<Ladder> ladders = ladders_of(records_of(kHopper, sizes(per_octave, 130e9), noise, seed));
        ASSERT_EQ(ladders.size(), 1U);
        EXPECT_EQ(ladders.front().series.name(), "latency/chase/fp32/load:ca/impl:own");
        expect_levels(kHopper, ladders.front(), std::max(2.5 * noise, 1e-9));
      }
    }
  }
}

TEST(Ladder, TwoLevelsOfOneResourceAreItsSteps) {
  const std::vector<LadderLevel> levels = ladders_of(records_of(kHopper, sizes(2, 130e9), 0, 0)).front().levels;
  std::vector<int> steps;
  for (const LadderLevel& level : levels) steps.push_back(level.step);
  EXPECT_EQ(steps, (std::vector<int>{1, 1, 2, 1, 2}));
}

TEST(Ladder, AFlatCurveIsOneLevelAndHasNoKnee) {
  for (const double noise : {0.0, 0.005, 0.02}) {
    for (unsigned seed = 0; seed < 50; ++seed) {
      const std::vector<Step> flat = {{1e99, 29, resource::shared_access}};
      const std::vector<Ladder> ladders = ladders_of(records_of(flat, sizes(4, 1e9), noise, seed));
      ASSERT_EQ(ladders.front().levels.size(), 1U) << noise << ", seed " << seed;
      EXPECT_FALSE(ladders.front().levels.front().beyond_bytes);
      EXPECT_EQ(ladders.front().levels.front().points, static_cast<int>(ladders.front().points.size()));
    }
  }
}

// Between two caches the share of hits falls slowly: the rise belongs to neither, and is no level of its own.
TEST(Ladder, ASlowRiseLiesBetweenTheLevels) {
  std::vector<Record> records;
  for (const std::size_t bytes : sizes(2, 1e9)) {
    const double share = std::clamp(std::log2(static_cast<double>(bytes) / 2e6) / 4, 0.0, 1.0);
    records.push_back(record_of(bytes, bytes <= 2e6 ? resource::l2_access : resource::dram_access, 5e-9 * std::pow(20, share)));
  }
  const std::vector<LadderLevel> levels = ladders_of(records).front().levels;
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_NEAR(levels[0].seconds, 5e-9, 1e-12);
  EXPECT_NEAR(levels[1].seconds, 100e-9, 1e-12);
  EXPECT_GT(levels[0].largest_bytes, 1.4e6);
  EXPECT_LT(*levels[0].beyond_bytes, 3e6);
  EXPECT_GT(levels[1].smallest_bytes, 20e6);
}

TEST(Ladder, ARampHasNoLevels) {
  std::mt19937 random(1);
  std::normal_distribution<double> error;
  for (const double step : {0.02, 0.03, 0.05, 0.08}) {
    for (const std::size_t count : {9, 32}) {
      std::vector<Record> records;
      double latency = 100e-9;
      for (std::size_t i = 0; i < count; ++i, latency *= 1 + step) {
        records.push_back(record_of(4096 * (i + 1), resource::l2_access, latency * (1 + 0.002 * error(random))));
      }
      EXPECT_TRUE(ladders_of(records).front().levels.empty()) << step << ", " << count << " sizes";
    }
  }
}

// Other programs use the last-level cache: what nobody knows well proves no level.
TEST(Ladder, UncertainPointsMakeNoLevel) {
  std::vector<Record> records =
      records_of({{1e7, 100, resource::l3_access}, {1e99, 130, resource::dram_access}}, sizes(2, 1e8), 0, 0);
  EXPECT_EQ(ladders_of(records).front().levels.size(), 2U);
  for (Record& record : records) {
    Summary& summary = record.measurement->summary;
    summary.interval_low = 0.4 * summary.median;
    summary.interval_high = 1.6 * summary.median;
  }
  EXPECT_EQ(ladders_of(records).front().levels.size(), 1U);
}

// A machine whose neighbours use all of the cache that it states.
TEST(Ladder, APlateauThatGoesOnBeyondACacheIsNotItsOwn) {
  const std::vector<LadderLevel> levels =
      ladders_of(records_of({{1e7, 100, resource::l3_access}, {1e99, 100, resource::dram_access}}, sizes(2, 2e7), 0, 0))
          .front()
          .levels;
  ASSERT_EQ(levels.size(), 1U);
  EXPECT_EQ(levels.front().resource, "dram_access");
}

TEST(Ladder, AWideIntervalHidesNoCache) {
  std::vector<Record> records = records_of(kHopper, sizes(2, 130e9), 0.005, 1);
  for (Record& record : records) {
    Summary& summary = record.measurement->summary;
    if (std::stoull(value_of(record.shape, "bytes")) < 300000) continue;
    summary.interval_low = -2 * summary.median;
    summary.interval_high = 4 * summary.median;
    break;  // the first size beyond L1
  }
  expect_levels(kHopper, ladders_of(records).front(), 0.02);
}

TEST(Ladder, APointThatWasDisturbedDividesNoLevel) {
  std::vector<Record> records = records_of(kHopper, sizes(2, 130e9), 0.005, 1);
  for (const std::size_t i : {3, 18, 36}) records[i].measurement->summary.median *= 1.8;
  expect_levels(kHopper, ladders_of(records).front(), 0.02);
}

TEST(Ladder, LevelsRise) {
  // A dip in the middle, as of a set that happened to lie well.
  std::vector<Record> records = records_of({{1e99, 100, resource::dram_access}}, sizes(2, 1e8), 0, 0);
  for (std::size_t i = 10; i < 14; ++i) records[i].measurement->summary.median *= 0.7;
  const std::vector<LadderLevel> levels = ladders_of(records).front().levels;
  for (std::size_t i = 1; i < levels.size(); ++i) EXPECT_GE(levels[i].seconds, 1.09 * levels[i - 1].seconds);
}

TEST(Ladder, OneSizeIsALevelOfUnknownCapacity) {
  const std::vector<Ladder> ladders = ladders_of({record_of(32768, resource::shared_access, 15e-9)});
  ASSERT_EQ(ladders.front().levels.size(), 1U);
  EXPECT_EQ(ladders.front().levels.front().largest_bytes, 32768U);
  EXPECT_FALSE(ladders.front().levels.front().beyond_bytes);
}

TEST(Ladder, SeriesAreOfAccessesAloneAndOfOneKind) {
  std::vector<Record> records = records_of(kHopper, sizes(1, 1e6), 0, 0);
  const std::size_t chased = records.size();
  for (const std::size_t bytes : sizes(1, 1e5)) records.push_back(record_of(bytes, resource::l2_access, 1e-7, "cg"));
  records.push_back(ok_record("stream", "copy", {{{{resource::dram, 1e9}}}}, 1e-3));
  records.push_back(ok_record("gather", "", {{{{resource::dram, 1e9}, {resource::dram_access, 1e3}}}}, 1e-3));
  records.push_back(record_of(4096, resource::l1_access, 1e-3, "wrong"));
  records.back().status = Status::wrong;
  records.back().measurement.reset();
  const std::vector<Ladder> ladders = ladders_of(records);
  ASSERT_EQ(ladders.size(), 2U);
  EXPECT_EQ(ladders[0].points.size(), chased);
  EXPECT_EQ(ladders[1].series.name(), "latency/chase/fp32/load:cg/impl:own");
}

// The same through the measuring loop, on a device whose clock is made up: each launch takes what the planted steps say, with
// noise.
TEST(Ladder, OfMeasuredCases) {
  FakeDevice device;
  SoloTeam team;
  device.clock_probe = [] { return kClock; };
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, 0.02);
  double cycles = 0;
  device.seconds = [&](int) { return 1000 * cycles / kClock * (1 + error(random)); };
  std::vector<Record> records;
  for (const std::size_t bytes : sizes(2, 130e9)) {
    const Step& step = step_at(kHopper, static_cast<double>(bytes));
    cycles = step.cycles;
    Case c = fake_case(
        [](const roofmark::Setup& setup) {
          auto prepared = std::make_unique<FakePrepared>();
          prepared->memory = setup.device.allocate(50);
          return prepared;
        },
        "chase");
    c.shape = {{"bytes", std::to_string(bytes)}, {"stride", "128"}};
    c.work = {{{{step.resource, 1000}}}};
    c.protocol.cache = Cache::warm;
    records.push_back(Runner(device, team, settings_for(device)).run({{std::move(c)}, {}}, 1).front());
    ASSERT_EQ(records.back().status, Status::ok) << records.back().reason;
  }
  const std::vector<Ladder> ladders = ladders_of(records);
  ASSERT_EQ(ladders.size(), 1U);
  expect_levels(kHopper, ladders.front(), 0.01);
}

TEST(Ladder, TheErrorOfAPointIsThatOfTheMedianOfItsBlocks) {
  Record small = record_of(4096, kHopper[0].resource, 1e-8), large = record_of(8192, kHopper[0].resource, 1e-8);
  for (Record* record : {&small, &large}) {
    Summary& summary = record->measurement->summary;
    summary.interval_low = summary.median * std::exp(-0.1);
    summary.interval_high = summary.median * std::exp(0.1);
  }
  small.measurement->blocks.resize(3);
  const std::vector<LadderPoint> points = ladders_of({small, large}).at(0).points;
  EXPECT_NEAR(points.at(0).relative_error, 0.1 / 4.3027, 1e-6);
  EXPECT_NEAR(points.at(1).relative_error, 0.1 / 2.7764, 1e-6);
}

TEST(Ladder, StridesOfOneSizeAreNone) {
  std::vector<Record> records;
  for (const char* stride : {"64", "128", "256"}) {
    records.push_back(record_of(65536, resource::l1_access, 1e-9));
    records.back().shape[1].second = stride;
  }
  EXPECT_TRUE(ladders_of(records).empty());
  records.resize(1);
  EXPECT_EQ(ladders_of(records).size(), 1U);
}

}  // namespace
}  // namespace roofmark
