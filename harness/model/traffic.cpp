// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/traffic.hpp"

#include <algorithm>

namespace roofmark {

const CacheLevel* resident_level(const DeviceInfo& device, double touched) {
  const auto fits = [&](const CacheLevel& level) { return touched <= 0.5 * static_cast<double>(level.total_bytes); };
  const auto first =
      device.backend == Backend::cuda && !device.caches.empty() ? device.caches.end() - 1 : device.caches.begin();
  const auto level = std::find_if(first, device.caches.end(), fits);
  return level == device.caches.end() ? nullptr : &*level;
}

Phase memory_demands(const DeviceInfo& device, double touched, double moved, Cache cache) {
  const auto last_level = static_cast<double>(device.last_level_cache_bytes());
  if (cache == Cache::cold) return {{resource::dram, moved, std::min(moved * 0.25, last_level)}};
  if (const CacheLevel* level = resident_level(device, touched)) return {{find_resource(level->name), moved}};
  if (touched >= 4 * last_level) return {{resource::dram, moved, std::min(moved, last_level)}};
  Phase demands = {{find_resource(device.caches.back().name), moved}};
  if (moved > last_level) demands.push_back({resource::dram, moved - last_level});
  return demands;
}

}  // namespace roofmark
