// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Registers: those that hold special values, those of a warpgroup, and what the compiler may assume of one.
namespace roofmark::cuda {

/// blockIdx.x, read again at every call: what is computed from it need not stay in registers from one call to the next.
__device__ inline int ctaid_x() {
  int index;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
  return index;
}

/// True in one thread of a whole warp. The compiler then knows that what follows is executed by one. sm_90.
__device__ inline bool elect_sync() {
  std::uint32_t elected;
  asm volatile(
      "{ .reg .pred p;\n"
      "elect.sync _|p, 0xFFFFFFFF;\n"
      "selp.b32 %0, 1, 0, p; }"
      : "=r"(elected));
  return elected != 0;
}

/// Releases registers of a warpgroup down to kCount per thread (a multiple of 8). sm_90a.
template <int kCount>
__device__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
/// Acquires registers for a warpgroup up to kCount per thread, and waits until they are free. sm_90a.
template <int kCount>
__device__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

/// No instruction: to the compiler, the register has a new, unknown value from here on. It neither moves uses of the register
/// ahead of this point nor keeps what it computed from the old value.
__device__ inline void opaque(float& r) { asm volatile("" : "+f"(r)); }
__device__ inline void opaque(std::uint32_t& r) { asm volatile("" : "+r"(r)); }
__device__ inline void opaque(int& r) { asm volatile("" : "+r"(r)); }

}  // namespace roofmark::cuda
