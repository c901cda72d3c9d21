// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/attention.hpp"
#include "kernels/cuda/attention_softmax.hpp"
#include "kernels/cuda/cublaslt.hpp"

namespace roofmark::cuda {

namespace {

constexpr std::size_t kLibraryBytes = 32u << 20;
/// Elements from one row of scores to the next: whole 16-byte vectors.
std::int64_t pitch_of(const AttentionProblem& p) { return (p.keys + 7) / 8 * 8; }

/// One strided batch of products D = A B in the library's column-major order.
struct Product {
  cublaslt::Operation operation;
  cublaslt::Matrix a, b, d;
  cublasLtMatmulAlgo_t algorithm;

  Product(const cublaslt::Handle& handle, bool transpose_a, cublaslt::Matrix a_layout, cublaslt::Matrix b_layout,
          cublaslt::Matrix d_layout)
      : operation(cublaslt::make_operation(CUBLAS_COMPUTE_32F, CUDA_R_32F, transpose_a, false)),
        a(std::move(a_layout)),
        b(std::move(b_layout)),
        d(std::move(d_layout)) {
    // Heads are aligned to 64 elements, matrices of scores to 8. Sums are rounded once, even if k is split.
    constexpr std::uint32_t kReductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    algorithm = cublaslt::find_algorithms(handle, operation, a, b, d, d, {kLibraryBytes, 16, kReductions}, 1).front().algo;
  }

  void run(const cublaslt::Handle& handle, float alpha, const void* from_a, const void* from_b, void* to, void* workspace,
           Stream stream) const {
    constexpr float kZero = 0;
    check(cublasLtMatmul(handle.get(), operation.get(), &alpha, from_a, a.get(), from_b, b.get(), &kZero, to, d.get(), to,
                         d.get(), &algorithm, workspace, kLibraryBytes, stream));
  }
};

// The heads that share keys are one batch of products with the same K (and V); if none do, all heads of a sequence are one
// batch. Our rows are the library's columns: scores^T [keys, queries] = K Q^T, O^T [head_dim, queries] = V^T P^T.
class UnfusedPlan final : public AttentionPlan {
 public:
  explicit UnfusedPlan(const AttentionProblem& p)
      : problem_(checked(p)),
        together_(static_cast<int>(p.heads == p.kv_heads ? p.heads : p.heads / p.kv_heads)),
        handle_(cublaslt::make_handle()),
        scores_(handle_, true, keys_matrix(), queries_matrix(), scores_matrix()),
        output_(handle_, false, keys_matrix(), scores_matrix(), queries_matrix()) {}

  static std::size_t all_bytes(const AttentionProblem& p) { return kLibraryBytes + scores_bytes(p); }
  std::size_t workspace_bytes() const override { return all_bytes(problem_); }

  void launch(const AttentionArrays& arrays, void* workspace, Stream stream) const override {
    const AttentionProblem& p = problem_;
    auto* const scores = static_cast<std::byte*>(workspace) + kLibraryBytes;
    const auto in = [&](const void* array, std::int64_t element) {
      return static_cast<const std::byte*>(array) + element * static_cast<std::int64_t>(size_of(p.type));
    };
    const auto for_each_batch = [&](auto run) {
      for (std::int64_t batch = 0; batch < p.batch; ++batch) {
        for (std::int64_t head = 0; head < p.heads; head += together_) {
          const std::int64_t kv_head = head / (p.heads / p.kv_heads);
          run((batch * p.queries * p.heads + head) * p.head_dim, (batch * p.keys * p.kv_heads + kv_head) * p.head_dim,
              (batch * p.heads + head) * p.queries * pitch_of(p));
        }
      }
    };
    for_each_batch([&](std::int64_t query, std::int64_t key, std::int64_t score) {
      scores_.run(handle_, 1 / std::sqrt(static_cast<float>(p.head_dim)), in(arrays.k, key), in(arrays.q, query),
                  const_cast<std::byte*>(in(scores, score)), workspace, stream);
    });
    attention_softmax(p, scores, pitch_of(p), stream);
    for_each_batch([&](std::int64_t query, std::int64_t key, std::int64_t score) {
      output_.run(handle_, 1, in(arrays.v, key), in(scores, score), const_cast<std::byte*>(in(arrays.o, query)), workspace,
                  stream);
    });
  }

  bool rounds_scores() const override { return true; }
  std::string algorithm() const override { return "scores in " + std::string(name(problem_.type)); }

 private:
  static const AttentionProblem& checked(const AttentionProblem& p) {
    if (p.type != DataType::fp16 && p.type != DataType::bf16) {
      throw Unsupported("unfused attention supports fp16 and bf16, not " + std::string(name(p.type)));
    }
    if (p.head_dim % 64 != 0) throw Unsupported("a head dimension that is not a multiple of 64");
    if (p.keys > kMostSoftmaxKeys) throw Unsupported("more than 32768 keys");
    if (p.batch * p.heads * p.queries > std::numeric_limits<std::int32_t>::max())
      throw Unsupported("2^31 or more rows of scores");
    return p;
  }
  static std::size_t scores_bytes(const AttentionProblem& p) {
    return static_cast<std::size_t>(p.batch * p.heads * p.queries * pitch_of(p)) * size_of(p.type);
  }

  cublaslt::Matrix keys_matrix() const {
    const AttentionProblem& p = problem_;
    return cublaslt::make_matrix(p.type, p.head_dim, p.keys, p.kv_heads * p.head_dim, together_,
                                 p.heads == p.kv_heads ? p.head_dim : 0);
  }
  cublaslt::Matrix queries_matrix() const {
    const AttentionProblem& p = problem_;
    return cublaslt::make_matrix(p.type, p.head_dim, p.queries, p.heads * p.head_dim, together_, p.head_dim);
  }
  cublaslt::Matrix scores_matrix() const {
    const AttentionProblem& p = problem_;
    return cublaslt::make_matrix(p.type, p.keys, p.queries, pitch_of(p), together_, p.queries * pitch_of(p));
  }

  AttentionProblem problem_;
  int together_;
  cublaslt::Handle handle_;
  Product scores_, output_;
};

std::unique_ptr<AttentionPlan> plan(const AttentionProblem& problem) { return std::make_unique<UnfusedPlan>(problem); }

}  // namespace

const AttentionKernels attention_unfused = {"unfused", plan, UnfusedPlan::all_bytes};

}  // namespace roofmark::cuda
