// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/attention.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/base/element.hpp"

namespace roofmark::cuda {

namespace {

template <DataType kType>
using Storage = typename Element<kType>::Storage;

template <DataType kType>
__device__ float load(const Storage<kType>* from) {
  return static_cast<float>(Element<kType>::value(*from));
}

constexpr int kThreads = 256, kAcross = 32, kDown = kThreads / kAcross;
constexpr int kMostDown = 65535;  // blocks along the grid's second dimension

/// scores[batch][head][query][key], one thread each. Scores of keys that a query does not see are not written.
template <DataType kType>
__global__ void __launch_bounds__(kThreads)
    attention_scores_kernel(float* scores, const Storage<kType>* q, const Storage<kType>* k, AttentionProblem p, float scale) {
  const std::int64_t key = std::int64_t{blockIdx.x} * kAcross + threadIdx.x;
  const std::int64_t query = std::int64_t{blockIdx.y} * kDown + threadIdx.y;
  const std::int64_t batch = blockIdx.z / p.heads, head = blockIdx.z % p.heads, kv_head = head / (p.heads / p.kv_heads);
  if (query >= p.queries || key >= visible_keys(p, query)) return;
  const Storage<kType>* const from_q = q + ((batch * p.queries + query) * p.heads + head) * p.head_dim;
  const Storage<kType>* const from_k = k + ((batch * p.keys + key) * p.kv_heads + kv_head) * p.head_dim;
  float sum = 0;
  for (std::int64_t t = 0; t < p.head_dim; ++t) sum += load<kType>(from_q + t) * load<kType>(from_k + t);
  scores[(blockIdx.z * p.queries + query) * p.keys + key] = scale * sum;
}

template <class Combine>
__device__ float over_block(float value, Combine combine) {
  __shared__ float shared[kThreads];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  const float all = shared[0];
  __syncthreads();
  return all;
}

/// Scores to probabilities, one block per row.
__global__ void __launch_bounds__(kThreads) attention_softmax_kernel(float* scores, AttentionProblem p) {
  const std::int64_t row = blockIdx.x, visible = visible_keys(p, row % p.queries);
  float* const at = scores + row * p.keys;
  float greatest = -std::numeric_limits<float>::infinity(), sum = 0;
  for (std::int64_t key = threadIdx.x; key < visible; key += kThreads) greatest = fmaxf(greatest, at[key]);
  greatest = over_block(greatest, [](float a, float b) { return fmaxf(a, b); });
  for (std::int64_t key = threadIdx.x; key < visible; key += kThreads) sum += at[key] = expf(at[key] - greatest);
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (std::int64_t key = threadIdx.x; key < visible; key += kThreads) at[key] /= sum;
}

/// One thread per element of O.
template <DataType kType>
__global__ void __launch_bounds__(kThreads)
    attention_output_kernel(Storage<kType>* o, const float* scores, const Storage<kType>* v, AttentionProblem p) {
  const std::int64_t element = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (element >= p.batch * p.queries * p.heads * p.head_dim) return;
  const std::int64_t column = element % p.head_dim, head = element / p.head_dim % p.heads;
  const std::int64_t query = element / p.head_dim / p.heads % p.queries, batch = element / p.head_dim / p.heads / p.queries;
  const float* const row = scores + ((batch * p.heads + head) * p.queries + query) * p.keys;
  const std::int64_t stride = p.kv_heads * p.head_dim;
  const Storage<kType>* const from = v + batch * p.keys * stride + head / (p.heads / p.kv_heads) * p.head_dim + column;
  const std::int64_t visible = visible_keys(p, query);
  float sum = 0;
  for (std::int64_t key = 0; key < visible; ++key) sum += row[key] * load<kType>(from + key * stride);
  o[element] = Element<kType>::rounded(sum);
}

template <DataType kType>
void launch_as(const AttentionProblem& p, const AttentionArrays& arrays, float* scores, Stream stream) {
  const auto as = [](const void* data) { return static_cast<const Storage<kType>*>(data); };
  const auto blocks_of = [](std::int64_t items, std::int64_t each) { return static_cast<unsigned>((items + each - 1) / each); };
  const dim3 tiles(blocks_of(p.keys, kAcross), blocks_of(p.queries, kDown), static_cast<unsigned>(p.batch * p.heads));
  attention_scores_kernel<kType><<<tiles, dim3(kAcross, kDown), 0, stream>>>(scores, as(arrays.q), as(arrays.k), p,
                                                                             1 / std::sqrt(static_cast<float>(p.head_dim)));
  check(cudaGetLastError());
  const std::int64_t rows = p.batch * p.heads * p.queries;
  attention_softmax_kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(scores, p);
  check(cudaGetLastError());
  attention_output_kernel<kType><<<blocks_of(rows * p.head_dim, kThreads), kThreads, 0, stream>>>(
      static_cast<Storage<kType>*>(arrays.o), scores, as(arrays.v), p);
  check(cudaGetLastError());
}

class NaivePlan final : public AttentionPlan {
 public:
  explicit NaivePlan(const AttentionProblem& problem) : problem_(problem) {
    if (problem.type != DataType::fp16 && problem.type != DataType::bf16) {
      throw Unsupported("naive attention supports fp16 and bf16, not " + std::string(name(problem.type)));
    }
    constexpr std::int64_t kMostBlocks = std::numeric_limits<std::int32_t>::max();
    if (problem.queries > std::int64_t{kMostDown} * kDown || problem.batch * problem.heads > kMostDown ||
        problem.batch * problem.heads * problem.queries * problem.head_dim / kThreads >= kMostBlocks) {
      throw Unsupported("more queries or heads than a grid has blocks");
    }
  }

  static std::size_t scores_bytes(const AttentionProblem& p) {
    return static_cast<std::size_t>(p.batch * p.heads * p.queries * p.keys) * sizeof(float);
  }
  std::size_t workspace_bytes() const override { return scores_bytes(problem_); }

  void launch(const AttentionArrays& arrays, void* workspace, Stream stream) const override {
    const auto launch = problem_.type == DataType::fp16 ? launch_as<DataType::fp16> : launch_as<DataType::bf16>;
    launch(problem_, arrays, static_cast<float*>(workspace), stream);
  }

  std::string algorithm() const override { return "scores in fp32"; }

 private:
  AttentionProblem problem_;
};

std::unique_ptr<AttentionPlan> plan(const AttentionProblem& problem) { return std::make_unique<NaivePlan>(problem); }

}  // namespace

const AttentionKernels attention_naive = {"naive", plan, NaivePlan::scores_bytes};

}  // namespace roofmark::cuda
