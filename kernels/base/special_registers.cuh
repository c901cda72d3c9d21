// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Special registers that CUDA C++ has no name for. One function per register.
namespace roofmark::cuda {

/// The number of the SM that the thread runs on.
__device__ inline std::uint32_t smid() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/// Nanoseconds, in steps of 32 ns to about 1 us.
__device__ inline std::uint64_t globaltimer() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
  return now;
}

}  // namespace roofmark::cuda
