// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/gemv_reference.hpp"

namespace roofmark::cuda {

namespace {

constexpr unsigned kWarp = 32, kThreads = 256;

/// One warp per row.
__global__ void gemv_reference_kernel(GemvProblem problem, GemvArrays arrays, double spread, double* expected, double* scale) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= problem.m) return;
  const unsigned lane = threadIdx.x % kWarp;
  GemvSums sums = gemv_row_sums(problem, arrays, row, lane, kWarp);
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    sums.sum += __shfl_xor_sync(~0u, sums.sum, distance);
    sums.squares += __shfl_xor_sync(~0u, sums.squares, distance);
  }
  if (lane != 0) return;
  expected[row] = sums.sum;
  scale[row] = fabs(sums.sum) + spread * sqrt(sums.squares);
}

void compute(const GemvProblem& problem, const GemvArrays& arrays, double spread, double* expected, double* scale,
             Stream stream) {
  const auto blocks = static_cast<unsigned>((problem.m + kThreads / kWarp - 1) / (kThreads / kWarp));
  gemv_reference_kernel<<<blocks, kThreads, 0, stream>>>(problem, arrays, spread, expected, scale);
  check(cudaGetLastError());
}

}  // namespace

const GemvReference gemv_reference = {compute};

}  // namespace roofmark::cuda
