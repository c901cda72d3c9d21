// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/device/block_scaled_data.hpp"
#include "harness/device/cuda/kernels.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kThreads = 256;
constexpr std::size_t kMaxBlocks = 8192;

template <DataType kType>
__global__ void __launch_bounds__(kThreads) fill_kernel(typename Element<kType>::Storage* data, std::size_t count, Fill fill) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    data[i] = generate<kType>(fill.distribution, fill.seed, fill.array, i);
  }
}

template <DataType kType>
__global__ void __launch_bounds__(kThreads) fill_blocks_kernel(void* data, BlockScaledLayout layout, Fill fill) {
  const std::int64_t blocks = layout.blocks(), stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < blocks; i += stride) {
    fill_block<kType>(data, layout, i, fill);
  }
}

unsigned grid_for(std::size_t items) { return static_cast<unsigned>(std::min((items + kThreads - 1) / kThreads, kMaxBlocks)); }

}  // namespace

void fill(void* data, DataType type, std::size_t count, const Fill& fill, cudaStream_t stream) {
  if (count == 0) return;
  with_type(type, [&]<DataType kType>() {
    fill_kernel<kType>
        <<<grid_for(count), kThreads, 0, stream>>>(static_cast<typename Element<kType>::Storage*>(data), count, fill);
  });
  check(cudaGetLastError());
}

void fill(void* data, const BlockScaledLayout& layout, const Fill& fill, cudaStream_t stream) {
  const auto blocks = static_cast<std::size_t>(layout.blocks());
  if (blocks == 0) return;
  check(cudaMemsetAsync(static_cast<std::byte*>(data) + layout.scales_offset(), 0,
                        static_cast<std::size_t>(layout.scale_bytes()), stream));
  with_block_scaled_type(layout.type, [&]<DataType kType>() {
    fill_blocks_kernel<kType><<<grid_for(blocks), kThreads, 0, stream>>>(data, layout, fill);
  });
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
