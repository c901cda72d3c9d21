// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Asynchronous copies from global to shared memory, by each thread for itself. sm_80. One function per PTX instruction.
namespace roofmark::cuda {

/// Copies 16 bytes past L1, both ends aligned to 16; writes zeros and reads nothing unless `in_bounds`.
__device__ inline void cp_async_cg_16(std::uint32_t to, const void* from, bool in_bounds) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(in_bounds ? 16 : 0)
               : "memory");
}
/// Makes a group of this thread's copies since the last commit, an empty one if there were none.
__device__ inline void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most the last kPending groups of this thread are in flight.
template <int kPending>
__device__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace roofmark::cuda
