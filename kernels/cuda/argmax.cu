// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "kernels/argmax.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/base/element.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kThreads = 256, kWarp = 32, kWarps = kThreads / kWarp;
constexpr unsigned kAllLanes = 0xffffffff;

/// The larger key has the larger value and, of equal values, the smaller index. Adding 0 turns -0 into 0 and every NaN into
/// 0x7fffffff, which is above infinity.
__device__ std::uint64_t key_of(float value, std::uint32_t index) {
  const unsigned bits = __float_as_uint(value + 0.0F);
  const unsigned order = bits & 0x80000000U ? ~bits : bits | 0x80000000U;  // of floats, as unsigned integers
  return std::uint64_t{order} << 32 | ~index;
}

__device__ std::uint64_t max_of_warp(std::uint64_t key) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const std::uint64_t other = __shfl_xor_sync(kAllLanes, static_cast<unsigned long long>(key), distance);
    key = other > key ? other : key;
  }
  return key;
}

/// One block per row. `kVector`: every row is aligned to 16 bytes and a multiple of them.
template <class Element, bool kVector>
__global__ void __launch_bounds__(kThreads)
    argmax_kernel(std::int32_t* out, const Element* __restrict__ x, std::int64_t columns) {
  constexpr int kWidth = kVector ? 16 / sizeof(Element) : 1, kInFlight = 4;
  const Element* const row = x + blockIdx.x * columns;
  float best = -INFINITY;
  std::uint32_t index = 0;  // right if no element of the row is above -inf
  const auto visit = [&](float value, std::int64_t c) {
    if (!exceeds(value, best)) return;
    best = value;
    index = static_cast<std::uint32_t>(c);
  };
  constexpr std::int64_t kStride = std::int64_t{kThreads} * kWidth;
  for (std::int64_t begin = threadIdx.x * kWidth; begin < columns; begin += kInFlight * kStride) {
    alignas(16) Element loaded[kInFlight][kWidth];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t c = begin + i * kStride;
      if (c >= columns) continue;
      if constexpr (kVector) {
        *reinterpret_cast<uint4*>(loaded[i]) = __ldcs(reinterpret_cast<const uint4*>(row + c));
      } else {
        loaded[i][0] = row[c];
      }
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t c = begin + i * kStride;
      if (c >= columns) continue;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) visit(static_cast<float>(loaded[i][j]), c + j);
    }
  }

  __shared__ std::uint64_t keys[kWarps];
  const std::uint64_t key = max_of_warp(key_of(best, index));
  if (threadIdx.x % kWarp == 0) keys[threadIdx.x / kWarp] = key;
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  const std::uint64_t winner = max_of_warp(threadIdx.x < kWarps ? keys[threadIdx.x] : 0);
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<std::int32_t>(~static_cast<std::uint32_t>(winner));
}

template <class Element>
void launch_as(std::int32_t* out, const void* x, std::int64_t rows, std::int64_t columns, Stream stream) {
  if (rows == 0) return;
  const auto* const elements = static_cast<const Element*>(x);
  const bool vector = reinterpret_cast<std::uintptr_t>(x) % 16 == 0 && columns * sizeof(Element) % 16 == 0;
  const auto blocks = static_cast<unsigned>(rows);
  if (vector) {
    argmax_kernel<Element, true><<<blocks, kThreads, 0, stream>>>(out, elements, columns);
  } else {
    argmax_kernel<Element, false><<<blocks, kThreads, 0, stream>>>(out, elements, columns);
  }
  check(cudaGetLastError());
}

void launch(DataType type, std::int32_t* out, const void* x, std::int64_t rows, std::int64_t columns, Stream stream) {
  switch (type) {
    case DataType::fp32:
      return launch_as<float>(out, x, rows, columns, stream);
    case DataType::fp16:
      return launch_as<__half>(out, x, rows, columns, stream);
    case DataType::bf16:
      return launch_as<__nv_bfloat16>(out, x, rows, columns, stream);
    default:
      throw Unsupported("argmax supports fp32, fp16 and bf16");
  }
}

__global__ void argmax_reference_kernel(DataType type, const void* x, std::int64_t first, std::int64_t count,
                                        std::int64_t columns, double* expected) {
  const std::int64_t r = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (r >= count) return;
  const std::int64_t row = (first + r) * columns;
  std::int64_t best = 0;
  double best_value = load_as_double(type, x, row);
  for (std::int64_t c = 1; c < columns; ++c) {
    const double value = load_as_double(type, x, row + c);
    if (exceeds(value, best_value)) {
      best = c;
      best_value = value;
    }
  }
  expected[r] = static_cast<double>(best);
}

void reference(DataType type, const void* x, std::int64_t first, std::int64_t count, std::int64_t columns, double* expected,
               Stream stream) {
  if (count == 0) return;
  argmax_reference_kernel<<<static_cast<unsigned>((count + kWarp - 1) / kWarp), kWarp, 0, stream>>>(type, x, first, count,
                                                                                                    columns, expected);
  check(cudaGetLastError());
}

}  // namespace

const ArgmaxKernels argmax = {launch, reference};

}  // namespace roofmark::cuda
