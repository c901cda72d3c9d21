// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/statistics.hpp"

namespace roofmark {

/// How far a value is above the median of all.
struct Deviation {
  double times = 1;            ///< the median
  std::optional<double> mads;  ///< in scaled median absolute deviations; absent where that is 0
};

/// Fewer values have no median that says which of them is slow.
inline constexpr std::size_t kLeastCompared = 3;

/// With fewer values, the median absolute deviation is uncertain.
inline constexpr std::size_t kMany = 7;
/// Above how many times the median one of fewer stands out.
inline constexpr double kSlowOfFew = 1.25;

/// Above how many standard deviations, robustly estimated, one of many stands out.
inline constexpr double kDeviations = 5;

/// Set if `value` is above `least_times` the median and above kDeviations scaled median absolute deviations. With two values,
/// neither can be called slow.
std::optional<Deviation> deviates(double value, const std::vector<double>& all, double least_times);

/// A value that deviates() and, among fewer than kMany, is also above kSlowOfFew times the median.
std::optional<Deviation> stands_out(double value, const std::vector<double>& all, double least_times);

/// ", 12 MADs above it"; empty if the deviation is 0.
std::string words(const Deviation& deviation);

/// How often a subject stood out, and its worst case.
struct Outlier {
  int times = 0;
  Deviation worst{0, {}};
  std::string where;

  void add(const Deviation& deviation, const std::string& place) {
    ++times;
    if (deviation.times <= worst.times) return;
    worst = deviation;
    where = place;
  }
};

/// "node1 (1.52 times the median)"
std::string brief(const std::string& who, const Outlier& seen);

template <class Who, class Seen>
std::vector<std::pair<Who, Seen>> worst_first(const std::map<Who, Seen>& outliers) {
  std::vector<std::pair<Who, Seen>> all(outliers.begin(), outliers.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.worst.times > b.second.worst.times; });
  return all;
}

template <class Key>
std::vector<double> values_of(const std::map<Key, double>& map) {
  std::vector<double> values;
  for (const auto& [key, value] : map) values.push_back(value);
  return values;
}

/// Adds the values that stand out to `outliers`.
template <class Key>
void note_slow(const std::map<Key, double>& values, double least_times, const std::string& where,
               std::map<Key, Outlier>& outliers) {
  const std::vector<double> all = values_of(values);
  for (const auto& [key, value] : values) {
    if (const auto deviation = stands_out(value, all, least_times)) outliers[key].add(*deviation, where);
  }
}

/// Ratios to the median of all, over several sizes or cases.
template <class Key>
class Ratios {
 public:
  struct Slowest {
    Key who;
    std::size_t among = 0;
    double times_median = 1, times_fastest = 1;  ///< geometric means
    std::optional<double> mads;                  ///< absent for two, and where the deviation is 0
  };

  void add(const std::map<Key, double>& values) {
    if (values.size() < 2) return;
    const double centre = median(values_of(values));
    if (!(centre > 0)) return;
    for (const auto& [key, value] : values) {
      if (!(value > 0)) continue;
      Sum& sum = sums_[key];
      sum.logs += std::log(value / centre);
      ++sum.count;
    }
  }

  std::optional<Slowest> slowest() const {
    std::map<Key, double> means;
    for (const auto& [key, sum] : sums_) means[key] = std::exp(sum.logs / sum.count);
    if (means.size() < 2) return std::nullopt;
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [fastest, worst] = std::minmax_element(means.begin(), means.end(), less);
    const std::vector<double> all = values_of(means);
    const double centre = median(all), spread = scaled_median_absolute_deviation(all);
    Slowest made{worst->first, means.size(), worst->second / centre, worst->second / fastest->second, {}};
    if (spread > 0 && all.size() > 2) made.mads = (worst->second - centre) / spread;
    return made;
  }

 private:
  struct Sum {
    double logs = 0;
    int count = 0;
  };
  std::map<Key, Sum> sums_;
};

}  // namespace roofmark
