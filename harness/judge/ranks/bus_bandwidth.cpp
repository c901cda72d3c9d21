// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/bus_bandwidth.hpp"

#include <cmath>

namespace roofmark {

std::optional<BusBandwidth> bus_bandwidth(const Record& record) {
  if (record.status != Status::ok || !record.message || !record.measurement) return std::nullopt;
  BusBandwidth made;
  made.seconds = record.measurement->summary.median / record.message->trips;
  if (!(made.seconds > 0) || !std::isfinite(made.seconds)) return std::nullopt;
  if (record.message->ranks < 2) return made;
  made.algbw = static_cast<double>(record.message->bytes) / made.seconds;
  made.busbw = *made.algbw * record.message->bus_factor;
  return made;
}

std::optional<double> switched_share(const Record& record) {
  if (!record.message || !record.placement) return std::nullopt;
  const Placement& placement = *record.placement;
  const std::optional<double> share = placement.of_empirical ? placement.of_empirical : placement.of_theoretical;
  double amount = 0, avoidable = 0;
  for (const Phase& phase : record.work.phases) {
    for (const Demand& demand : phase) {
      if (demand.resource.id != placement.bound_by) continue;
      amount += demand.amount;
      avoidable += demand.avoidable;
    }
  }
  if (!share || !(avoidable > 0)) return std::nullopt;
  return *share * (amount - avoidable) / amount;
}

}  // namespace roofmark
