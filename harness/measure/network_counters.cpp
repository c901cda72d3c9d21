// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/network_counters.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace roofmark {
namespace {

std::optional<double> value_of(const PortReadings& readings, const std::string& port, const std::string& id) {
  const auto found = readings.find(port);
  if (found == readings.end()) return std::nullopt;
  const auto value = found->second.find(id);
  return value == found->second.end() ? std::nullopt : std::optional(value->second);
}

std::optional<CounterChange> change_of(const CounterType& type, int rank, const PortReadings& before,
                                       const PortReadings& after) {
  CounterChange change{std::string(type.id), rank, {}, {}};
  double sum_before = 0, sum_after = 0, worse = 0;
  bool any = false, unread = false;
  for (const auto& [port, reading] : before) {
    const auto first = value_of(before, port, change.id);
    if (!first || first == type.stops_at || value_of(before, port, "network_ports") != 1) continue;
    any = true;
    sum_before += *first;
    const auto last = value_of(after, port, change.id);
    unread |= !last;
    if (!last) continue;
    sum_after += *last;
    const double by = type.is_worse_lower() ? *first - *last : *last - *first;
    if (!(by > 0)) continue;
    worse += by;
    change.largest = std::max(change.largest.value_or(0), by);
    change.where += (change.where.empty() ? "" : ", ") + port;
  }
  if (!any) return std::nullopt;
  change.before = sum_before;
  if (worse > 0) {
    change.after = type.is_worse_lower() ? sum_before - worse : sum_before + worse;
  } else if (!unread) {
    change.after = sum_after;
  }
  return change;
}

}  // namespace

std::vector<CounterChange> network_changes(int rank, const PortReadings& before, const PortReadings& after) {
  std::vector<CounterChange> changes;
  for (const CounterType& type : kCounters) {
    if (type.of != CounterOf::host) continue;
    if (auto change = change_of(type, rank, before, after)) changes.push_back(*std::move(change));
  }
  return changes;
}

}  // namespace roofmark
