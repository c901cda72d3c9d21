// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/random_cycle.hpp"

#include <numeric>
#include <utility>

#include "harness/device/random.hpp"

namespace roofmark {

std::vector<std::uint32_t> random_cycle(std::size_t count, std::uint64_t seed, const std::function<void()>& progress) {
  constexpr std::size_t kOften = std::size_t{1} << 22;
  std::vector<std::uint32_t> next(count);
  std::iota(next.begin(), next.end(), 0U);
  for (std::size_t i = count; i-- > 1;) {
    // Uniform in 0 .. i - 1: i itself is left out, which makes the permutation one cycle.
    const std::size_t j = (random_bits(seed, 0, i) >> 32) * i >> 32;
    std::swap(next[i], next[j]);
    if (progress && i % kOften == 0) progress();
  }
  return next;
}

}  // namespace roofmark
