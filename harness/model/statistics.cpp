// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

namespace roofmark {
namespace {

void require_finite(const std::vector<double>& values) {
  if (values.empty()) throw std::invalid_argument("a statistic of no values");
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) {
    throw std::invalid_argument("a statistic of a value that is not finite");
  }
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// With n - 1 in the denominator; needs two values.
double standard_deviation(const std::vector<double>& values) {
  const double centre = mean(values);
  double sum = 0;
  for (double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

/// The share of Student's t beyond +- `t` (Abramowitz and Stegun 26.7.3 and 26.7.4).
double share_beyond(double t, int degrees_of_freedom) {
  const double angle = std::atan(t / std::sqrt(degrees_of_freedom));
  const bool odd = degrees_of_freedom % 2 == 1;
  double term = odd ? std::sin(angle) * std::cos(angle) : std::sin(angle), sum = 0;
  for (int k = odd ? 3 : 2; k <= degrees_of_freedom; k += 2) {
    sum += term;
    term *= std::cos(angle) * std::cos(angle) * (k - 1) / k;
  }
  return 1 - (odd ? 2 / std::numbers::pi * (angle + sum) : sum);
}

/// student_t() of a whole number.
double student_t_of(int degrees_of_freedom, double outside) {
  double low = 0, high = 2;
  while (share_beyond(high, degrees_of_freedom) > outside) high *= 2;
  constexpr int kBits = 50;
  for (int bit = 0; bit < kBits; ++bit) {
    const double middle = (low + high) / 2;
    (share_beyond(middle, degrees_of_freedom) > outside ? low : high) = middle;
  }
  return high;
}

std::vector<double> seconds_of(const std::vector<Sample>& samples) {
  std::vector<double> seconds;
  seconds.reserve(samples.size());
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  return seconds;
}

/// The k-th lowest and the k-th highest value. k is the largest number, 1 at least, with which the probability that fewer than
/// k of all values lie below the median that they scatter about is 1 in 16 at most, whatever their distribution.
std::pair<double, double> around_median(std::vector<double> values) {
  constexpr double kMost = 1.0 / 16;
  const std::size_t n = values.size();
  // Probabilities of k - 1 values, as a logarithm, and of up to k - 1.
  double exactly = -static_cast<double>(n) * std::log(2), up_to = std::exp(exactly);
  std::size_t k = 1;
  for (;; ++k) {
    exactly += std::log(static_cast<double>(n - k + 1) / static_cast<double>(k));
    up_to += std::exp(exactly);
    if (up_to > kMost) break;
  }
  std::sort(values.begin(), values.end());
  return {values[k - 1], values[n - k]};
}

std::map<int, double> block_medians(const std::vector<Sample>& samples) {
  std::map<int, std::vector<double>> blocks;
  for (const Sample& sample : samples) blocks[sample.block].push_back(sample.seconds);
  std::map<int, double> medians;
  for (auto& [block, seconds] : blocks) medians[block] = median(std::move(seconds));
  return medians;
}

}  // namespace

double median(std::vector<double> values) { return percentile(std::move(values), 50); }

double percentile(std::vector<double> values, double p) {
  require_finite(values);
  if (!(p >= 0 && p <= 100)) throw std::invalid_argument("a percentile outside 0..100");
  std::sort(values.begin(), values.end());
  const double position = p / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

double scaled_median_absolute_deviation(const std::vector<double>& values) {
  constexpr double normal_sigma_of_mad = 1.4826;
  const double centre = median(values);
  std::vector<double> deviations;
  for (double value : values) deviations.push_back(std::abs(value - centre));
  return normal_sigma_of_mad * median(std::move(deviations));
}

std::optional<double> coefficient_of_variation(const std::vector<double>& values) {
  require_finite(values);
  const double centre = mean(values);
  if (values.size() < 2 || centre == 0) return std::nullopt;
  return standard_deviation(values) / std::abs(centre);
}

double densest_deviation(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t third = values.size() / 3;
  double width = values.empty() ? 0 : values.back() - values.front();
  for (std::size_t i = 0; i + third < values.size(); ++i) width = std::min(width, values[i + third] - values[i]);
  constexpr double kWidthOfThird = 0.861455;  // in standard deviations
  return width / kWidthOfThird;
}

double student_t(double degrees_of_freedom, double outside) {
  if (!(degrees_of_freedom >= 1)) throw std::invalid_argument("Student's t needs at least one degree of freedom");
  const double below = std::floor(degrees_of_freedom), above = std::ceil(degrees_of_freedom);
  const double low = student_t_of(static_cast<int>(below), outside);
  if (below == above) return low;
  const double share = (1 / below - 1 / degrees_of_freedom) / (1 / below - 1 / above);
  return low * std::pow(student_t_of(static_cast<int>(above), outside) / low, share);
}

double half_interval(const std::vector<double>& values) {
  const auto count = values.size();
  return student_t(static_cast<double>(count) - 1) * standard_deviation(values) / std::sqrt(static_cast<double>(count));
}

double half_step(const std::vector<Sample>& samples) {
  std::vector<double> seconds = seconds_of(samples);
  constexpr double kRounding = 1e-9;
  std::sort(seconds.begin(), seconds.end());
  const double centre = median(seconds);
  bool equal = false;
  double step = 0;
  for (std::size_t i = 1; i < seconds.size(); ++i) {
    const double difference = seconds[i] - seconds[i - 1];
    if (difference <= kRounding * centre) {
      equal = true;
    } else if (step == 0 || difference < step) {
      step = difference;
    }
  }
  return equal && centre > 0 ? step / 2 / centre : 0;
}

Summary summarize(const std::vector<Sample>& samples) {
  const std::vector<double> seconds = seconds_of(samples);
  Summary summary;
  summary.median = median(seconds);
  summary.minimum = *std::min_element(seconds.begin(), seconds.end());
  summary.maximum = *std::max_element(seconds.begin(), seconds.end());
  if (seconds.size() >= 20) {
    summary.p5 = percentile(seconds, 5);
    summary.p95 = percentile(seconds, 95);
  }
  if (seconds.size() >= 100) summary.p99 = percentile(seconds, 99);
  summary.cv = coefficient_of_variation(seconds);

  std::vector<double> logs;
  for (const auto& [block, value] : block_medians(samples)) logs.push_back(std::log(value));
  // Not where the clock stood still during a block.
  if (logs.size() >= 2 && std::all_of(logs.begin(), logs.end(), [](double log) { return std::isfinite(log); })) {
    const double factor = std::exp(std::max(half_interval(logs), half_step(samples)));
    const auto [low, high] = around_median(logs);
    summary.interval_low = std::min(summary.median / factor, std::exp(low));
    summary.interval_high = std::max(summary.median * factor, std::exp(high));
  }
  return summary;
}

std::optional<double> relative_half_width(const Summary& summary) {
  const auto& low = summary.interval_low;
  const auto& high = summary.interval_high;
  if (!low || !high) return std::nullopt;
  return *low > 0 ? std::log(*high / *low) / 2 : (*high - *low) / 2 / summary.median;
}

int count_blocks(const std::vector<Sample>& samples) {
  std::set<int> blocks;
  for (const Sample& sample : samples) blocks.insert(sample.block);
  return static_cast<int>(blocks.size());
}

double apart_by_chance(const Scatter& one, const Scatter& other, double chances) {
  double variance = 0, over_degrees = 0;
  for (const Scatter* scatter : {&one, &other}) {
    const int degrees = std::max(1, scatter->blocks - 1);
    const double square = std::pow(scatter->half_width / student_t(degrees), 2);
    variance += square;
    over_degrees += square * square / degrees;
  }
  if (variance == 0) return 0;
  const double t = student_t(variance * variance / over_degrees, 0.05 / chances);
  return std::max(t * std::sqrt(variance), std::hypot(one.half_width, other.half_width));
}

std::optional<std::size_t> samples_needed(const std::vector<double>& pilot, double relative_half_width, int blocks) {
  if (!(relative_half_width > 0)) throw std::invalid_argument("an interval needs a width above 0");
  if (blocks < 1) throw std::invalid_argument("at least one block");
  const double centre = median(pilot);
  if (pilot.size() < 2 || centre == 0) return std::nullopt;
  constexpr double below = 15.866, above = 84.134;  // percent of normal values up to one sigma below, and above
  constexpr std::size_t least = 8;                  // of fewer, the extremes are part of these quantiles
  const double spread = pilot.size() < least ? 0 : (percentile(pilot, above) - percentile(pilot, below)) / 2;
  const double sigma = std::max(scaled_median_absolute_deviation(pilot), spread);
  // A single block gives no interval; plan for the normal one.
  const double quantile = blocks > 1 ? student_t(blocks - 1) : 1.959964;
  const double root = quantile * std::sqrt(std::numbers::pi / 2) * sigma / (relative_half_width * std::abs(centre));
  // Far above any time budget; keeps the conversion defined for a pilot of wild spread.
  constexpr double most = 1e12;
  return std::max(static_cast<std::size_t>(std::ceil(std::min(root * root, most))), static_cast<std::size_t>(blocks));
}

bool windows_agree(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  if (a.empty() || b.empty()) return false;
  const double first = median(a), second = median(b);
  return std::abs(first - second) <= tolerance * std::min(std::abs(first), std::abs(second));
}

std::optional<Line> fit_line(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& weights,
                             std::optional<double> min_intercept) {
  if (x.size() != y.size() || x.size() != weights.size())
    throw std::invalid_argument("a line needs as many x as y and weights");
  if (!std::all_of(weights.begin(), weights.end(), [](double weight) { return weight > 0; })) {
    throw std::invalid_argument("a weight that is not above 0");
  }
  if (x.empty()) return std::nullopt;
  for (const auto* values : {&x, &y, &weights}) require_finite(*values);
  const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double mean_x = std::inner_product(x.begin(), x.end(), weights.begin(), 0.0) / weight;
  const double mean_y = std::inner_product(y.begin(), y.end(), weights.begin(), 0.0) / weight;
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += weights[i] * (x[i] - mean_x) * (x[i] - mean_x);
    xy += weights[i] * (x[i] - mean_x) * (y[i] - mean_y);
    yy += weights[i] * (y[i] - mean_y) * (y[i] - mean_y);
  }
  const auto all_equal = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
  };
  if (all_equal(x)) return std::nullopt;
  Line line;
  line.slope = xy / xx;
  line.intercept = mean_y - line.slope * mean_x;
  // The best of the lines that begin no lower begins there.
  if (min_intercept && line.intercept < *min_intercept) {
    line.intercept = *min_intercept;
    double xx_origin = 0, xy_origin = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      xx_origin += weights[i] * x[i] * x[i];
      xy_origin += weights[i] * x[i] * (y[i] - line.intercept);
    }
    line.slope = xy_origin / xx_origin;
  }
  double residuals = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double residual = y[i] - line.intercept - line.slope * x[i];
    residuals += weights[i] * residual * residual;
  }
  if (!all_equal(y)) line.r2 = 1 - residuals / yy;
  return line;
}

