// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/check.hpp"
#include "kernels/cpu/attention_tiles.hpp"

namespace roofmark::cpu {
namespace {

void require_fp32(const AttentionProblem& problem) {
  if (problem.type != DataType::fp32)
    throw Unsupported("attention on the CPU supports fp32, not " + std::string(name(problem.type)));
  if (problem.head_dim % 8 != 0) throw Unsupported("a head dimension that is not a multiple of 8");
}

/// One head's rows of the arrays; strides are in floats.
struct Head {
  const float *q, *k, *v;
  float* o;
  std::int64_t query_stride, key_stride;

  Head(const AttentionProblem& p, const AttentionArrays& arrays, std::int64_t batch, std::int64_t head)
      : query_stride(p.heads * p.head_dim), key_stride(p.kv_heads * p.head_dim) {
    const std::int64_t queries = batch * p.queries * query_stride + head * p.head_dim;
    const std::int64_t keys = batch * p.keys * key_stride + head / (p.heads / p.kv_heads) * p.head_dim;
    q = static_cast<const float*>(arrays.q) + queries;
    k = static_cast<const float*>(arrays.k) + keys;
    v = static_cast<const float*>(arrays.v) + keys;
    o = static_cast<float*>(arrays.o) + queries;
  }
};

class NaivePlan final : public AttentionPlan {
 public:
  explicit NaivePlan(const AttentionProblem& problem) : problem_(problem) { require_fp32(problem); }

  static std::size_t scores_bytes(const AttentionProblem& p) {
    return static_cast<std::size_t>(p.batch * p.heads * p.queries * p.keys) * sizeof(float);
  }
  std::size_t workspace_bytes() const override { return scores_bytes(problem_); }

  // Three loops, as in the formula: scores, softmax, output.
  void launch(const AttentionArrays& arrays, void* workspace, Stream) const override {
    const AttentionProblem& p = problem_;
    const float scale = 1 / std::sqrt(static_cast<float>(p.head_dim));
    auto* scores = static_cast<float*>(workspace);
#pragma omp parallel
    {
#pragma omp for collapse(3)
      for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t h = 0; h < p.heads; ++h) {
          for (std::int64_t i = 0; i < p.queries; ++i) {
            const Head head(p, arrays, b, h);
            float* row = scores + ((b * p.heads + h) * p.queries + i) * p.keys;
            const std::int64_t visible = visible_keys(p, i);
            for (std::int64_t j = 0; j < visible; ++j) {
              float sum = 0;
              for (std::int64_t t = 0; t < p.head_dim; ++t) {
                sum += head.q[i * head.query_stride + t] * head.k[j * head.key_stride + t];
              }
              row[j] = scale * sum;
            }
          }
        }
      }
#pragma omp for
      for (std::int64_t r = 0; r < p.batch * p.heads * p.queries; ++r) {
        float* row = scores + r * p.keys;
        const std::int64_t visible = visible_keys(p, r % p.queries);
        float greatest = -std::numeric_limits<float>::infinity(), sum = 0;
        for (std::int64_t j = 0; j < visible; ++j) greatest = std::fmax(greatest, row[j]);
        for (std::int64_t j = 0; j < visible; ++j) sum += row[j] = std::exp(row[j] - greatest);
        for (std::int64_t j = 0; j < visible; ++j) row[j] /= sum;
      }
#pragma omp for collapse(3)
      for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t h = 0; h < p.heads; ++h) {
          for (std::int64_t i = 0; i < p.queries; ++i) {
            const Head head(p, arrays, b, h);
            const float* row = scores + ((b * p.heads + h) * p.queries + i) * p.keys;
            float* to = head.o + i * head.query_stride;
            for (std::int64_t c = 0; c < p.head_dim; ++c) to[c] = 0;
            const std::int64_t visible = visible_keys(p, i);
            for (std::int64_t j = 0; j < visible; ++j) {
              for (std::int64_t c = 0; c < p.head_dim; ++c) to[c] += row[j] * head.v[j * head.key_stride + c];
            }
          }
        }
      }
    }
  }

 private:
  AttentionProblem problem_;
};

class TiledPlan final : public AttentionPlan {
 public:
  explicit TiledPlan(const AttentionProblem& problem)
      : problem_(problem), tiles_(attention_tiles().front()), threads_(omp_get_max_threads()) {
    require_fp32(problem);
    if (problem.keys > std::numeric_limits<std::int32_t>::max()) throw Unsupported("2^31 or more keys");
  }

  static std::size_t scratch_bytes(const AttentionProblem& problem) {
    const std::size_t bytes = attention_tiles().front().scratch_floats(problem.head_dim) * sizeof(float);
    return (bytes + kLine - 1) / kLine * kLine;
  }
  static std::size_t all_scratch_bytes(const AttentionProblem& problem) {
    return static_cast<std::size_t>(omp_get_max_threads()) * scratch_bytes(problem);
  }
  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(threads_) * scratch_bytes(problem_); }

  void launch(const AttentionArrays& arrays, void* workspace, Stream) const override {
    const AttentionProblem& p = problem_;
    const std::int64_t most = tiles_.most_queries, blocks = (p.queries + most - 1) / most;
    const float scale = std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(p.head_dim));
    // With a causal mask the last queries see the most keys: the longest blocks run first.
#pragma omp parallel for collapse(3) schedule(dynamic) num_threads(threads_)
    for (std::int64_t nth = 0; nth < blocks; ++nth) {
      for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t h = 0; h < p.heads; ++h) {
          const Head head(p, arrays, b, h);
          const std::int64_t first = (blocks - 1 - nth) * most;
          AttentionBlock block;
          block.q = head.q + first * head.query_stride;
          block.k = head.k;
          block.v = head.v;
          block.o = head.o + first * head.query_stride;
          block.query_stride = head.query_stride;
          block.key_stride = head.key_stride;
          block.queries = std::min(most, p.queries - first);
          block.head_dim = p.head_dim;
          block.keys = p.keys;
          block.visible = p.causal ? first + 1 + p.keys - p.queries : p.keys;
          block.visible_step = p.causal ? 1 : 0;
          block.scale = scale;
          block.scratch = reinterpret_cast<float*>(static_cast<std::byte*>(workspace) +
                                                   static_cast<std::size_t>(omp_get_thread_num()) * scratch_bytes(p));
          tiles_.attend(block);
        }
      }
    }
  }

  std::string algorithm() const override {
    return std::string(tiles_.instructions) + ", blocks of " + std::to_string(tiles_.most_queries) + " queries";
  }

 private:
  static constexpr std::size_t kLine = 64;

  AttentionProblem problem_;
  AttentionTiles tiles_;
  int threads_;
};

template <class Plan>
std::unique_ptr<AttentionPlan> plan(const AttentionProblem& problem) {
  return std::make_unique<Plan>(problem);
}

}  // namespace

const AttentionKernels attention_naive = {"naive", plan<NaivePlan>, NaivePlan::scores_bytes};
const AttentionKernels attention_tiled = {"tiled", plan<TiledPlan>, TiledPlan::all_scratch_bytes};

}  // namespace roofmark::cpu
