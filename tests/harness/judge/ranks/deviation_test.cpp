// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/deviation.hpp"

#include <gtest/gtest.h>

namespace roofmark {
namespace {

TEST(Deviation, IsInTimesTheMedianAndInDeviationsWhateverTheUnit) {
  for (const double unit : {1e-6, 1.0, 1e6}) {
    std::vector<double> all;
    for (const double value : {2.0, 2.01, 1.99, 2.02, 1.98, 2.0, 2.4}) all.push_back(unit * value);
    const auto found = deviates(2.4 * unit, all, 1.15);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->times, 1.2, 1e-9);
    EXPECT_NEAR(*found->mads, 0.4 / (1.4826 * 0.01), 1e-6);
    EXPECT_FALSE(deviates(2.4 * unit, all, 1.25)) << "not so many times";
    EXPECT_FALSE(deviates(2.02 * unit, all, 1.005)) << "within five deviations";
    EXPECT_TRUE(deviates(2.08 * unit, all, 1.005));
  }
}

TEST(Deviation, WhereAllOthersAreAlikeHasNoNumberOfDeviations) {
  const auto found = deviates(3, {2, 2, 2, 3}, 1.1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->times, 1.5);
  EXPECT_FALSE(found->mads);
  EXPECT_FALSE(deviates(3, {2, 3}, 1.1)) << "of two neither is slow";
}

TEST(Deviation, OfFewStandsOutFromAQuarterOn) {
  const auto stands = [](std::size_t count, double value) {
    std::vector<double> all(count - 1, 1.0);
    all.push_back(value);
    return stands_out(value, all, 1.1).has_value();
  };
  EXPECT_FALSE(stands(6, 1.24));
  EXPECT_TRUE(stands(6, 1.26));
  EXPECT_TRUE(stands(7, 1.12));
  EXPECT_FALSE(stands(7, 1.09));
}

}  // namespace
}  // namespace roofmark
