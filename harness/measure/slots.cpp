// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/slots.hpp"

#include <algorithm>

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

}  // namespace roofmark
