// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <numbers>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/attention_softmax.hpp"
#include "kernels/cuda/ptx/math.cuh"

namespace roofmark::cuda {

namespace {

constexpr std::int64_t kEight = 8;  // 16-bit elements in a vector of 16 bytes

template <int kThreads, class Combine>
__device__ float over_block(float value, Combine combine) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
  if constexpr (kThreads > 32) {
    __shared__ float of_warps[kThreads / 32];
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warps[0];
#pragma unroll
    for (int warp = 1; warp < kThreads / 32; ++warp) value = combine(value, of_warps[warp]);
    __syncthreads();
  }
  return value;
}

/// Turns a row of scores into probabilities, in place, with zeros for keys that the query does not see. The row stays in
/// registers.
template <DataType kType, int kThreads, int kVectors>
__global__ void __launch_bounds__(kThreads) attention_softmax_kernel(uint4* scores, AttentionProblem p, std::int64_t pitch) {
  const std::int64_t row = blockIdx.x;
  const int visible = static_cast<int>(visible_keys(p, row % p.queries)), vectors = static_cast<int>(pitch / kEight);
  uint4* const at = scores + row * vectors;
  float values[kVectors][kEight];
  float greatest = -std::numeric_limits<float>::infinity();
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int vector = i * kThreads + static_cast<int>(threadIdx.x);
    const uint4 loaded = vector * kEight < visible ? at[vector] : uint4{};
    const unsigned words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
    for (int j = 0; j < kEight; ++j) {
      const float2 pair = cvt_f32_x2<kType>(words[j / 2]);
      values[i][j] = vector * kEight + j < visible ? (j % 2 ? pair.y : pair.x) : -std::numeric_limits<float>::infinity();
      greatest = fmaxf(greatest, values[i][j]);
    }
  }
  greatest = over_block<kThreads>(greatest, [](float a, float b) { return fmaxf(a, b); });
  // In a row that sees no key: -inf - -inf would be NaN.
  const float base = greatest == -std::numeric_limits<float>::infinity() ? 0 : greatest * std::numbers::log2e_v<float>;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
#pragma unroll
    for (int j = 0; j < kEight; ++j) {
      values[i][j] = ex2_approx_ftz(fmaf(values[i][j], std::numbers::log2e_v<float>, -base));
      sum += values[i][j];
    }
  }
  sum = over_block<kThreads>(sum, [](float a, float b) { return a + b; });
  const float inverse = visible > 0 ? 1 / sum : 0;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int vector = i * kThreads + static_cast<int>(threadIdx.x);
    const float(&v)[kEight] = values[i];
    const uint4 packed = {cvt_rn_x2<kType>(v[0] * inverse, v[1] * inverse), cvt_rn_x2<kType>(v[2] * inverse, v[3] * inverse),
                          cvt_rn_x2<kType>(v[4] * inverse, v[5] * inverse), cvt_rn_x2<kType>(v[6] * inverse, v[7] * inverse)};
    if (vector < vectors) at[vector] = packed;
  }
}

template <DataType kType, int kThreads, int kVectors>
void launch_softmax(const AttentionProblem& p, void* scores, std::int64_t pitch, Stream stream) {
  const auto rows = static_cast<unsigned>(p.batch * p.heads * p.queries);
  attention_softmax_kernel<kType, kThreads, kVectors><<<rows, kThreads, 0, stream>>>(static_cast<uint4*>(scores), p, pitch);
  check(cudaGetLastError());
}

/// One warp per row, or one block of eight warps for longer rows.
template <DataType kType>
auto choose_softmax(std::int64_t keys) {
  if (keys <= 32 * 2 * kEight) return launch_softmax<kType, 32, 2>;
  if (keys <= 32 * 8 * kEight) return launch_softmax<kType, 32, 8>;
  if (keys <= 256 * 4 * kEight) return launch_softmax<kType, 256, 4>;
  if (keys <= 256 * 8 * kEight) return launch_softmax<kType, 256, 8>;
  static_assert(kMostSoftmaxKeys == 256 * 16 * kEight);
  return launch_softmax<kType, 256, 16>;
}

}  // namespace

void attention_softmax(const AttentionProblem& problem, void* scores, std::int64_t pitch, Stream stream) {
  const auto launch = problem.type == DataType::fp16 ? choose_softmax<DataType::fp16>(problem.keys)
                                                     : choose_softmax<DataType::bf16>(problem.keys);
  launch(problem, scores, pitch, stream);
}

}  // namespace roofmark::cuda
