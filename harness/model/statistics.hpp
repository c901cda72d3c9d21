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

/// Linear between the order statistics (type 7 of Hyndman and Fan 1996, NumPy's default): p in percent of the way from the
/// least value to the greatest. Throws std::invalid_argument for p outside 0..100.
double percentile(std::vector<double> values, double p);

/// The median distance from the median, times 1.4826: of normally distributed values it is their standard deviation, and up to
/// half of them may be anything without moving it far.
double scaled_median_absolute_deviation(const std::vector<double>& values);

/// Sample standard deviation (n - 1) / mean; absent for one value and where the mean is 0.
std::optional<double> coefficient_of_variation(const std::vector<double>& values);

/// Two-sided 95 % quantile of Student's t: of all draws 2.5 % are greater. Degrees of freedom from 1; within 2e-4.
double student_t_95(int degrees_of_freedom);

/// The statistics of all samples given. The interval is median +- t s / sqrt(B): s the standard deviation of the B blocks'
/// medians, t Student's with B - 1 degrees of freedom. Samples of one block share clock, temperature and neighbours, so their
/// own spread would promise an interval that the next block breaks; blocks stand apart in time. Absent with one block.
Summary summarize(const std::vector<Sample>& samples);

/// How many samples make the interval that summarize() gives about +- relative_half_width of the median wide, for that many
/// blocks: (t sqrt(pi / 2) sigma / (relative_half_width x median))^2, the large-sample error of a median being
/// sqrt(pi / 2) sigma / sqrt(n). sigma is 1.4826 x the median absolute deviation, since a few late samples in a short pilot
/// would swell the standard deviation a hundredfold and move the median not at all. Drift between blocks is not in a pilot:
/// the interval reached is the one in the Summary. Absent for fewer than two values; at least one sample a block.
std::optional<std::size_t> samples_needed(const std::vector<double>& pilot, double relative_half_width = 0.005, int blocks = 5);

/// The medians of two windows of samples differ by at most `tolerance` of the smaller; a window without samples agrees with
/// none.
bool windows_agree(const std::vector<double>& a, const std::vector<double>& b, double tolerance = 0.01);

/// y = intercept + slope x.
struct Line {
  double intercept = 0, slope = 0;
  std::optional<double>
      r2;  ///< 1 - weighted squared residuals / weighted squares about the weighted mean; absent where all y are equal
};

/// By weighted least squares; `least_intercept`, where it is given, bounds the intercept from below. Absent for fewer than two
/// different x. Throws std::invalid_argument for lists of different lengths and for a weight that is not above 0.
std::optional<Line> fit_line(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& weights,
                             std::optional<double> least_intercept = {});

/// How many times faster the numerator's case is: median seconds of the denominator / median seconds of the numerator, and a
/// 95 % interval of it; absent with fewer than two common blocks.
struct Ratio {
  double ratio = 0;
  std::optional<double> low, high;
};

/// The blocks of the two cases alternate, so block i of one is paired with block i of the other and slow drift cancels in
/// each pair's ratio. Student's t over the logarithms of the pairs' ratios: the interval of a/b is that of b/a turned over.
/// Throws std::invalid_argument for a time that is not above 0.
Ratio ratio_interval(const std::vector<Sample>& numerator, const std::vector<Sample>& denominator);

}  // namespace roofmark
