// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kernels/base/cuda.hpp"
#include "kernels/collective_data.hpp"

namespace roofmark::cuda {

namespace {

constexpr unsigned kThreads = 256, kMostBlocks = 1u << 16;

template <DataType kType>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(typename Element<kType>::Storage* out, std::size_t count, CollectiveData data, int rank, std::size_t first) {
  const std::size_t step = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    out[i] = Element<kType>::rounded(CollectiveValues(kType, data, first + i).value(rank));
  }
}

__global__ void __launch_bounds__(kThreads)
    expect_kernel(DataType type, double* expected, std::size_t count, CollectiveData data, int rank, std::size_t first) {
  const std::size_t step = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    expected[i] = CollectiveValues(type, data, first + i).value(rank);
  }
}

__global__ void __launch_bounds__(kThreads)
    expect_reduced_kernel(DataType type, Reduction reduction, double* expected, double* scale, std::size_t count,
                          CollectiveData data, std::size_t first) {
  const std::size_t step = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    const CollectiveValues values(type, data, first + i);
    expected[i] = values.reduced(type, reduction);
    scale[i] = values.scale(reduction);
  }
}

unsigned blocks(std::size_t count) {
  const std::size_t wanted = (count + kThreads - 1) / kThreads;
  return wanted < kMostBlocks ? static_cast<unsigned>(wanted) : kMostBlocks;
}

void fill(DataType type, void* out, std::size_t count, const CollectiveData& data, int rank, std::size_t first, Stream stream) {
  if (count == 0) return;
  with_type(type, [&]<DataType kType>() {
    fill_kernel<kType>
        <<<blocks(count), kThreads, 0, stream>>>(static_cast<typename Element<kType>::Storage*>(out), count, data, rank, first);
  });
  check(cudaGetLastError());
}

void expect(DataType type, double* expected, std::size_t count, const CollectiveData& data, int rank, std::size_t first,
            Stream stream) {
  if (count == 0) return;
  expect_kernel<<<blocks(count), kThreads, 0, stream>>>(type, expected, count, data, rank, first);
  check(cudaGetLastError());
}

void expect_reduced(DataType type, Reduction reduction, double* expected, double* scale, std::size_t count,
                    const CollectiveData& data, std::size_t first, Stream stream) {
  if (count == 0) return;
  expect_reduced_kernel<<<blocks(count), kThreads, 0, stream>>>(type, reduction, expected, scale, count, data, first);
  check(cudaGetLastError());
}

}  // namespace

const CollectiveDataKernels collective_data = {fill, expect, expect_reduced};

}  // namespace roofmark::cuda
