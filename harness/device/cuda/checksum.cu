// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/device/cuda/kernels.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr std::int64_t kMaxBlocks = 8192;

/// kLanes adjacent threads share the columns of a sum: a warp if rows are contiguous in memory, one thread if columns are.
template <DataType kType, int kLanes>
__global__ void __launch_bounds__(kThreads) signed_block_sums_kernel(MatrixView view, std::int64_t block, std::int64_t blocks,
                                                                     std::uint64_t seed, double* sums, double* squares) {
  const int lane = threadIdx.x % kLanes;
  const std::int64_t stride = std::int64_t{gridDim.x} * (kThreads / kLanes);
  for (std::int64_t i = std::int64_t{blockIdx.x} * (kThreads / kLanes) + threadIdx.x / kLanes; i < view.rows * blocks;
       i += stride) {
    const std::int64_t r = kLanes == 1 ? i % view.rows : i / blocks;
    const std::int64_t b = kLanes == 1 ? i / view.rows : i % blocks;
    const std::int64_t end = min((b + 1) * block, view.columns);
    double sum = 0, square = 0;
#pragma unroll 4
    for (std::int64_t c = b * block + lane; c < end; c += kLanes) {
      const double value = element<kType>(view, r, c);
      sum += sign(seed, c) < 0 ? -value : value;
      square += value * value;
    }
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      sum += __shfl_down_sync(~0u, sum, distance);
      square += __shfl_down_sync(~0u, square, distance);
    }
    if (lane == 0) {
      sums[r * blocks + b] = sum;
      if (squares) squares[r * blocks + b] = square;
    }
  }
}

/// A warp per row.
template <DataType kType>
__global__ void __launch_bounds__(kThreads) fourth_power_sums_kernel(MatrixView view, double* sums) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t stride = std::int64_t{gridDim.x} * (kThreads / kWarp);
  for (std::int64_t r = std::int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp; r < view.rows; r += stride) {
    double sum = 0;
    for (std::int64_t c = lane; c < view.columns; c += kWarp) {
      const double value = element<kType>(view, r, c), square = value * value;
      sum += square * square;
    }
    for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
    if (lane == 0) sums[r] = sum;
  }
}

constexpr int kTile = 64;   // rows, and columns, of products a block of threads makes
constexpr int kDepth = 16;  // columns of the view it takes at a time
constexpr int kSide = 16;   // threads along each side of the tile
constexpr int kPer = kTile / kSide;
constexpr int kLoads = kTile * kDepth / kThreads;
static_assert(kSide * kSide == kThreads);

/// Each thread makes 4 x 4 products, and loads the next slices while it multiplies the present ones.
template <DataType kType>
__global__ void __launch_bounds__(kThreads, 2)
    multiply_fp64_kernel(MatrixView view, const double* __restrict__ right, std::int64_t n, double* __restrict__ products) {
  // The padding keeps threads that write along the depth out of each other's banks.
  __shared__ double left_slice[kDepth][kTile + 1];
  __shared__ double right_slice[kDepth][kTile];
  const std::int64_t first_row = std::int64_t{blockIdx.x} * kTile, first_column = std::int64_t{blockIdx.y} * kTile;
  const bool rows_are_near = view.row_stride < view.column_stride;
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;

  double left_next[kLoads], right_next[kLoads];
  const auto load = [&](std::int64_t first_depth) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int e = threadIdx.x + i * kThreads;
      const std::int64_t r = first_row + (rows_are_near ? e % kTile : e / kDepth);
      const std::int64_t k = first_depth + (rows_are_near ? e / kTile : e % kDepth);
      left_next[i] = r < view.rows && k < view.columns ? element<kType>(view, r, k) : 0;
      const std::int64_t right_k = first_depth + e / kTile, c = first_column + e % kTile;
      right_next[i] = right_k < view.columns && c < n ? right[right_k * n + c] : 0;
    }
  };

  double product[kPer][kPer] = {};
  load(0);
  for (std::int64_t depth = 0; depth < view.columns; depth += kDepth) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int e = threadIdx.x + i * kThreads;
      left_slice[rows_are_near ? e / kTile : e % kDepth][rows_are_near ? e % kTile : e / kDepth] = left_next[i];
      right_slice[e / kTile][e % kTile] = right_next[i];
    }
    __syncthreads();
    load(depth + kDepth);
#pragma unroll 4
    for (int k = 0; k < kDepth; ++k) {
      double left[kPer], up[kPer];
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        left[i] = left_slice[k][y + i * kSide];
        up[i] = right_slice[k][x + i * kSide];
      }
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
#pragma unroll
        for (int j = 0; j < kPer; ++j) product[i][j] += left[i] * up[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
#pragma unroll
    for (int j = 0; j < kPer; ++j) {
      const std::int64_t r = first_row + y + i * kSide, c = first_column + x + j * kSide;
      if (r < view.rows && c < n) products[r * n + c] = product[i][j];
    }
  }
}

template <DataType kType, int kLanes>
void launch_signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums, double* squares,
                              cudaStream_t stream) {
  const std::int64_t blocks = (view.columns + block - 1) / block;
  const std::int64_t sums_per_block = kThreads / kLanes;
  const std::int64_t grid = std::min((view.rows * blocks + sums_per_block - 1) / sums_per_block, kMaxBlocks);
  if (grid == 0) return;
  signed_block_sums_kernel<kType, kLanes>
      <<<static_cast<unsigned>(grid), kThreads, 0, stream>>>(view, block, blocks, seed, sums, squares);
}

}  // namespace

void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums, double* squares,
                       cudaStream_t stream) {
  // A few rows would leave most threads of a warp without work.
  const bool thread_a_row = view.row_stride < view.column_stride && view.rows >= kWarp;
  with_matrix_type(view.type, [&]<DataType kType>() {
    if (thread_a_row) {
      launch_signed_block_sums<kType, 1>(view, block, seed, sums, squares, stream);
    } else {
      launch_signed_block_sums<kType, kWarp>(view, block, seed, sums, squares, stream);
    }
  });
  check(cudaGetLastError());
}

void fourth_power_sums(const MatrixView& view, double* sums, cudaStream_t stream) {
  if (view.rows == 0) return;
  const std::int64_t grid = std::min((view.rows + kThreads / kWarp - 1) / (kThreads / kWarp), kMaxBlocks);
  with_matrix_type(view.type, [&]<DataType kType>() {
    fourth_power_sums_kernel<kType><<<static_cast<unsigned>(grid), kThreads, 0, stream>>>(view, sums);
  });
  check(cudaGetLastError());
}

void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products, cudaStream_t stream) {
  if (view.rows == 0 || n == 0) return;
  const dim3 grid(static_cast<unsigned>((view.rows + kTile - 1) / kTile), static_cast<unsigned>((n + kTile - 1) / kTile));
  with_matrix_type(view.type, [&]<DataType kType>() {
    multiply_fp64_kernel<kType><<<grid, kThreads, 0, stream>>>(view, right, n, products);
  });
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
