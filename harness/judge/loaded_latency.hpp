// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/access_latency.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

struct LoadedLatency : AccessLatency {
  double background_per_second = 0;        ///< in units of the background's resource
  std::optional<double> share_of_ceiling;  ///< of that resource's empirical ceiling or, without one, of the theoretical one
};

/// What an access takes while the rest of the device uses another resource, or the same one.
struct LoadedLatencies {
  std::string series;  ///< the records' name without the key `background`
  Resource background;
  std::vector<LoadedLatency> points;  ///< by background
};

/// Of all series of ok records that demand nothing but accesses and have a background, and whose names differ in the key
/// `background` alone.
std::vector<LoadedLatencies> loaded_latencies(const std::vector<Record>& records, const Roofline& roofline);

}  // namespace roofmark
