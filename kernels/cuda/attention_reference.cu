// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "kernels/attention_reference.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {

namespace {

template <DataType kType>
using Storage = typename Element<kType>::Storage;

/// One head of a batch, and its queries [first, first + count).
template <DataType kType>
struct Head {
  const Storage<kType>*q, *k, *v;
  std::int64_t query_stride, key_stride;
  double *expected, *scale;

  __device__ Head(const AttentionProblem& p, const AttentionArrays& arrays, std::int64_t batch, std::int64_t head,
                  std::int64_t first, double* expected, double* scale)
      : query_stride(p.heads * p.head_dim),
        key_stride(p.kv_heads * p.head_dim),
        expected(expected + head * p.head_dim),
        scale(scale + head * p.head_dim) {
    const std::int64_t keys = batch * p.keys * key_stride + head / (p.heads / p.kv_heads) * p.head_dim;
    q = static_cast<const Storage<kType>*>(arrays.q) + (batch * p.queries + first) * query_stride + head * p.head_dim;
    k = static_cast<const Storage<kType>*>(arrays.k) + keys;
    v = static_cast<const Storage<kType>*>(arrays.v) + keys;
  }
};

// Float64: one block per row, one thread per key, then one thread per column.

constexpr int kRowThreads = 128;
constexpr int kMostColumns = 256;

template <class Combine>
__device__ double over_block(double value, double* shared, Combine combine) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kRowThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  const double all = shared[0];
  __syncthreads();
  return all;
}

template <DataType kType>
__global__ void __launch_bounds__(kRowThreads)
    attention_row_kernel(AttentionProblem p, AttentionArrays arrays, bool rounds_scores, std::int64_t batch, std::int64_t first,
                         double* expected, double* scale) {
  __shared__ double q[kMostColumns], scratch[kRowThreads], weights[kRowThreads], of_scores[kRowThreads];
  const int thread = static_cast<int>(threadIdx.x), d = static_cast<int>(p.head_dim);
  const std::int64_t query = blockIdx.x;
  const Head<kType> head(p, arrays, batch, blockIdx.y, first, expected, scale);
  const std::int64_t visible = visible_keys(p, first + query);
  for (int t = thread; t < d; t += kRowThreads) q[t] = Element<kType>::value(head.q[query * head.query_stride + t]);
  __syncthreads();
  const double factor = 1 / sqrt(p.head_dim);
  const auto score = [&](std::int64_t key) {
    double sum = 0;
    for (int t = 0; t < d; ++t) sum += q[t] * Element<kType>::value(head.k[key * head.key_stride + t]);
    return factor * sum;
  };
  double greatest = -std::numeric_limits<double>::infinity();
  for (std::int64_t key = thread; key < visible; key += kRowThreads) greatest = fmax(greatest, score(key));
  greatest = over_block(greatest, scratch, [](double a, double b) { return fmax(a, b); });

  double sum = 0, score_squares = 0, values[kMostColumns / kRowThreads] = {}, squares[kMostColumns / kRowThreads] = {};
  for (std::int64_t begin = 0; begin < visible; begin += kRowThreads) {
    double weight = 0, of_score = 0;
    if (begin + thread < visible) {
      const double s = score(begin + thread);
      weight = exp(s - greatest);
      of_score = rounds_scores ? s * s : 0;
    }
    weights[thread] = weight;
    of_scores[thread] = of_score;
    sum += weight;
    score_squares += weight * weight * of_score;
    __syncthreads();
    const int keys = static_cast<int>(visible - begin < kRowThreads ? visible - begin : kRowThreads);
    for (int i = 0; i * kRowThreads + thread < d; ++i) {
      for (int key = 0; key < keys; ++key) {
        const double value = Element<kType>::value(head.v[(begin + key) * head.key_stride + i * kRowThreads + thread]);
        const double term = weights[key] * value;
        values[i] += term;
        squares[i] += term * term * (1 + of_scores[key]);
      }
    }
    __syncthreads();
  }
  const auto add = [](double a, double b) { return a + b; };
  sum = over_block(sum, scratch, add);
  score_squares = over_block(score_squares, scratch, add) / sum / sum;
  for (int i = 0; i * kRowThreads + thread < d; ++i) {
    const std::int64_t at = query * head.query_stride + i * kRowThreads + thread;
    const double value = values[i] / sum;
    head.expected[at] = visible > 0 ? value : 0;
    head.scale[at] = visible > 0 ? attention_scale(value, squares[i] / sum / sum, score_squares, visible) : 0;
  }
}

// Fp32, and fast enough for every row: a block has 64 queries; a thread has 4 queries, their scores with 4 keys, and of every
// sixteenth column the sums. Two passes over the keys, the first for the greatest score.

constexpr int kSide = 64, kSixteen = 16, kThreads = kSixteen * kSixteen, kFour = 4;
constexpr int kTerms = 32;         // of a score at a time
constexpr int kPitch = kSide + 4;  // floats of a row in shared memory, which four neighbours are read from at once

