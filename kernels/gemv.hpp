// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// How the weights of a matrix-vector product are stored: in the type of the vectors, or quantised to fp8 (e4m3), int8, or int4
/// (two per byte).
enum class GemvWeights : std::uint8_t { plain, fp8, int8, int4 };

inline constexpr GemvWeights kGemvWeights[] = {GemvWeights::plain, GemvWeights::fp8, GemvWeights::int8, GemvWeights::int4};

/// Adjacent weights of a row that share a scale.
inline constexpr int kGemvGroup = 128;

/// y[m] = W[m, k] x[k]; W is row-major and dense. Quantised: W[r, c] = scales[r, c / kGemvGroup] x the stored number, k is a
/// multiple of kGemvGroup, and the scales are row-major. int4: byte j of a row holds weight 2 j in its lower four bits and 2 j
/// + 1 in the upper ones, both in two's complement. Sums are in fp32 and rounded once, to the type of y.
struct GemvProblem {
  std::int64_t m = 1, k = 1;
  DataType type = DataType::bf16;  ///< of x, y and the scales
  GemvWeights weights = GemvWeights::plain;
};

/// Aligned to their elements; quantised weights and their x to 16 bytes.
struct GemvArrays {
  const void* w = nullptr;
  const void* scales = nullptr;  ///< null where the weights are plain
  const void* x = nullptr;
  void* y = nullptr;
};

constexpr std::string_view name(GemvWeights weights, DataType type) {
  constexpr std::string_view names[] = {"", "fp8", "int8", "int4"};
  return weights == GemvWeights::plain ? name(type) : names[static_cast<int>(weights)];
}

constexpr std::size_t gemv_scale_count(const GemvProblem& p) {
  return p.weights == GemvWeights::plain ? 0 : static_cast<std::size_t>(p.m * (p.k / kGemvGroup));
}
constexpr std::size_t gemv_weight_bytes(const GemvProblem& p) {
  const auto count = static_cast<std::size_t>(p.m * p.k);
  if (p.weights == GemvWeights::plain) return count * size_of(p.type);
  return p.weights == GemvWeights::int4 ? count / 2 : count;
}

/// CUDA: bf16 and fp16. CPU: these and fp32.
struct GemvKernels {
  bool (*supports)(const GemvProblem& problem);
  /// The order of the additions depends on the problem, the device and the arrays' alignment only. Throws Unsupported for
  /// quantised weights if x does not fit into the shared memory of a block.
  void (*launch)(const GemvProblem& problem, const GemvArrays& arrays, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS GemvKernels gemv;
}
namespace cpu {
ROOFMARK_KERNELS GemvKernels gemv;
}

}  // namespace roofmark
