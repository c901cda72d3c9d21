// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/cuda/ptx/memory.cuh"

namespace roofmark::cuda {

/// Waits until every block of the grid has arrived; all threads of a block call it together. The launch must be cooperative:
/// the blocks wait for one another. `arrivals` is 0 before the first launch that uses it, only grows, and serves grids of one
/// size.
__device__ inline void grid_barrier(std::uint64_t* arrivals) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const std::uint64_t before = atom_add_acq_rel_gpu_u64(arrivals, 1);
    const std::uint64_t all = before - before % gridDim.x + gridDim.x;
    while (ld_acquire_gpu_u64(arrivals) < all) {
    }
  }
  __syncthreads();
}

}  // namespace roofmark::cuda