template <int kDim>
struct Shared {
  union {
    struct {
      float q[kTerms][kPitch], k[kTerms][kPitch];
    };
    float v[kSixteen][kDim];
  };
  /// Of a key: its weights, and those that the square root of the squares has.
  float weights[kSide][kPitch], spread[kSide][kPitch];
};

template <DataType kType>
__device__ float load(const Storage<kType>* from) {
  return static_cast<float>(Element<kType>::value(*from));
}

/// Rows [begin, begin + 64) and columns [column, column + 32) of a matrix, transposed, zeros beyond `rows`.
template <DataType kType>
__device__ void load_transposed(float (&to)[kTerms][kPitch], const Storage<kType>* from, std::int64_t stride,
                                std::int64_t begin, std::int64_t rows, int column) {
  const int c = static_cast<int>(threadIdx.x) % kTerms;
  for (int r = static_cast<int>(threadIdx.x) / kTerms; r < kSide; r += kThreads / kTerms) {
    to[c][r] = begin + r < rows ? load<kType>(from + (begin + r) * stride + column + c) : 0;
  }
}

/// s[i][j]: query 4 y + i of the block's, key begin + 4 x + j.
template <DataType kType, int kDim>
__device__ void score_tile(float (&s)[kFour][kFour], Shared<kDim>& shared, const Head<kType>& head, std::int64_t query,
                           std::int64_t queries, std::int64_t begin, std::int64_t keys, int y, int x) {
  for (auto& row : s) {
    for (float& element : row) element = 0;
  }
  for (int column = 0; column < kDim; column += kTerms) {
    __syncthreads();
    load_transposed<kType>(shared.q, head.q, head.query_stride, query, queries, column);
    load_transposed<kType>(shared.k, head.k, head.key_stride, begin, keys, column);
    __syncthreads();
#pragma unroll 8
    for (int t = 0; t < kTerms; ++t) {
      const float4 q4 = *reinterpret_cast<const float4*>(&shared.q[t][kFour * y]);
      const float4 k4 = *reinterpret_cast<const float4*>(&shared.k[t][kFour * x]);
      const float q[kFour] = {q4.x, q4.y, q4.z, q4.w}, k[kFour] = {k4.x, k4.y, k4.z, k4.w};
#pragma unroll
      for (int i = 0; i < kFour; ++i) {
#pragma unroll
        for (int j = 0; j < kFour; ++j) s[i][j] = fmaf(q[i], k[j], s[i][j]);
      }
    }
  }
}

