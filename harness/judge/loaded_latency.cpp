// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/loaded_latency.hpp"

#include <algorithm>

namespace roofmark {

namespace {

std::optional<double> share_of_ceiling(const Background& background, const Roofline& roofline) {
  const Ceiling* const ceiling = roofline.find(background.resource);
  if (!ceiling) return {};
  const std::optional<double> rate = ceiling->empirical() ? ceiling->empirical() : ceiling->theoretical;
  return rate ? std::optional(background.per_second / *rate) : std::nullopt;
}

}  // namespace

std::vector<LoadedLatencies> loaded_latencies(const std::vector<Record>& records, const Roofline& roofline) {
  std::vector<LoadedLatencies> all;
  for (const Record& record : records) {
    const std::optional<AccessLatency> latency = access_latency(record);
    if (!latency || !record.measurement->background) continue;
    const Background& background = *record.measurement->background;
    const CaseName series = name_without(record, {"background"});
    auto place = std::find_if(all.begin(), all.end(), [&](const LoadedLatencies& other) {
      return other.series == series && other.background == background.resource;
    });
    if (place == all.end()) place = all.insert(all.end(), {series, background.resource, {}});
    place->points.push_back({*latency, background.per_second, share_of_ceiling(background, roofline)});
  }
  for (LoadedLatencies& made : all) {
    std::stable_sort(made.points.begin(), made.points.end(), [](const LoadedLatency& a, const LoadedLatency& b) {
      return a.background_per_second < b.background_per_second;
    });
  }
  return all;
}

}  // namespace roofmark
