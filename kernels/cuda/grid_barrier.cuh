// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/cuda/ptx/atomic.cuh"

namespace roofmark::cuda {

/// A barrier for all blocks of a grid, which all threads of a block make and wait at together. The launch must be cooperative:
/// the blocks wait for one another. `arrivals` is 0 before the first launch that uses it, only grows, and serves grids of one
/// size.
class GridBarrier {
 public:
  /// While this block has not arrived, fewer than all blocks have: the next multiple of their number is the end of this round.
  __device__ explicit GridBarrier(std::uint64_t* arrivals) : arrivals_(arrivals) {
    if (threadIdx.x != 0) return;
    const std::uint64_t arrived = ld_acquire_gpu_u64(arrivals);
    all_ = arrived - arrived % gridDim.x;
  }

  __device__ void wait() {
    __syncthreads();
    if (threadIdx.x == 0) {
      all_ += gridDim.x;
      red_add_release_gpu_u64(arrivals_, 1);
      while (ld_acquire_gpu_u64(arrivals_) < all_) {
      }
    }
    __syncthreads();
  }

 private:
  std::uint64_t* arrivals_;
  std::uint64_t all_ = 0;
};

}  // namespace roofmark::cuda
