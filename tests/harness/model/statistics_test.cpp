// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace roofmark {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

/// Blocks of samples, in seconds.
std::vector<Sample> samples(const std::vector<std::vector<double>>& blocks) {
  std::vector<Sample> made;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    for (double seconds : blocks[block]) {
      Sample sample;
      sample.seconds = seconds;
      sample.block = static_cast<int>(block);
      made.push_back(sample);
    }
  }
  return made;
}

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = n; i >= 1; --i) values.push_back(i);
  return values;
}

TEST(Median, OfOddAndEvenCounts) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({4, 1}), 2.5);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({5, 5, 5, 5}), 5);
}

TEST(Median, RefusesNothingAndWhatIsNotFinite) {
  EXPECT_THROW(median({}), std::invalid_argument);
  EXPECT_THROW(median({1, kNaN, 2}), std::invalid_argument);
  EXPECT_THROW(median({1, kInfinity}), std::invalid_argument);
}

TEST(Percentile, IsLinearBetweenOrderStatistics) {
  EXPECT_EQ(percentile({1, 2, 3, 4}, 0), 1);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 100), 4);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4}, 25), 1.75);
  EXPECT_DOUBLE_EQ(percentile(one_to(101), 99), 100);
  EXPECT_EQ(percentile({3}, 95), 3);
  EXPECT_THROW(percentile({1, 2}, 101), std::invalid_argument);
  EXPECT_THROW(percentile({1, 2}, -1), std::invalid_argument);
  EXPECT_THROW(percentile({1, 2}, kNaN), std::invalid_argument);
  EXPECT_THROW(percentile({}, 50), std::invalid_argument);
}

TEST(CoefficientOfVariation, UsesTheSampleDeviation) {
  EXPECT_DOUBLE_EQ(*coefficient_of_variation({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7) / 5);
  EXPECT_EQ(coefficient_of_variation({3, 3, 3}), 0);
}

TEST(CoefficientOfVariation, IsAbsentWhereItMeansNothing) {
  EXPECT_FALSE(coefficient_of_variation({3}).has_value());
  EXPECT_FALSE(coefficient_of_variation({-1, 1}).has_value());
  EXPECT_THROW(coefficient_of_variation({}), std::invalid_argument);
}

TEST(StudentT, MatchesPublishedTables) {
  const double published[] = {12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600,
                              2.26216, 2.22814, 2.20099, 2.17881, 2.16037, 2.14479, 2.13145};
  for (int degrees = 1; degrees <= 15; ++degrees) EXPECT_NEAR(student_t(degrees), published[degrees - 1], 2e-4) << degrees;
  EXPECT_NEAR(student_t(30), 2.04227, 1e-4);
  EXPECT_NEAR(student_t(1000), 1.96234, 1e-4);
  EXPECT_NEAR(student_t(4, 0.01), 4.60409, 1e-5);
  EXPECT_NEAR(student_t(7, 0.001), 5.40788, 1e-5);
  EXPECT_NEAR(student_t(1, 0.002), 318.309, 1e-3);
  EXPECT_NEAR(student_t(2.5), 3.5747, 0.02) << "between whole numbers";
  EXPECT_NEAR(student_t(6.5, 0.05 / 12), 4.3139, 0.02);
  EXPECT_THROW(student_t(0), std::invalid_argument);
}

TEST(DensestDeviation, IsThatOfTheMajority) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(10, 0.5);
  std::vector<double> values;
  for (int i = 0; i < 2000; ++i) values.push_back(normal(random));
  EXPECT_NEAR(densest_deviation(values), 0.5, 0.07);
  for (int i = 0; i < 1800; ++i) values.push_back(20 + i);
  EXPECT_LT(densest_deviation(values), 1.1) << "nearly half of the values lie elsewhere";
  EXPECT_EQ(densest_deviation({3, 1, 1}), 0);
  EXPECT_EQ(densest_deviation({3}), 0);
  EXPECT_EQ(densest_deviation({}), 0);
}

