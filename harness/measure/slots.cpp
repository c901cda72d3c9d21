// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/slots.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace roofmark {

namespace {

/// The slots of `touched` bytes that together exceed 4 times the cache.
std::size_t slots_beyond(std::size_t cache_bytes, std::size_t touched) {
  return touched >= 4 * cache_bytes ? 1 : 4 * cache_bytes / touched + 1;
}

}  // namespace

SlotPlan plan_slots(const Case& c, const LastLevelCaches& caches, std::size_t limit_bytes) {
  if (c.protocol.cache == Cache::warm) return {1, "warm"};
  const std::size_t touched = std::max<std::size_t>(touched_bytes(c), 1);
  std::size_t wanted = slots_beyond(caches.device, touched);
  if (c.host_slot_bytes) wanted = std::max(wanted, slots_beyond(caches.host, c.host_slot_bytes));
  if (wanted == 1) return {1, "size"};
  const std::size_t room = limit_bytes > c.shared_bytes ? limit_bytes - c.shared_bytes : 0;
  const std::size_t fitting = c.slot_bytes ? room / c.slot_bytes : wanted;
  const auto most = static_cast<std::size_t>(c.protocol.most_slots);
  const std::size_t slots = std::max<std::size_t>(1, std::min({wanted, most, fitting}));
  return {static_cast<int>(slots), slots == wanted ? "slots" : "partly"};
}

std::vector<std::size_t> divide_memory(const std::vector<const Case*>& cases, const LastLevelCaches& caches,
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
    const SlotPlan wanted = plan_slots(*c, caches, std::numeric_limits<std::size_t>::max());
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
