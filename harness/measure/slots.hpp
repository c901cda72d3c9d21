// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "harness/model/case.hpp"

namespace roofmark {

/// How many copies of its operands a case rotates through, and how that keeps the caches cold.
struct SlotPlan {
  int slots = 1;
  std::string cache_by;  ///< as Measurement::cache_by
};

/// Cold slots together exceed 4 times the last-level cache, as far as `limit_bytes` of memory allow.
SlotPlan plan_slots(const Case& c, std::size_t last_level_cache_bytes, std::size_t limit_bytes);

}  // namespace roofmark