std::optional<Line> fit_line_relative(const std::vector<double>& x, const std::vector<double>& y,
                                      std::optional<double> min_intercept) {
  constexpr int kRounds = 20;
  std::vector<double> fitted = y;
  std::optional<Line> line;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> weights;
    for (const double value : fitted) weights.push_back(1 / (value * value));
    line = fit_line(x, y, weights, min_intercept);
    if (!line) return std::nullopt;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double value = line->intercept + line->slope * x[i];
      fitted[i] = value > 0 ? value : y[i];
    }
  }
  return line;
}

std::vector<double> by_block(const std::vector<const std::vector<Sample>*>& cases,
                             const std::function<double(const std::vector<double>&)>& value) {
  std::map<int, std::vector<double>> blocks;
  for (const auto* samples : cases) {
    for (const Sample& sample : *samples) {
      if (!(sample.seconds > 0)) throw std::invalid_argument("a ratio of a time that is not above 0");
    }
    for (const auto& [block, seconds] : block_medians(*samples)) blocks[block].push_back(seconds);
  }
  std::vector<double> values;
  for (const auto& [block, medians] : blocks) {
    if (medians.size() == cases.size()) values.push_back(value(medians));
  }
  return values;
}

Ratio ratio_interval(const std::vector<Sample>& numerator, const std::vector<Sample>& denominator) {
  Ratio result;
  result.ratio = median(seconds_of(denominator)) / median(seconds_of(numerator));
  const std::vector<double> logs =
      by_block({&numerator, &denominator}, [](const auto& seconds) { return std::log(seconds[1] / seconds[0]); });
  if (logs.size() >= 2) {
    const double factor = std::exp(std::max(half_interval(logs), half_step(numerator) + half_step(denominator)));
    result.ratio = std::exp(mean(logs));
    result.low = result.ratio / factor;
    result.high = result.ratio * factor;
  }
  return result;
}

}  // namespace roofmark
