// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "harness/model/measurement.hpp"

namespace roofmark {

// All throw std::invalid_argument for no values at all and for a value that is not finite.

/// The middle value, or the mean of the two middle ones.
double median(std::vector<double> values);

/// Linear between the order statistics (type 7 of Hyndman and Fan 1996, NumPy's default): p in percent, 0 for the minimum and
/// 100 for the maximum. Throws std::invalid_argument for p outside 0..100.
double percentile(std::vector<double> values, double p);

/// The median distance from the median, times 1.4826: the standard deviation of normally distributed values, and robust against
/// outliers up to half of them.
double scaled_median_absolute_deviation(const std::vector<double>& values);

/// The standard deviation of normally distributed values by the width of the shortest interval that holds more than a third of
/// them: values elsewhere, up to half of all, change it little.
double densest_deviation(std::vector<double> values);

/// Sample standard deviation (n - 1) / mean; absent for one value and where the mean is 0.
std::optional<double> coefficient_of_variation(const std::vector<double>& values);

/// Two-sided quantile of Student's t: the share `outside` of all draws is further from 0. Degrees of freedom from 1; between
/// two whole numbers, its logarithm is linear in their reciprocals.
double student_t(double degrees_of_freedom, double outside = 0.05);

/// The statistics of all samples given. The interval is the median times and over exp(t s / sqrt(B)), with s the standard
/// deviation of the logarithms of the B blocks' medians and t Student's quantile with B - 1 degrees of freedom: a time stays
/// above 0, and the interval of a rate is the inverse of the time's. It reaches at least the k-th lowest and highest of the
/// blocks' medians (k = 1 for five blocks), which hold the median however the blocks are distributed, and half a step of the
/// clock. Samples of one block share clock, temperature and neighbours: their own spread would promise an interval that the
/// next block breaks. Absent with one block, and where a block's median is not above 0.
Summary summarize(const std::vector<Sample>& samples);

/// Half the width of a summary's interval on the scale of logarithms: 0.05 for +- 5 %. Absent where there is no interval. Older
/// files have intervals whose lower end is 0 or below: of those, half the width over the median.
std::optional<double> relative_half_width(const Summary& summary);

/// The blocks that the samples are of.
int count_blocks(const std::vector<Sample>& samples);

/// A 95 % interval of a median.
struct Scatter {
  double half_width = 0;  ///< as relative_half_width()
  int blocks = 0;
};

/// How far two medians of the same are apart by chance, on the scale of logarithms: where `chances` such pairs are compared,
/// any exceeds it in 5 % of runs at most, by Welch's test and Bonferroni. A pair that counts in one direction is half a chance.
/// At least what the two 95 % intervals explain, the root of the sum of the squares of their halves.
double apart_by_chance(const Scatter& one, const Scatter& other, double chances);

/// The number of samples for which summarize() gives an interval of about +- relative_half_width of the median:
/// (t sqrt(pi / 2) sigma / (relative_half_width x median))^2, since the large-sample error of a median is
/// sqrt(pi / 2) sigma / sqrt(n). sigma is the scaled median absolute deviation, or half of the distance from the 15.9 % to the
/// 84.1 % quantile where that is greater: the same of normal samples, but of two kinds of launches the first sees the more
/// frequent kind alone (from 8 values on: of fewer, the extremes are part of the quantiles). A few late samples in a short
/// pilot inflate the standard deviation a hundredfold, and neither these nor the median. A pilot does not see the drift between
/// blocks; the Summary has the interval that was reached. Absent for fewer than two values; at least one sample per block.
std::optional<std::size_t> samples_needed(const std::vector<double>& pilot, double relative_half_width = 0.005, int blocks = 5);

/// The medians of two windows of samples differ by at most `tolerance` of the smaller; a window without samples agrees with
/// none.
bool windows_agree(const std::vector<double>& a, const std::vector<double>& b, double tolerance = 0.01);

/// y = intercept + slope x.
struct Line {
  double intercept = 0, slope = 0;
  /// 1 - weighted squared residuals / weighted squares about the weighted mean; absent where all y are equal.
  std::optional<double> r2;
};

/// Points whose fit has a smaller r2 are not called a line.
inline constexpr double kLeastR2 = 0.99;

/// By weighted least squares; `min_intercept`, where given, bounds the intercept from below. Absent for fewer than two
/// different x. Throws std::invalid_argument for lists of different lengths and for a weight that is not positive.
std::optional<Line> fit_line(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& weights,
                             std::optional<double> min_intercept = {});

/// fit_line() on relative errors, so that a small y counts as much as a large one: weights 1 / fitted y^2, found by iterating
/// (with 1 / measured y^2, a point that was small by chance would count most). Each y is above 0.
std::optional<Line> fit_line_relative(const std::vector<double>& x, const std::vector<double>& y,
                                      std::optional<double> min_intercept = {});

/// For each block that all these cases have, `value` of the medians in seconds, in the order of the cases. The blocks of the
/// cases of a group alternate, so block i of one was measured beside block i of the others, and slow drift affects all of them.
/// Throws std::invalid_argument for a time that is not positive.
std::vector<double> by_block(const std::vector<const std::vector<Sample>*>& cases,
                             const std::function<double(const std::vector<double>&)>& value);

/// Half the 95 % interval of the mean of at least two values, by Student's t.
double half_interval(const std::vector<double>& values);

/// Half the step of the clock over the median: that median is no better known. The step is at most the smallest difference
/// between two samples; 0 where no two are equal, as by a clock whose step is small beside the scatter.
double half_step(const std::vector<Sample>& samples);

/// How many times faster the numerator's case is, and a 95 % interval of it; absent with fewer than two common blocks.
struct Ratio {
  double ratio = 0;
  std::optional<double> low, high;
};

/// Of the pairs of blocks (by_block()): slow drift cancels in each pair's ratio of medians (denominator / numerator). The ratio
/// is the geometric mean of the pairs', the interval Student's t over their logarithms, so that those of a/b are the inverse of
/// those of b/a. Without two pairs, the ratio of the medians. Throws std::invalid_argument for a time that is not positive.
Ratio ratio_interval(const std::vector<Sample>& numerator, const std::vector<Sample>& denominator);

}  // namespace roofmark
