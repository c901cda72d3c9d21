// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/traffic.hpp"

#include <algorithm>

namespace roofmark {

std::span<const CacheLevel> lasting_caches(const DeviceInfo& device) {
  const std::span<const CacheLevel> all = device.caches;
  return device.backend == Backend::cuda && !all.empty() ? all.last(1) : all;
}

double lasting_cache_bytes(const DeviceInfo& device) {
  double bytes = 0;
  for (const CacheLevel& level : lasting_caches(device)) bytes += static_cast<double>(level.total_bytes);
  return bytes;
}

Phase memory_demands(const DeviceInfo& device, double touched, double moved, Cache cache, double updated) {
  const double once = std::min(moved, touched + updated);
  const auto is_beyond = [&](double held) { return cache == Cache::cold || touched >= 4 * held; };
  const auto saved = [&](double held) { return held + std::min(held, updated); };
  const auto left = [&](double held) { return is_beyond(held) ? once : std::max(0.0, once - saved(held)); };

  Phase demands;
  const auto add = [&](const Resource& level, double amount, double avoidable = 0) {
    if (amount > 0) demands.push_back({level, amount, avoidable});
  };
  const std::span<const CacheLevel> caches = lasting_caches(device);
  double inside = 0;
  for (const CacheLevel& level : caches) {
    const double through = inside + static_cast<double>(level.total_bytes);
    const bool is_first = &level == &caches.front();
    if (is_first && (!is_beyond(through) || moved > once)) {
      add(find_resource(level.name), moved);
    } else if (!is_first && !is_beyond(through)) {
      add(find_resource(level.name), std::min(left(inside), saved(through) - saved(inside)));
    }
    inside = through;
  }
  double may_hold = inside;
  if (cache == Cache::cold && inside > 0) {
    const double part = inside / (4 * static_cast<double>(device.last_level_cache_bytes()));
    may_hold = std::min(inside, std::min(touched, moved) * part);
  }
  add(resource::dram, left(inside), is_beyond(inside) ? std::min(once, saved(may_hold)) : 0);
  return demands;
}

}  // namespace roofmark
