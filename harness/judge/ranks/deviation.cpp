// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/deviation.hpp"

#include <fmt/format.h>

namespace roofmark {

std::optional<Deviation> deviates(double value, const std::vector<double>& all, double least_times) {
  if (all.size() < kLeastCompared) return std::nullopt;
  const double centre = median(all), spread = scaled_median_absolute_deviation(all);
  if (!(centre > 0) || !(value > least_times * centre)) return std::nullopt;
  if (spread == 0) return Deviation{value / centre, {}};
  const double mads = (value - centre) / spread;
  return mads > kDeviations ? std::optional(Deviation{value / centre, mads}) : std::nullopt;
}

std::optional<Deviation> stands_out(double value, const std::vector<double>& all, double least_times) {
  return deviates(value, all, all.size() < kMany ? std::max(least_times, kSlowOfFew) : least_times);
}

std::string words(const Deviation& deviation) {
  return deviation.mads ? fmt::format(", {:.0f} MADs above it", *deviation.mads) : std::string();
}

std::string brief(const std::string& who, const Outlier& seen) {
  return fmt::format("{} ({:.2f} times the median)", who, seen.worst.times);
}

}  // namespace roofmark
