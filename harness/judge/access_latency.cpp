// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/access_latency.hpp"

namespace roofmark {

std::optional<AccessLatency> access_latency(const Record& record) {
  if (record.status != Status::ok || record.work.phases.size() != 1 || record.work.phases.front().size() != 1) return {};
  const Demand& demand = record.work.phases.front().front();
  if (demand.resource.unit != Unit::access || !(demand.amount > 0)) return {};
  return AccessLatency{record.name(), record.measurement->summary.median / demand.amount,
                       record.measurement->slowest_clock_hz(), std::string(demand.resource.id)};
}

}  // namespace roofmark
