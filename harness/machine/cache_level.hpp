// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace roofmark {

/// One level of the caches: capacity over the whole device, and of one instance (a core's L1, an SM's).
struct CacheLevel {
  std::string name;  ///< "l1", "l2", "l3"
  std::size_t total_bytes = 0;
  std::size_t instance_bytes = 0;
};

}  // namespace roofmark