TEST(Summarize, GivesOnlyWhatTheCountAllows) {
  const Summary one = summarize(samples({{2}}));
  EXPECT_EQ(one.median, 2);
  EXPECT_EQ(one.minimum, 2);
  EXPECT_EQ(one.maximum, 2);
  EXPECT_FALSE(one.cv || one.p5 || one.p95 || one.p99 || one.interval_low || one.interval_high);

  const Summary nineteen = summarize(samples({one_to(19)}));
  EXPECT_TRUE(nineteen.cv.has_value());
  EXPECT_FALSE(nineteen.p5 || nineteen.p95);

  const Summary twenty = summarize(samples({one_to(20)}));
  EXPECT_DOUBLE_EQ(*twenty.p5, 1.95);
  EXPECT_DOUBLE_EQ(*twenty.p95, 19.05);
  EXPECT_FALSE(summarize(samples({one_to(99)})).p99.has_value());
  EXPECT_DOUBLE_EQ(*summarize(samples({one_to(100)})).p99, 99.01);
}

TEST(Summarize, RefusesNothingAndWhatIsNotFinite) {
  EXPECT_THROW(summarize(std::vector<Sample>()), std::invalid_argument);
  EXPECT_THROW(summarize(samples({{1, kNaN}, {1}})), std::invalid_argument);
}

TEST(Summarize, TakesTheIntervalFromTheBlocks) {
  // Within a block no spread at all; between the logarithms of 1, 2, 4 the deviation is log(2), and t for 2 degrees of freedom
  // has a closed form.
  const Summary summary = summarize(samples({{1, 1, 1, 1}, {2, 2, 2, 2}, {4, 4, 4, 4}}));
  const double factor = std::pow(2, 0.95 * std::sqrt(2 / (1 - 0.95 * 0.95)) / std::sqrt(3));
  EXPECT_EQ(summary.median, 2);
  EXPECT_NEAR(*summary.interval_low, 2 / factor, 1e-9) << "above 0, although the blocks differ by more than the median";
  EXPECT_NEAR(*summary.interval_high, 2 * factor, 1e-9);

  const Summary same = summarize(samples({{1, 9, 5}, {8, 5, 2}}));
  EXPECT_NEAR(*same.interval_low, 5 / std::exp(0.1), 1e-9) << "half a step of 1, by the clock of these samples";
  EXPECT_NEAR(*same.interval_high, 5 * std::exp(0.1), 1e-9);
}

TEST(Summarize, TheIntervalReachesTheBlocksAroundTheMedian) {
  const auto logs_of = [](const std::vector<double>& values) {
    std::vector<std::vector<double>> blocks;
    for (const double value : values) blocks.push_back({std::exp(value + 1e-6 * static_cast<double>(blocks.size()))});
    const Summary summary = summarize(samples(blocks));
    return std::pair(std::log(*summary.interval_low), std::log(*summary.interval_high));
  };
  // Student's t reaches 0.68 from the median, which is one of the two kinds of blocks.
  EXPECT_NEAR(logs_of({0, 0, 0, 1, 1}).second, 1, 0.003);
  EXPECT_NEAR(logs_of({0, 0, 1, 1, 1}).first, 0, 0.003);
  // Of ten, the third from each end; t reaches 0.35.
  EXPECT_NEAR(logs_of({0, 0, 0, 0, 0, 0, 0, 1, 1, 1}).second, 1, 0.003);
  EXPECT_LT(logs_of({0, 0, 0, 0, 0, 0, 0, 0, 1, 1}).second, 0.5);
  // Of thousands too.
  std::vector<double> many(2000, 0);
  std::fill(many.begin() + 1040, many.end(), 1);
  EXPECT_LT(logs_of(many).second, 0.1);
  std::fill(many.begin() + 1030, many.end(), 1);
  EXPECT_NEAR(logs_of(many).second, 1, 0.003);
}

/// How often the interval of five blocks holds `truth`.
template <class Draw>
double covered(double truth, const Draw& draw) {
  constexpr int kRuns = 2000, kBlocks = 5;
  int held = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::vector<double>> blocks;
    for (int block = 0; block < kBlocks; ++block) blocks.push_back(draw());
    const Summary summary = summarize(samples(blocks));
    held += *summary.interval_low <= truth && truth <= *summary.interval_high;
  }
  return held / static_cast<double>(kRuns);
}

TEST(Summarize, TheIntervalHoldsTheMedian) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto block = [&](double centre, double deviation, auto round) {
    std::vector<double> values(10);
    for (double& value : values) value = round(centre * std::exp(deviation * normal(random)));
    return values;
  };
  const auto as_is = [](double value) { return value; };
  EXPECT_GT(covered(1, [&] { return block(std::exp(0.01 * normal(random)), 0.01, as_is); }), 0.94);
  // A clock that is 15 % lower in two of five blocks: by Student's t alone 0.6. The median of all lies above the faster level.
  EXPECT_GT(covered(1.005, [&] { return block(uniform(random) < 0.4 ? 1.15 : 1, 0.005, as_is); }), 0.88);
  // A clock whose step is the scatter: by Student's t alone 0.5.
  const auto in_steps = [&](double value) { return std::floor(value + uniform(random)); };
  EXPECT_GT(covered(40.3, [&] { return block(40.3, 0.01, in_steps); }), 0.94);
}

