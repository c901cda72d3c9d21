// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/sm_latency.hpp"

#include <algorithm>

#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

SmLevel level_of(std::vector<SmLatency>::const_iterator first, std::vector<SmLatency>::const_iterator last) {
  SmLevel level;
  std::vector<double> seconds, cycles;
  for (auto point = first; point != last; ++point) {
    level.sms.push_back(point->sm);
    seconds.push_back(point->seconds);
    if (point->clock_hz) cycles.push_back(*point->cycles());
  }
  std::sort(level.sms.begin(), level.sms.end());
  level.seconds = median(std::move(seconds));
  if (!cycles.empty()) level.cycles = median(std::move(cycles));
  return level;
}

}  // namespace

std::vector<SmLatencies> sm_latencies(const std::vector<Record>& records) {
  std::vector<SmLatencies> all;
  for (const Record& record : records) {
    const std::optional<AccessLatency> latency = access_latency(record);
    const std::string sm = value_of(record.shape, kSmKey);
    if (!latency || sm.empty()) continue;
    const CaseName series = name_without(record, {kSmKey});
    auto place = std::find_if(all.begin(), all.end(), [&](const SmLatencies& other) { return other.series == series; });
    if (place == all.end()) place = all.insert(all.end(), {series, {}, {}});
    place->points.push_back({*latency, std::stoi(sm)});
  }
  for (SmLatencies& made : all) {
    std::stable_sort(made.points.begin(), made.points.end(),
                     [](const SmLatency& a, const SmLatency& b) { return a.seconds < b.seconds; });
    const auto is_step = [](const SmLatency& a, const SmLatency& b) { return b.seconds >= kSmStep * a.seconds; };
    for (auto first = made.points.cbegin(); first != made.points.cend();) {
      auto last = std::adjacent_find(first, made.points.cend(), is_step);
      if (last != made.points.cend()) ++last;
      made.levels.push_back(level_of(first, last));
      first = last;
    }
  }
  return all;
}

}  // namespace roofmark
