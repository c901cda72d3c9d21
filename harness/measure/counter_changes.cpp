// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/counter_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace roofmark {
namespace {

std::optional<double> value_of(const CounterReadings& readings, const std::string& part, std::string_view id) {
  const auto found = readings.find(part);
  if (found == readings.end()) return std::nullopt;
  const auto value = found->second.find(std::string(id));
  return value == found->second.end() ? std::nullopt : std::optional(value->second);
}

CounterChange change_of(const CounterType& type, int rank, const CounterReadings& before, const CounterReadings& after) {
  struct Worse {
    double by;
    std::string part;
  };
  CounterChange change{std::string(type.id), rank, {}, {}};
  double sum_after = 0, worse = 0;
  std::vector<Worse> parts;
  std::vector<std::string> unhealthy;
  bool unread = false;
  for (const auto& [part, reading] : before) {
    const auto first = value_of(before, part, type.id);
    if (!first || first == type.stops_at) continue;
    change.before = change.before.value_or(0) + *first;
    const auto last = value_of(after, part, type.id);
    if (!part.empty() && (type.is_unhealthy(*first) || (last && type.is_unhealthy(*last)))) unhealthy.push_back(part);
    unread |= !last;
    if (!last) continue;
    sum_after += *last;
    const double by = type.is_worse_lower() ? *first - *last : *last - *first;
    if (!(by > 0)) continue;
    worse += by;
    if (!part.empty()) parts.push_back({by, part});
  }
  if (!change.before) return change;
  if (worse > 0) {
    change.after = type.is_worse_lower() ? *change.before - worse : *change.before + worse;
  } else if (!unread) {
    change.after = sum_after;
  }
  // "link 9" before "link 10".
  std::sort(parts.begin(), parts.end(), [](const Worse& a, const Worse& b) {
    return std::tuple(-a.by, a.part.size(), a.part) < std::tuple(-b.by, b.part.size(), b.part);
  });
  if (!parts.empty()) change.largest = parts.front().by;
  std::vector<std::string> named;
  for (const Worse& one : parts) named.push_back(one.part);
  change.where = fmt::format("{}", fmt::join(parts.empty() ? unhealthy : named, ", "));
  return change;
}

}  // namespace

std::vector<CounterChange> device_changes(int rank, const CounterReadings& before, const CounterReadings& after) {
  std::vector<CounterChange> changes;
  for (const CounterType& type : kCounters) {
    if (type.of != CounterOf::device) continue;
    CounterChange change = change_of(type, rank, before, after);
    if (!change.before) change.after = change_of(type, rank, after, {}).before;
    const auto of_last_event = [&](std::string_view id) {
      const auto known = value_of(after, "", id);
      return known ? known : value_of(before, "", id);
    };
    change.number = of_last_event(type.number_id);
    change.age_seconds = of_last_event(type.age_id);
    if (change.before || change.after) changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<CounterChange> host_changes(int rank, const CounterReadings& before, const CounterReadings& after) {
  CounterReadings counted = before;
  std::erase_if(counted, [&](const auto& part) { return value_of(before, part.first, "network_ports") == 0; });
  std::vector<CounterChange> changes;
  for (const CounterType& type : kCounters) {
    if (type.of != CounterOf::host) continue;
    CounterChange change = change_of(type, rank, counted, after);
    if (change.before) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace roofmark
