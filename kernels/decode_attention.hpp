// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/attention.hpp"

namespace roofmark {

/// Attention as AttentionProblem and AttentionArrays have it, of one query (queries = 1, not causal) against a cache of keys:
/// each key and value is read once, and multiplied with the query heads that share it. The keys are split over the device; of
/// each part stand the greatest score, the sum of the exponentials and the weighted values in the workspace, and what comes
/// last adds them up. CUDA: bf16 and fp16. CPU: fp32.
struct DecodeAttentionKernels {
  /// Head dimensions 64, 128 and 256 on CUDA, multiples of 8 up to 256 on the CPU.
  bool (*supports)(const AttentionProblem& problem);
  std::size_t (*workspace_bytes)(const AttentionProblem& problem);
  /// The arrays and the workspace are 256-byte aligned; the workspace is zeroed before its first launch, and every launch
  /// leaves it ready for the next. The order of the additions depends on the problem and the device alone.
  void (*launch)(const AttentionProblem& problem, const AttentionArrays& arrays, void* workspace, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS DecodeAttentionKernels decode_attention;
}
namespace cpu {
ROOFMARK_KERNELS DecodeAttentionKernels decode_attention;
}

}  // namespace roofmark
