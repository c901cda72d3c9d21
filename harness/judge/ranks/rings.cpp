// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/rings.hpp"

#include <optional>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/judge/ranks/series.hpp"

namespace roofmark {

std::vector<RingPrediction> rings_of(const std::vector<Record>& records, const Roofline& roofline) {
  std::vector<RingPrediction> rings;
  for (const Record& record : records) {
    if (!is_collective(record) || record.message->ring.phases.empty()) continue;
    const double seconds = bus_bandwidth(record)->seconds;
    const Placement placement = place(record.message->ring, roofline, seconds, {}, {});
    if (!placement.t_min_seconds) continue;
    rings.push_back({record.name(), *placement.t_min_seconds, *placement.of_empirical});
  }
  return rings;
}

}  // namespace roofmark
