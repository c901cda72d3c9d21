// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/slots.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace roofmark {

namespace {
constexpr std::size_t kMaxSlots = 4096;
}

SlotPlan plan_slots(const Case& c, std::size_t last_level_cache_bytes, std::size_t limit_bytes) {
  if (c.protocol.cache == Cache::warm) return {1, "warm"};
  const std::size_t touched = std::max<std::size_t>(c.touched_bytes ? c.touched_bytes : c.slot_bytes, 1);
  const std::size_t cold = 4 * last_level_cache_bytes;
  if (touched >= cold) return {1, "size"};
  const std::size_t wanted = std::min(cold / touched + 1, kMaxSlots);
  const std::size_t room = limit_bytes > c.shared_bytes ? limit_bytes - c.shared_bytes : 0;
  const std::size_t fitting = c.slot_bytes ? room / c.slot_bytes : wanted;
  const std::size_t slots = std::max<std::size_t>(1, std::min(wanted, fitting));
  return {static_cast<int>(slots), slots * touched > cold ? "slots" : "partly"};
}

std::vector<std::size_t> divide_memory(const std::vector<const Case*>& cases, std::size_t last_level_cache_bytes,
                                       std::size_t limit_bytes) {
  std::size_t left = limit_bytes;
  std::vector<std::size_t> shares, extras;  // an extra is what further slots take
  for (const Case* c : cases) {
    const std::size_t least = least_bytes(*c);
    if (least > left) {
      shares.push_back(left);
      extras.push_back(0);
      continue;
    }
    const SlotPlan wanted = plan_slots(*c, last_level_cache_bytes, std::numeric_limits<std::size_t>::max());
    shares.push_back(least);
    extras.push_back(static_cast<std::size_t>(wanted.slots - 1) * c->slot_bytes);
    left -= least;
  }
  const std::size_t total = std::accumulate(extras.begin(), extras.end(), std::size_t{0});
  const double part = total > left ? static_cast<double>(left) / static_cast<double>(total) : 1;
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] += static_cast<std::size_t>(part * static_cast<double>(extras[i]));
  return shares;
}

}  // namespace roofmark
