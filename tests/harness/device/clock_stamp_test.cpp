// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/clock_stamp.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using testing::DoubleNear;
using testing::Optional;

constexpr std::uint64_t kMillisecond = 1'000'000;

/// `mhz` for `milliseconds`, from counters that stand at 1e9.
ClockStamp later(std::uint32_t sm, std::uint64_t mhz, std::uint64_t milliseconds) {
  return {sm, 1'000'000'000 + mhz * 1000 * milliseconds, 1'000'000'000 + milliseconds * kMillisecond};
}
ClockStamp at_first(std::uint32_t sm) { return later(sm, 0, 0); }

TEST(MeanClock, IsCyclesOverTimeOfTheMedianSm) {
  EXPECT_THAT(
      mean_clock_hz({at_first(0), at_first(1), at_first(2)}, {later(2, 1700, 8), later(0, 1500, 8), later(1, 1600, 8)}, 2e9),
      Optional(DoubleNear(1.6e9, 1)));
}

TEST(MeanClock, OnlyWhatOneSmCountedIsCompared) {
  // The counters of two SMs have nothing to do with each other.
  const ClockStamp other{7, 5'000'000'000, 1'000'000'000};
  EXPECT_THAT(mean_clock_hz({at_first(0), other}, {later(0, 1500, 8), later(1, 1900, 8)}, 2e9), Optional(DoubleNear(1.5e9, 1)));
  EXPECT_FALSE(mean_clock_hz({other}, {later(0, 1500, 8)}, 2e9));
  EXPECT_FALSE(mean_clock_hz({}, {later(0, 1500, 8)}, 2e9));
  EXPECT_FALSE(mean_clock_hz({at_first(0)}, {}, 2e9));
}

TEST(MeanClock, ACounterThatStoodStillOrWasResetCountsForNothing) {
  const ClockStamp reset{0, 17, later(0, 0, 8).nanoseconds};
  EXPECT_FALSE(mean_clock_hz({at_first(0)}, {reset}, 2e9));
  EXPECT_FALSE(mean_clock_hz({at_first(0)}, {later(0, 0, 8)}, 2e9));
  EXPECT_FALSE(mean_clock_hz({at_first(0)}, {{0, 2'000'000'000, at_first(0).nanoseconds}}, 2e9));
  EXPECT_FALSE(mean_clock_hz({at_first(0)}, {{0, 2'000'000'000, 17}}, 2e9)) << "the timer went back";
  EXPECT_THAT(mean_clock_hz({at_first(0), at_first(1)}, {reset, later(1, 1500, 8)}, 2e9), Optional(DoubleNear(1.5e9, 1)));
}

TEST(MeanClock, IsNotReadOffBelowAMillisecond) {
  ClockStamp end = later(0, 1500, 1);
  EXPECT_TRUE(mean_clock_hz({at_first(0)}, {end}, 2e9));
  --end.nanoseconds;
  EXPECT_FALSE(mean_clock_hz({at_first(0)}, {end}, 2e9));
  EXPECT_TRUE(mean_clock_hz({at_first(0)}, {end}, 2e9, 0));
}

TEST(MedianClock, IsAbsentWhereNoSmCanHaveIt) {
  EXPECT_THAT(median_clock_hz({1e9, 9e9, 1.5e9}, 2e9), Optional(1.5e9));
  EXPECT_THAT(median_clock_hz({2.655e9}, 2.52e9), Optional(2.655e9)) << "a card that boosts beyond its attribute";
  EXPECT_FALSE(median_clock_hz({2.6e9}, 2e9));
  EXPECT_FALSE(median_clock_hz({40e6}, 2e9));
  EXPECT_THAT(median_clock_hz({2.2e9}, std::nullopt), Optional(2.2e9));
  EXPECT_FALSE(median_clock_hz({40e6}, std::nullopt));
  EXPECT_FALSE(median_clock_hz({11e9}, std::nullopt));
  EXPECT_FALSE(median_clock_hz({}, 2e9));
}

}  // namespace
}  // namespace roofmark
