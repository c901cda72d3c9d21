// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/ranks/pairs.hpp"
#include "harness/judge/ranks/places.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// time = latency + bytes / rate over the sizes of one series, by fit_line_relative(). Needs two sizes.
struct LatencyFit {
  /// The records' name without its bytes. Pairs have one series per kind, "within a host" and "between hosts", of the median
  /// pair.
  std::string series;
  std::optional<double> latency_seconds;       ///< absent where the fitted line starts at 0, its lower bound
  std::optional<double> bytes_per_second;      ///< absent where the time does not grow with the size
  std::optional<double> bus_bytes_per_second;  ///< x bus factor; absent where that is 0: one rank
  std::optional<double> r2;                    ///< of the same weighted fit; absent for two sizes, or equal times
  int points = 0;                              ///< sizes
};

std::optional<LatencyFit> fit(std::string series, const std::map<std::size_t, double>& seconds, double bus_factor);
/// For one series.
std::optional<LatencyFit> fit(const std::string& name, const std::vector<const Record*>& series);

std::vector<LatencyFit> fits_of(const std::vector<Record>& records, const PairTimes& times, const Places& places);

}  // namespace roofmark
