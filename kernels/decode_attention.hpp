// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/attention.hpp"

namespace roofmark {

/// Attention as in AttentionProblem and AttentionArrays, for one query (queries = 1, not causal) against a cache of keys: each
/// key and value is read once and multiplied with all query heads that share it. The keys are split over the device. Each part
/// leaves its maximum score, sum of exponentials and weighted values in the workspace; the last block to finish merges them.
/// CUDA: bf16 and fp16. CPU: fp32.
struct DecodeAttentionKernels {
  /// Head dimensions 64, 128 and 256 on CUDA, multiples of 8 up to 256 on the CPU.
  bool (*supports)(const AttentionProblem& problem);
  std::size_t (*workspace_bytes)(const AttentionProblem& problem);
  /// The arrays and the workspace are 256-byte aligned. The workspace is zeroed before its first launch, and every launch
  /// leaves it ready for the next. The order of the additions depends on the problem and the device only.
  void (*launch)(const AttentionProblem& problem, const AttentionArrays& arrays, void* workspace, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS DecodeAttentionKernels decode_attention;
}
namespace cpu {
ROOFMARK_KERNELS DecodeAttentionKernels decode_attention;
}

}  // namespace roofmark
