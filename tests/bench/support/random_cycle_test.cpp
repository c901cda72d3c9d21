// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/random_cycle.hpp"

#include <gtest/gtest.h>

#include <set>

namespace roofmark {
namespace {

TEST(RandomCycle, MeetsEveryNumberOnceAndThenTheFirstAgain) {
  for (const std::size_t count : {1, 2, 3, 1009, 65536}) {
    const std::vector<std::uint32_t> next = random_cycle(count, 7);
    ASSERT_EQ(next.size(), count);
    std::vector<bool> met(count);
    std::size_t at = 0;
    for (std::size_t step = 0; step < count; ++step) {
      ASSERT_FALSE(met[at]) << "of " << count << ", " << at << " is met again after " << step << " steps";
      met[at] = true;
      at = next[at];
      ASSERT_LT(at, count);
    }
    EXPECT_EQ(at, 0U) << "of " << count;
  }
}

TEST(RandomCycle, IsOneOfItsSeed) {
  EXPECT_EQ(random_cycle(1009, 7), random_cycle(1009, 7));
  EXPECT_NE(random_cycle(1009, 7), random_cycle(1009, 8));
}

TEST(RandomCycle, TellsItsProgress) {
  int told = 0;
  const auto tell = [&] { ++told; };
  EXPECT_EQ(random_cycle(std::size_t{9} << 20, 7, tell).size(), std::size_t{9} << 20);
  EXPECT_EQ(told, 2) << "at each fourth million";
  random_cycle(1009, 7, tell);
  EXPECT_EQ(told, 2);
}

// The six cycles of four numbers, each as often as the others: within 5 standard deviations of 1000.
TEST(RandomCycle, AllCyclesAreEquallyLikely) {
  std::multiset<std::vector<std::uint32_t>> found;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) found.insert(random_cycle(4, seed));
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 6U);
  for (const auto& cycle : std::set(found.begin(), found.end())) {
    EXPECT_NEAR(static_cast<double>(found.count(cycle)), 1000, 5 * 29);
  }
}

// A chase whose distances follow a pattern would be prefetched.
TEST(RandomCycle, StepsHaveNoFavouriteDistance) {
  constexpr std::size_t kCount = 65536;
  const std::vector<std::uint32_t> next = random_cycle(kCount, 7);
  std::multiset<std::uint32_t> distances;
  for (std::size_t i = 0; i < kCount; ++i) distances.insert(next[i] - static_cast<std::uint32_t>(i));
  for (const std::uint32_t distance : distances) EXPECT_LE(distances.count(distance), 12U) << distance;
}

}  // namespace
}  // namespace roofmark
