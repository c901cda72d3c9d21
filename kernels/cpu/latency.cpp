// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/latency.hpp"

namespace roofmark::cpu {

namespace {

void link(void* first, std::size_t stride, const std::uint32_t* next, std::size_t lines, Stream) {
  auto* const bytes = static_cast<char*>(first);
  for (std::size_t i = 0; i < lines; ++i) *reinterpret_cast<void**>(bytes + i * stride) = bytes + next[i] * stride;
}

void chase(ChaseLoad, ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t preload, std::size_t steps,
           Stream) {
  const auto base = reinterpret_cast<std::uintptr_t>(first);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < preload; ++i) sum += *reinterpret_cast<const std::uintptr_t*>(base + i * stride);
  auto p = reinterpret_cast<std::uintptr_t>(*at);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uintptr_t reached = *reinterpret_cast<const std::uintptr_t*>(p);
    sum += p;
    p = reached;
  }
  *at = reinterpret_cast<void*>(p);
  *out = {p - base, sum - (preload + steps) * (base - stride)};
}

}  // namespace

const LatencyKernels latency = {.link = link, .chase = chase};

}  // namespace roofmark::cpu
