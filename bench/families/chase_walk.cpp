// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/chase_walk.hpp"

#include <numeric>

#include "bench/support/random_cycle.hpp"

namespace roofmark::latency {

Walk walk(const std::vector<std::uint32_t>& next, std::size_t stride, std::size_t from, std::size_t steps) {
  const std::size_t lines = next.size(), laps = steps / lines;
  const std::uint64_t lap = lines % 2 == 0 ? lines / 2 * (lines + 1) : (lines + 1) / 2 * lines;
  Walk made{from, {0, laps * lap}};
  for (std::size_t i = 0; i < steps % lines; ++i) {
    made.expected.sum += made.end + 1;
    made.end = next[made.end];
  }
  made.expected.sum *= stride;
  made.expected.end = made.end * stride;
  return made;
}

bool equal(const ChaseEnd& a, const ChaseEnd& b) { return a.end == b.end && a.sum == b.sum; }

std::vector<std::uint32_t> successors(const Chase& chase, const Setup& setup) {
  if (chase.order == ChaseOrder::random) return random_cycle(chase.set.lines, setup.seed, [&] { setup.device.progressed(); });
  std::vector<std::uint32_t> next(chase.set.lines);
  std::iota(next.begin(), next.end(), 1);
  next.back() = 0;
  return next;
}

}  // namespace roofmark::latency