TEST(Summarize, CentresTheIntervalOnTheHeadline) {
  // Blocks of unequal length: the median of all is 1, of the blocks' medians 2.
  const Summary summary = summarize(samples({{1, 1, 1, 1, 1}, {3}}));
  EXPECT_EQ(summary.median, 1);
  EXPECT_DOUBLE_EQ(*summary.interval_low * *summary.interval_high, 1);
}

TEST(Summarize, BlocksThatAreCloseTogetherHaveTheIntervalOfTheirMedians) {
  const Summary summary = summarize(samples({{0.999}, {1}, {1.001}}));
  const double half = 4.3027 * 0.001 / std::sqrt(3);
  EXPECT_NEAR(*summary.interval_low, 1 - half, half * half);
  EXPECT_NEAR(*summary.interval_high, 1 + half, half * half);
}

TEST(Summarize, ABlockWithoutTimeHasNoInterval) { EXPECT_FALSE(summarize(samples({{1, 1}, {0, 0}})).interval_low); }

TEST(SamplesNeeded, FollowsTheSpread) {
  // Median 100, median absolute deviation 1; one block, so the normal quantile.
  const double root = 1.959964 * std::sqrt(std::acos(-1.0) / 2) * 1.4826 / (0.005 * 100);
  EXPECT_EQ(samples_needed({98, 99, 100, 101, 102}, 0.005, 1), static_cast<std::size_t>(std::ceil(root * root)));
  EXPECT_GT(*samples_needed({98, 99, 100, 101, 102}, 0.005, 5), *samples_needed({98, 99, 100, 101, 102}, 0.005, 1));
  EXPECT_GT(*samples_needed({98, 99, 100, 101, 102}, 0.001), *samples_needed({98, 99, 100, 101, 102}, 0.005));
}

TEST(SamplesNeeded, IsNotSwollenByAFewLateSamples) {
  EXPECT_EQ(samples_needed({98, 99, 100, 101, 5000}), samples_needed({98, 99, 100, 101, 102}));
}

TEST(SamplesNeeded, SeesLaunchesOfTwoKinds) {
  std::vector<double> pilot;
  for (int i = 0; i < 15; ++i) pilot.push_back((i % 10 < 6 ? 100 : 110) + 0.01 * i);
  EXPECT_GT(samples_needed(pilot), 1000u);
  // Two late samples of 15 are none.
  std::vector<double> late(15, 100);
  for (int i = 0; i < 15; ++i) late[static_cast<std::size_t>(i)] += 0.1 * (i % 5);
  const auto calm = samples_needed(late);
  late[3] = late[11] = 5000;
  EXPECT_LT(*samples_needed(late), 2 * *calm);
}

TEST(SamplesNeeded, AtTheEdges) {
  EXPECT_EQ(samples_needed({3, 3, 3, 3}), 5u);
  EXPECT_FALSE(samples_needed({3}).has_value());
  EXPECT_TRUE(samples_needed({3, 4}).has_value());
  EXPECT_FALSE(samples_needed({0, 0}).has_value());
  EXPECT_EQ(samples_needed({1, 1e300}, 1e-300), 1000000000000u);
  EXPECT_THROW(samples_needed({}), std::invalid_argument);
  EXPECT_THROW(samples_needed({1, kNaN}), std::invalid_argument);
  EXPECT_THROW(samples_needed({1, 2}, 0), std::invalid_argument);
  EXPECT_THROW(samples_needed({1, 2}, 0.005, 0), std::invalid_argument);
}

TEST(SamplesNeeded, ReachesThePromisedInterval) {
  // Normal samples of 3 % spread in five blocks: on average the interval is as narrow as asked for.
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(1, 0.03);
  std::vector<double> pilot(1000);
  for (double& value : pilot) value = normal(random);
  const std::size_t needed = *samples_needed(pilot);
  double sum = 0;
  const int runs = 200;
  for (int run = 0; run < runs; ++run) {
    std::vector<std::vector<double>> blocks(5, std::vector<double>(needed / 5));
    for (auto& block : blocks) {
      for (double& value : block) value = normal(random);
    }
    const Summary summary = summarize(samples(blocks));
    sum += (*summary.interval_high - *summary.interval_low) / 2 / summary.median;
  }
  EXPECT_NEAR(sum / runs, 0.005, 0.001);
}

