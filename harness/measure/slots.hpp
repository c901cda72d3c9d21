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

/// Cold slots together exceed 4 times the last-level cache, as far as `limit_bytes` of memory allow.
SlotPlan plan_slots(const Case& c, std::size_t last_level_cache_bytes, std::size_t limit_bytes);

/// Device memory that a case takes with one slot.
inline std::size_t least_bytes(const Case& c) { return c.slot_bytes + c.shared_bytes; }

/// Shares of `limit_bytes` for cases that are in memory together, by what each needs: one slot for each, in their order, and
/// for more slots the same part of what each wants. A case that does not fit gets less than one slot, at no other's expense.
std::vector<std::size_t> divide_memory(const std::vector<const Case*>& cases, std::size_t last_level_cache_bytes,
                                       std::size_t limit_bytes);

}  // namespace roofmark
