// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/check.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ptx/registers.cuh"

// What kernels share whose producer warpgroup loads tiles by TMA into a ring of buffers, and whose consumer warpgroups multiply
// them by wgmma.
namespace roofmark::cuda::tiled_wgmma {

inline constexpr int kWarp = 32;
inline constexpr int kGroupThreads = 128;
inline constexpr int kGroupWarps = kGroupThreads / kWarp;
inline constexpr int kGroupRows = 64;  // m of one wgmma
// One row of the 128-byte swizzle. Wider rows are stored as slabs, one after the other.
inline constexpr int kSlabBytes = 128;
inline constexpr int kBarrierBytes = 8;
/// Of a block.
inline constexpr int kMostSharedBytes = 232448;

/// The next stage of a ring of buffers, and the parity of its barrier's phase.
template <int kStages>
struct PipelineState {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <class Register, int kCount>
__device__ void opaque_all(Register (&r)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) opaque(r[i]);
}

/// Allows the kernel its shared memory. Throws Unsupported where it is empty, compiled without sm_90a: then it needs fewer
/// registers than its accumulator has.
template <class... Parameters>
void allow(void (*kernel)(Parameters...), int shared_bytes, int accumulator_registers) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel));
  if (attributes.numRegs < accumulator_registers) throw Unsupported("tiled_wgmma: roofmark was built without sm_90a");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
}

}  // namespace roofmark::cuda::tiled_wgmma