TEST(WindowsAgree, WithinTheTolerance) {
  EXPECT_TRUE(windows_agree({1, 1, 50}, {1.005}));
  EXPECT_FALSE(windows_agree({1, 1, 1}, {1.02}));
  EXPECT_FALSE(windows_agree({1.02}, {1, 1, 1}));
  // 1 % of the smaller, whichever comes first.
  EXPECT_FALSE(windows_agree({1.01005}, {1}));
  EXPECT_TRUE(windows_agree({1}, {1.02}, 0.05));
  EXPECT_TRUE(windows_agree({1}, {1}, 0));
  EXPECT_FALSE(windows_agree({}, {1}));
  EXPECT_FALSE(windows_agree({1}, {}));
  EXPECT_THROW(windows_agree({kNaN}, {1}), std::invalid_argument);
}

TEST(RatioInterval, PairsTheBlocks) {
  // Both drift by 50 % from block to block; every pair's ratio is 2, so nothing is uncertain.
  const Ratio exact = ratio_interval(samples({{1}, {1.5}, {2.25}}), samples({{2}, {3}, {4.5}}));
  EXPECT_DOUBLE_EQ(exact.ratio, 2);
  EXPECT_DOUBLE_EQ(*exact.low, 2);
  EXPECT_DOUBLE_EQ(*exact.high, 2);
}

// Under drift the ratio of all medians would be that of the middle block alone.
TEST(RatioInterval, IsThatOfThePairsWhateverTheDrift) {
  const Ratio found =
      ratio_interval(samples({{1}, {1.05}, {1.1 / 1.02}, {1.15}, {1.2}}), samples({{1}, {1.05}, {1.1}, {1.15}, {1.2}}));
  EXPECT_NEAR(found.ratio, std::pow(1.02, 0.2), 1e-12);
  EXPECT_LT(*found.low, 1);
  EXPECT_GT(*found.high, 1);
}

TEST(RatioInterval, TurnsOverWithTheCases) {
  const auto a = samples({{1, 1.1}, {1.2}, {1.05}}), b = samples({{2}, {2.1, 2.2}, {1.9}});
  const Ratio forth = ratio_interval(a, b), back = ratio_interval(b, a);
  EXPECT_GT(forth.ratio, 1);
  EXPECT_LT(*forth.low, forth.ratio);
  EXPECT_DOUBLE_EQ(forth.ratio * back.ratio, 1);
  EXPECT_NEAR(*forth.low * *back.high, 1, 1e-12);
}

TEST(RatioInterval, IsNoNarrowerThanTheStepsOfTheClock) {
  const Ratio found = ratio_interval(samples({{4, 4, 5}, {4, 4, 5}}), samples({{8, 8, 8}, {8, 8, 9}}));
  EXPECT_EQ(found.ratio, 2);
  EXPECT_NEAR(std::log(*found.high / 2), 0.5 / 4 + 0.5 / 8, 1e-12);
  EXPECT_NEAR(std::log(*found.low / 2), -0.5 / 4 - 0.5 / 8, 1e-12);
}

TEST(RatioInterval, AtTheEdges) {
  EXPECT_FALSE(ratio_interval(samples({{1}}), samples({{2}})).low.has_value());
  // Of three blocks only one is common: no interval.
  EXPECT_FALSE(ratio_interval(samples({{}, {1}, {1}}), samples({{2}, {2}})).low.has_value());
  EXPECT_THROW(ratio_interval({}, samples({{1}})), std::invalid_argument);
  EXPECT_THROW(ratio_interval(samples({{1}}), {}), std::invalid_argument);
  EXPECT_THROW(ratio_interval(samples({{0}}), samples({{1}})), std::invalid_argument);
  EXPECT_THROW(ratio_interval(samples({{1}}), samples({{kNaN}})), std::invalid_argument);
}

TEST(ScaledMedianAbsoluteDeviation, OfPlainNumbers) {
  // Median 3; distances 2, 1, 0, 1, 97: their median is 1.
  EXPECT_DOUBLE_EQ(scaled_median_absolute_deviation({1, 2, 3, 4, 100}), 1.4826);
  EXPECT_EQ(scaled_median_absolute_deviation({5, 5, 5, 9}), 0);
  EXPECT_THROW(scaled_median_absolute_deviation({}), std::invalid_argument);
}

