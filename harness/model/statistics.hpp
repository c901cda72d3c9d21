// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// Sample standard deviation (n - 1) / mean; absent for one value and where the mean is 0.
std::optional<double> coefficient_of_variation(const std::vector<double>& values);

/// Two-sided 95 % quantile of Student's t: 2.5 % of all draws exceed it. Degrees of freedom from 1; within 2e-4.
double student_t_95(int degrees_of_freedom);

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

/// How many times faster the numerator's case is, and a 95 % interval of it; absent with fewer than two common blocks.
struct Ratio {
  double ratio = 0;
  std::optional<double> low, high;
};

/// The blocks of the two cases alternate, so block i of one is paired with block i of the other: slow drift cancels in each
/// pair's ratio of medians (denominator / numerator). The ratio is the geometric mean of the pairs', the interval Student's t
/// over their logarithms, so that those of a/b are the inverse of those of b/a. Without two pairs, the ratio of the medians.
/// Throws std::invalid_argument for a time that is not positive.
Ratio ratio_interval(const std::vector<Sample>& numerator, const std::vector<Sample>& denominator);

}  // namespace roofmark
