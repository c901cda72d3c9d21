// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Atomic operations on global memory, and loads of what other blocks write, with the orders that CUDA C++ has no short name
// for. One function per PTX instruction.
namespace roofmark::cuda {

/// ORs 8 bytes with `bits` where the line lives in L2, and returns what was there.
__device__ inline std::uint64_t atom_or_u64(std::uint64_t at, std::uint64_t bits) {
  std::uint64_t before;
  asm volatile("atom.relaxed.gpu.global.or.b64 %0, [%1], %2;" : "=l"(before) : "l"(at), "l"(bits) : "memory");
  return before;
}

/// Adds to 8 bytes that other blocks read. What this thread wrote before is visible to those that load the sum with acquire.
__device__ inline void red_add_release_gpu_u64(void* at, std::uint64_t addend) {
  asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(at), "l"(addend) : "memory");
}

/// Loads 8 bytes that other blocks write. What they wrote before is visible afterwards.
__device__ inline std::uint64_t ld_acquire_gpu_u64(const void* from) {
  std::uint64_t word;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
}

}  // namespace roofmark::cuda
