// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

}  // namespace

void fill(void* data, DataType type, std::size_t count, const Fill& fill, cudaStream_t stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMaxBlocks));
  with_type(type, [&]<DataType kType>() {
    fill_kernel<kType><<<blocks, kThreads, 0, stream>>>(static_cast<typename Element<kType>::Storage*>(data), count, fill);
  });
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
