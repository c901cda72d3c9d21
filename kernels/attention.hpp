// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// O = softmax(scale x Q K^T) V for every batch and head, with the softmax over the keys and scale = 1 / sqrt(head_dim). Query
/// heads share key-value heads in order: head h uses kv head h / (heads / kv_heads). Causal: query i sees the keys j with j <=
/// i + keys - queries, so the last query sees all; a row that sees no key is 0. A NaN in an input makes every row that sees it
/// NaN. A NaN in V may also reach rows whose mask ends shortly before it, in implementations that multiply it by zeros.
struct AttentionProblem {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, head_dim = 64;
  DataType type = DataType::bf16;
  bool causal = false;
};

/// The number of keys that a query sees; they are the first ones.
constexpr std::int64_t visible_keys(const AttentionProblem& problem, std::int64_t query) {
  if (!problem.causal) return problem.keys;
  const std::int64_t last = query + problem.keys - problem.queries;
  return last < 0 ? 0 : last < problem.keys ? last + 1 : problem.keys;
}

/// Dense and row-major: Q and O are [batch, queries, heads, head_dim], K and V are [batch, keys, kv_heads, head_dim].
struct AttentionArrays {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
};

/// One implementation, prepared for one problem. Owns its handles and descriptors, but no device memory.
class AttentionPlan {
 public:
  virtual ~AttentionPlan() = default;
  /// Scratch memory beyond Q, K, V and O. Launches that follow one another may share it.
  virtual std::size_t workspace_bytes() const = 0;
  /// Enqueues one execution; arrays and workspace are 256-byte aligned. Throws DeviceError.
  virtual void launch(const AttentionArrays& arrays, void* workspace, Stream stream) const = 0;
  /// Whether the scores are rounded to the type before the softmax, because they are stored in memory in that type.
  virtual bool rounds_scores() const { return false; }
  /// Details for the reader of a result: tile, stages, algorithm. May be empty.
  virtual std::string algorithm() const { return {}; }
};

/// An implementation of attention.
///   naive        one thread per score, scores in memory
///   unfused      library GEMM, softmax, library GEMM, scores in memory
///   tiled_mma    online softmax, scores never in memory; mma.sync and cp.async
///   tiled_wgmma  the same with TMA, wgmma and specialised warps, compute capability 9.0 only
///   tiled        the same on the CPU
///   cudnn        the vendor's fused kernel
struct AttentionKernels {
  std::string_view how;
  /// Throws Unsupported, with the reason, for a problem or device without a kernel.
  std::unique_ptr<AttentionPlan> (*plan)(const AttentionProblem& problem);
  /// Upper bound of a plan's workspace, known before the plan exists; null if no plan needs any.
  std::size_t (*workspace_bytes)(const AttentionProblem& problem) = nullptr;
  /// Why a kind of device is not supported at all (by compute capability, 0 for the CPU); empty if it is.
  std::string (*unsupported)(int compute_capability) = [](int) { return std::string(); };
};

namespace cuda {
ROOFMARK_KERNELS AttentionKernels attention_naive, attention_unfused, attention_tiled_mma, attention_tiled_wgmma,
    attention_cudnn;
}
namespace cpu {
ROOFMARK_KERNELS AttentionKernels attention_naive, attention_tiled;
}

}  // namespace roofmark
