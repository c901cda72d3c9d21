// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// O = softmax(scale x Q K^T) V for every batch and head, the softmax over the keys; scale = 1 / sqrt(head_dim). Query heads
/// share key-value heads in order: head h takes kv head h / (heads / kv_heads). Causal: query i sees the keys j with
/// j <= i + keys - queries (the last query sees all), and a row that sees none is 0. A NaN in gives NaN in what sees it; one
/// in V may also reach rows whose mask ends shortly before it, where a way multiplies by zeros.
struct AttentionProblem {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, head_dim = 64;
  DataType type = DataType::bf16;
  bool causal = false;
};

/// How many keys a query sees: the first ones.
constexpr std::int64_t visible_keys(const AttentionProblem& problem, std::int64_t query) {
  if (!problem.causal) return problem.keys;
  const std::int64_t last = query + problem.keys - problem.queries;
  return last < 0 ? 0 : last < problem.keys ? last + 1 : problem.keys;
}

/// Dense and row-major: Q and O are [batch, queries, heads, head_dim], K and V [batch, keys, kv_heads, head_dim].
struct AttentionArrays {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
};

/// One way to one problem: owns its handles and descriptors, no device memory.
class AttentionPlan {
 public:
  virtual ~AttentionPlan() = default;
  /// Scratch beyond Q, K, V and O, of which launches that follow one another need only one.
  virtual std::size_t workspace_bytes() const = 0;
  /// Enqueues one execution; arrays and workspace are 256-byte aligned. Throws DeviceError.
  virtual void launch(const AttentionArrays& arrays, void* workspace, Stream stream) const = 0;
  /// Whether the scores are rounded to the type before the softmax, as they are when they stand in memory in that type.
  virtual bool rounds_scores() const { return false; }
  /// What a reader wants to know of the way: tile, stages, algorithm. Empty when there is nothing to say.
  virtual std::string algorithm() const { return {}; }
};

/// A way to compute attention.
///   naive        one thread a score, the scores in memory
///   unfused      the library's GEMM, a softmax, the library's GEMM, the scores in memory
///   tiled_mma    online softmax, the scores never in memory; mma.sync and cp.async, compute capability 8.0 and newer
///   tiled_wgmma  the same by TMA, wgmma and specialised warps, compute capability 9.0 alone
///   tiled        the same on the CPU
///   cudnn        the vendor's fused kernel
struct AttentionKernels {
  std::string_view how;
  /// Throws Unsupported, with the reason, for a problem or a device it has no kernel for.
  std::unique_ptr<AttentionPlan> (*plan)(const AttentionProblem& problem);
  /// Why a kind of device cannot do it at all (its compute capability, 0 for the CPU), empty when it can.
  std::string (*unsupported)(int compute_capability);
  /// The most workspace that a plan may ask for, known before there is one; null where it is none.
  std::size_t (*workspace_bytes)(const AttentionProblem& problem) = nullptr;
};

namespace cuda {
ROOFMARK_KERNELS AttentionKernels attention_naive, attention_unfused, attention_tiled_mma, attention_tiled_wgmma,
    attention_cudnn;
}
namespace cpu {
ROOFMARK_KERNELS AttentionKernels attention_naive, attention_tiled;
}

}  // namespace roofmark
