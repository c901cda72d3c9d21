// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/model/case.hpp"

namespace roofmark {

/// The number of copies of its operands that a case rotates through, and the method that keeps the caches cold.
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

/// Cold slots together exceed 4 times the device's last-level cache, and their host memory 4 times the host's, within
/// `limit_bytes` of device memory and Protocol::most_slots.
SlotPlan plan_slots(const Case& c, const LastLevelCaches& caches, std::size_t limit_bytes);

/// What one launch touches of a case's slot.
inline std::size_t touched_bytes(const Case& c) { return c.touched_bytes ? c.touched_bytes : c.slot_bytes; }

/// Device memory of a case with one slot.
inline std::size_t least_bytes(const Case& c) { return c.slot_bytes + c.shared_bytes; }

/// Shares of `limit_bytes` for cases that are in memory together: one slot for each, in their order; the rest in proportion to
/// the further slots that each wants. A case that does not fit gets less than one slot and does not reduce the others' shares.
std::vector<std::size_t> divide_memory(const std::vector<const Case*>& cases, const LastLevelCaches& caches,
                                       std::size_t limit_bytes);

}  // namespace roofmark
