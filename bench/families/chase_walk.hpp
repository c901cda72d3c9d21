// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/families/prepared_chase.hpp"

namespace roofmark::latency {

/// Where `steps` steps from `from` lead, and the sum of the lines loaded, by the successors.
struct Walk {
  std::size_t end = 0;
  ChaseEnd expected;
};

/// `next`: the successors.
Walk walk(const std::vector<std::uint32_t>& next, std::size_t stride, std::size_t from, std::size_t steps);

/// By line, the line that follows it in the chase.
std::vector<std::uint32_t> successors(const Chase& chase, const Setup& setup);

bool equal(const ChaseEnd& a, const ChaseEnd& b);

}  // namespace roofmark::latency
