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

/// Time per access while the other SMs load the same or another resource.
struct LoadedLatencies {
  CaseName series;  ///< the records' name without the key `background`
  Resource background;
  std::vector<LoadedLatency> points;  ///< by background
};

/// For all series of ok records that demand only accesses, have a background, and whose names differ only in the key
/// `background`.
std::vector<LoadedLatencies> loaded_latencies(const std::vector<Record>& records, const Roofline& roofline);

}  // namespace roofmark