TEST(ApartByChance, GrowsWithTheNumberOfPairs) {
  const Scatter five{0.02, 5}, none{0, 5};
  EXPECT_EQ(apart_by_chance(none, none, 12), 0);
  EXPECT_NEAR(apart_by_chance(five, five, 1), 0.02 * std::sqrt(2), 1e-12) << "what the intervals explain";
  // Of equal scatter, the degrees of freedom of both add up.
  EXPECT_NEAR(apart_by_chance(five, five, 10), student_t(8, 0.005) / student_t(4) * 0.02 * std::sqrt(2), 1e-9);
  EXPECT_NEAR(apart_by_chance(five, none, 10), student_t(4, 0.005) / student_t(4) * 0.02, 1e-9);
}

TEST(FitLine, FindsTheLineThatPointsLieOn) {
  const auto line = fit_line({8, 1024, 1e9}, {2 + 3 * 8.0, 2 + 3 * 1024.0, 2 + 3e9}, {1, 1e-3, 1e-12});
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->slope, 3, 1e-9);
  EXPECT_NEAR(line->intercept, 2, 1e-5);
  EXPECT_NEAR(line->r2.value(), 1, 1e-12);
}

TEST(FitLine, WeighsThePoints) {
  // Weights 1, 1, 2 of (0, 0), (1, 2), (2, 1): means 1.25 and 1; xx 2.75, xy 1, yy 2.
  const auto line = fit_line({0, 1, 2}, {0, 2, 1}, {1, 1, 2});
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->slope, 1 / 2.75, 1e-12);
  EXPECT_NEAR(line->intercept, 1 - 1.25 / 2.75, 1e-12);
  EXPECT_NEAR(line->r2.value(), 1 / (2.75 * 2), 1e-12);
}

TEST(FitLine, BeginsNoLowerThanItMay) {
  // Free, the line through (1, 1) and (2, 4) begins at -2; from 0 on, (1 + 8) / (1 + 4) is the best slope.
  const auto line = fit_line({1, 2}, {1, 4}, {1, 1}, 0);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->intercept, 0);
  EXPECT_DOUBLE_EQ(line->slope, 1.8);
  EXPECT_NEAR(line->r2.value(), 1 - (0.8 * 0.8 + 0.4 * 0.4) / 4.5, 1e-12);
  EXPECT_DOUBLE_EQ(fit_line({1, 2}, {3, 4}, {1, 1}, 0)->intercept, 2);
}

TEST(FitLine, WhatIsNoLineHasNone) {
  EXPECT_FALSE(fit_line({}, {}, {}));
  EXPECT_FALSE(fit_line_relative({1, 1}, {1, 2}));
  EXPECT_FALSE(fit_line({1}, {1}, {1}));
  EXPECT_FALSE(fit_line({0.1, 0.1, 0.1}, {1, 2, 3}, {1, 1, 1}));
  const auto flat = fit_line({1, 2, 3}, {0.1, 0.1, 0.1}, {1, 1, 7});
  ASSERT_TRUE(flat);
  EXPECT_FALSE(flat->r2);
  EXPECT_THROW(fit_line({1, 2}, {1}, {1, 1}), std::invalid_argument);
  EXPECT_THROW(fit_line({1, 2}, {1, 2}, {1, 0}), std::invalid_argument);
  EXPECT_THROW(fit_line({1, 2}, {1, NAN}, {1, 1}), std::invalid_argument);
}

TEST(RelativeHalfWidth, IsTheFactorsLogarithmHoweverWideTheIntervalIs) {
  const auto of = [](double median, double low, double high) {
    Summary summary;
    summary.median = median;
    summary.interval_low = low;
    summary.interval_high = high;
    return relative_half_width(summary);
  };
  EXPECT_FALSE(relative_half_width(Summary{}));
  EXPECT_NEAR(*of(2, 1.98, 2.02), 0.01, 1e-5);
  EXPECT_DOUBLE_EQ(*of(1, std::exp(-3), std::exp(3)), 3) << "and not sinh(3)";
  EXPECT_DOUBLE_EQ(*of(2, -1, 5), 1.5) << "of a file from before";
}

}  // namespace
}  // namespace roofmark
