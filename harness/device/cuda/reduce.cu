// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "harness/device/cuda/kernels.hpp"
#include "harness/device/elementwise_error.hpp"
#include "harness/device/hash.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kThreads = 256;
// The same on every device, so that float64 sums are added in the same order everywhere.
constexpr std::size_t kMaxBlocks = 1024;

template <bool kAligned>
struct Hashing {
  using Value = std::uint64_t;
  const void* data;
  std::uint64_t bytes;

  __device__ Value term(std::uint64_t i) const {
    const bool whole = kAligned && 8 * i + 8 <= bytes;
    return hash_of_word(whole ? static_cast<const std::uint64_t*>(data)[i] : hashed_word(data, bytes, i), i);
  }
  __host__ __device__ static Value none() { return 0; }
  __host__ __device__ static Value both(Value a, Value b) { return a + b; }
};

/// Errors are not negative, so they compare like their bits, with infinity and then NaN at the top.
struct Worst {
  using Value = WorstError;
  __device__ static Value seen(double error, std::uint64_t i) { return {same_bits<std::uint64_t>(error), i}; }
  __host__ __device__ static Value none() { return {0, ~0ull}; }
  __host__ __device__ static Value both(Value a, Value b) {
    if (a.error_bits != b.error_bits) return a.error_bits > b.error_bits ? a : b;
    return a.index < b.index ? a : b;
  }
};

template <DataType kType>
struct Comparing : Worst {
  const typename Element<kType>::Storage* out;
  const double *expected, *scale;

  __device__ Value term(std::uint64_t i) const {
    return seen(elementwise_error(kType, Element<kType>::value(out[i]), expected[i], scale[i]), i);
  }
};

template <DataType kType>
struct ComparingLinear : Worst {
  LinearComparison arrays;

  __device__ static double value(const void* data, std::uint64_t i) {
    return Element<kType>::value(static_cast<const typename Element<kType>::Storage*>(data)[i]);
  }
  __device__ Value term(std::uint64_t i) const {
    const double x = arrays.x ? arrays.alpha * value(arrays.x, i) : 0;
    const double y = arrays.y ? arrays.beta * value(arrays.y, i) : 0;
    return seen(
        elementwise_error(kType, value(arrays.out, i), x + y + arrays.constant, fabs(x) + fabs(y) + fabs(arrays.constant)), i);
  }
};

template <DataType kType>
struct Summing {
  using Value = SumAndSquares;
  const typename Element<kType>::Storage *x, *y;

  __device__ Value term(std::uint64_t i) const {
    const double term = Element<kType>::value(x[i]) * (y ? Element<kType>::value(y[i]) : 1);
    return {term, term * term};
  }
  __host__ __device__ static Value none() { return {0, 0}; }
  __host__ __device__ static Value both(Value a, Value b) { return {a.sum + b.sum, a.squares + b.squares}; }
};

/// Gives thread 0 of each block the block's part of the terms.
template <class Reduction>
__device__ typename Reduction::Value reduce_in_block(const Reduction& reduction, std::uint64_t count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  auto mine = Reduction::none();
#pragma unroll 4
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    mine = Reduction::both(mine, reduction.term(i));
  }
  __shared__ typename Reduction::Value parts[kThreads];
  parts[threadIdx.x] = mine;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] = Reduction::both(parts[threadIdx.x], parts[threadIdx.x + half]);
  }
  return parts[threadIdx.x];
}

template <class Reduction>
__global__ void __launch_bounds__(kThreads)
    reduce_kernel(Reduction reduction, std::uint64_t count, typename Reduction::Value* partials) {
  const auto part = reduce_in_block(reduction, count);
  if (threadIdx.x == 0) partials[blockIdx.x] = part;
}

/// Adds the words of a hash to *sum.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads) hash_kernel(Hashing<kAligned> hashing, std::uint64_t words, std::uint64_t* sum) {
  const std::uint64_t part = reduce_in_block(hashing, words);
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(part));
}

__global__ void finish_hash_kernel(std::uint64_t* sum, std::uint64_t bytes) { *sum = finished_hash(*sum, bytes); }

template <class Reduction>
typename Reduction::Value reduce(const Reduction& reduction, std::uint64_t count, void* scratch, cudaStream_t stream) {
  using Value = typename Reduction::Value;
  static_assert(kMaxBlocks * sizeof(Value) <= kReductionScratchBytes);
  const std::size_t blocks = std::min<std::size_t>((count + kThreads - 1) / kThreads, kMaxBlocks);
  auto all = Reduction::none();
  if (blocks == 0) return all;
  auto* partials = static_cast<Value*>(scratch);
  reduce_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(reduction, count, partials);
  check(cudaGetLastError());
  std::array<Value, kMaxBlocks> read;
  check(cudaMemcpyAsync(read.data(), partials, blocks * sizeof(Value), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  for (std::size_t b = 0; b < blocks; ++b) all = Reduction::both(all, read[b]);
  return all;
}

}  // namespace

std::uint64_t hash(const void* data, std::size_t bytes, void* scratch, cudaStream_t stream) {
  const std::uint64_t words = (bytes + 7) / 8;
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % 8 == 0;
  const std::uint64_t sum = aligned ? reduce(Hashing<true>{data, bytes}, words, scratch, stream)
                                    : reduce(Hashing<false>{data, bytes}, words, scratch, stream);
  return finished_hash(sum, bytes);
}

void enqueue_hash(const void* data, std::size_t bytes, std::uint64_t* result, cudaStream_t stream) {
  check(cudaMemsetAsync(result, 0, sizeof(*result), stream));
  const std::uint64_t words = (bytes + 7) / 8;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>((words + kThreads - 1) / kThreads, kMaxBlocks));
  if (blocks > 0 && reinterpret_cast<std::uintptr_t>(data) % 8 == 0) {
    hash_kernel<<<blocks, kThreads, 0, stream>>>(Hashing<true>{data, bytes}, words, result);
  } else if (blocks > 0) {
    hash_kernel<<<blocks, kThreads, 0, stream>>>(Hashing<false>{data, bytes}, words, result);
  }
  finish_hash_kernel<<<1, 1, 0, stream>>>(result, bytes);
  check(cudaGetLastError());
}

WorstError compare_linear(DataType type, const LinearComparison& comparison, std::size_t count, void* scratch,
                          cudaStream_t stream) {
  return with_type(type, [&]<DataType kType>() {
    return reduce(ComparingLinear<kType>{{}, comparison}, count, scratch, stream);
  });
}

WorstError compare(DataType type, const void* out, const double* expected, const double* scale, std::size_t count,
                   void* scratch, cudaStream_t stream) {
  return with_type(type, [&]<DataType kType>() {
    const auto* elements = static_cast<const typename Element<kType>::Storage*>(out);
    return reduce(Comparing<kType>{{}, elements, expected, scale}, count, scratch, stream);
  });
}

SumAndSquares sum_terms(DataType type, const void* x, const void* y, std::size_t count, void* scratch, cudaStream_t stream) {
  return with_type(type, [&]<DataType kType>() {
    using Storage = typename Element<kType>::Storage;
    return reduce(Summing<kType>{static_cast<const Storage*>(x), static_cast<const Storage*>(y)}, count, scratch, stream);
  });
}

}  // namespace roofmark::cuda