template <class Combine>
__device__ float over_sixteen(float value, Combine combine) {
  for (int distance = 1; distance < kSixteen; distance *= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
  return value;
}

template <DataType kType, int kDim>
__global__ void __launch_bounds__(kThreads)
    attention_tile_kernel(AttentionProblem p, AttentionArrays arrays, bool rounds_scores, std::int64_t batch,
                          std::int64_t first, std::int64_t count, double* expected, double* scale) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared<kDim>*>(memory);
  constexpr int kColumns = kDim / kSixteen;
  const int y = static_cast<int>(threadIdx.x) / kSixteen, x = static_cast<int>(threadIdx.x) % kSixteen;
  const std::int64_t query = std::int64_t{blockIdx.x} * kSide;
  const Head<kType> head(p, arrays, batch, blockIdx.y, first, expected, scale);
  const float factor = 1 / sqrtf(static_cast<float>(kDim));
  std::int64_t visible[kFour];
  for (int i = 0; i < kFour; ++i) visible[i] = visible_keys(p, first + query + kFour * y + i);
  const std::int64_t last = query + kSide < count ? query + kSide - 1 : count - 1, keys = visible_keys(p, first + last);

  float s[kFour][kFour], greatest[kFour];
  for (float& most : greatest) most = -std::numeric_limits<float>::infinity();
  for (std::int64_t begin = 0; begin < keys; begin += kSide) {
    score_tile<kType, kDim>(s, shared, head, query, count, begin, keys, y, x);
    for (int i = 0; i < kFour; ++i) {
      for (int j = 0; j < kFour; ++j) {
        if (begin + kFour * x + j < visible[i]) greatest[i] = fmaxf(greatest[i], factor * s[i][j]);
      }
    }
  }
  for (float& most : greatest) most = over_sixteen(most, [](float a, float b) { return fmaxf(a, b); });

  float sum[kFour] = {}, score_squares[kFour] = {}, values[kFour][kColumns] = {}, squares[kFour][kColumns] = {};
  for (std::int64_t begin = 0; begin < keys; begin += kSide) {
    score_tile<kType, kDim>(s, shared, head, query, count, begin, keys, y, x);
    for (int i = 0; i < kFour; ++i) {
      for (int j = 0; j < kFour; ++j) {
        const float score = factor * s[i][j], of_score = rounds_scores ? score * score : 0;
        const float weight = begin + kFour * x + j < visible[i] ? expf(score - greatest[i]) : 0;
        sum[i] += weight;
        score_squares[i] += weight * weight * of_score;
        shared.weights[kFour * x + j][kFour * y + i] = weight;
        shared.spread[kFour * x + j][kFour * y + i] = weight * weight * (1 + of_score);
      }
    }
    for (int chunk = 0; chunk < kSide && begin + chunk < keys; chunk += kSixteen) {
      __syncthreads();
      for (int at = static_cast<int>(threadIdx.x); at < kSixteen * kDim; at += kThreads) {
        const std::int64_t key = begin + chunk + at / kDim;
        shared.v[at / kDim][at % kDim] = key < keys ? load<kType>(head.v + key * head.key_stride + at % kDim) : 0;
      }
      __syncthreads();
#pragma unroll 2
      for (int key = 0; key < kSixteen; ++key) {
        const float4 w4 = *reinterpret_cast<const float4*>(&shared.weights[chunk + key][kFour * y]);
        const float4 r4 = *reinterpret_cast<const float4*>(&shared.spread[chunk + key][kFour * y]);
        const float weight[kFour] = {w4.x, w4.y, w4.z, w4.w}, spread[kFour] = {r4.x, r4.y, r4.z, r4.w};
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const float value = shared.v[key][kSixteen * c + x], square = value * value;
#pragma unroll
          for (int i = 0; i < kFour; ++i) {
            values[i][c] = fmaf(weight[i], value, values[i][c]);
            squares[i][c] = fmaf(spread[i], square, squares[i][c]);
          }
        }
      }
    }
  }
  const auto add = [](float a, float b) { return a + b; };
  for (int i = 0; i < kFour; ++i) {
    const double total = over_sixteen(sum[i], add), of_scores = over_sixteen(score_squares[i], add) / total / total;
    if (query + kFour * y + i >= count) continue;
    for (int c = 0; c < kColumns; ++c) {
      const std::int64_t at = (query + kFour * y + i) * head.query_stride + kSixteen * c + x;
      const double value = values[i][c] / total;
      head.expected[at] = visible[i] > 0 ? value : 0;
      head.scale[at] = visible[i] > 0 ? attention_scale(value, squares[i][c] / total / total, of_scores, visible[i]) : 0;
    }
  }
}

template <class Function>
void with_16_bit_type(DataType type, Function function) {
  if (type == DataType::fp16) return function.template operator()<DataType::fp16>();
  if (type == DataType::bf16) return function.template operator()<DataType::bf16>();
  throw Unsupported("attention in " + std::string(name(type)) + " has no reference");
}

void exact(const AttentionProblem& problem, const AttentionArrays& arrays, bool rounds_scores, std::int64_t batch,
           std::int64_t first, std::int64_t count, double* expected, double* scale, Stream stream) {
  if (problem.head_dim > kMostColumns) throw Unsupported("a head dimension above 256");
  const dim3 blocks(static_cast<unsigned>(count), static_cast<unsigned>(problem.heads));
  with_16_bit_type(problem.type, [&]<DataType kType>() {
    attention_row_kernel<kType>
        <<<blocks, kRowThreads, 0, stream>>>(problem, arrays, rounds_scores, batch, first, expected, scale);
  });
  check(cudaGetLastError());
}

template <int kDim>
void fast_at(const AttentionProblem& problem, const AttentionArrays& arrays, bool rounds_scores, std::int64_t batch,
             std::int64_t first, std::int64_t count, double* expected, double* scale, Stream stream) {
  const dim3 blocks(static_cast<unsigned>((count + kSide - 1) / kSide), static_cast<unsigned>(problem.heads));
  with_16_bit_type(problem.type, [&]<DataType kType>() {
    check(cudaFuncSetAttribute(attention_tile_kernel<kType, kDim>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               sizeof(Shared<kDim>)));
    attention_tile_kernel<kType, kDim><<<blocks, kThreads, sizeof(Shared<kDim>), stream>>>(
        problem, arrays, rounds_scores, batch, first, count, expected, scale);
  });
  check(cudaGetLastError());
}

void fast(const AttentionProblem& problem, const AttentionArrays& arrays, bool rounds_scores, std::int64_t batch,
          std::int64_t first, std::int64_t count, double* expected, double* scale, Stream stream) {
  const auto run = problem.head_dim == 64    ? fast_at<64>
                   : problem.head_dim == 128 ? fast_at<128>
                   : problem.head_dim == 256 ? fast_at<256>
                                             : nullptr;
  if (!run) throw Unsupported("a head dimension that is not 64, 128 or 256");
  run(problem, arrays, rounds_scores, batch, first, count, expected, scale, stream);
}

}  // namespace

const AttentionReference attention_reference = {exact, fast};

}  // namespace roofmark::cuda
