// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/model/case.hpp"

namespace roofmark {

/// How many copies of its operands a case rotates through, and how that keeps the caches cold.
struct SlotPlan {
  int slots = 1;
  std::string cache_by;  ///< as Measurement::cache_by
};

/// Bytes of the last-level caches of a device and of its host; 0 if unknown.
struct LastLevelCaches {
  std::size_t device = 0, host = 0;
};
inline LastLevelCaches last_level_caches(const DeviceInfo& device) {
  return {device.last_level_cache_bytes(), device.host_cache_bytes};
}

/// Cold slots together exceed 4 times the last-level cache of the device, and what they have of the host's memory that of the
/// host, as far as `limit_bytes` of device memory and Protocol::most_slots allow.
SlotPlan plan_slots(const Case& c, const LastLevelCaches& caches, std::size_t limit_bytes);

/// What one launch touches of a case's slot.
inline std::size_t touched_bytes(const Case& c) { return c.touched_bytes ? c.touched_bytes : c.slot_bytes; }

/// Device memory that a case takes with one slot.
inline std::size_t least_bytes(const Case& c) { return c.slot_bytes + c.shared_bytes; }

/// Shares of `limit_bytes` for cases that are in memory together, by what each needs: one slot for each, in their order, and
/// for more slots the same part of what each wants. A case that does not fit gets less than one slot, at no other's expense.
std::vector<std::size_t> divide_memory(const std::vector<const Case*>& cases, const LastLevelCaches& caches,
                                       std::size_t limit_bytes);

}  // namespace roofmark
