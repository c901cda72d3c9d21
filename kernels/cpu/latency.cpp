// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/latency.hpp"

namespace roofmark::cpu {

namespace {

void link(void* first, std::size_t stride, const std::uint32_t* next, std::size_t begin, std::size_t end, Stream) {
  auto* const bytes = static_cast<char*>(first);
  for (std::size_t i = begin; i < end; ++i) *reinterpret_cast<void**>(bytes + i * stride) = bytes + next[i] * stride;
}

void count_wrong_links(std::uint64_t* wrong, const void* first, std::size_t stride, const std::uint32_t* next,
                       std::size_t lines, Stream) {
  const auto* const bytes = static_cast<const char*>(first);
  for (std::size_t i = 0; i < lines; ++i) {
    if (*reinterpret_cast<void* const*>(bytes + i * stride) != bytes + next[i] * stride) ++*wrong;
  }
}

std::uint64_t address_of(const void* line) { return reinterpret_cast<std::uintptr_t>(line); }

void chase(ChaseLoad, ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t preload, std::size_t steps,
           Stream) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < preload; ++i) {
    sum += address_of(*reinterpret_cast<void* const*>(static_cast<const char*>(first) + i * stride));
  }
  void* p = *at;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < steps; ++i) {
    void* const reached = *static_cast<void**>(p);
    sum += address_of(p);
    p = reached;
  }
  *at = p;
  *out = {address_of(p) - address_of(first), sum - (preload + steps) * (address_of(first) - stride)};
}

}  // namespace

const LatencyKernels latency = {.link = link, .count_wrong_links = count_wrong_links, .chase = chase};

}  // namespace roofmark::cpu
