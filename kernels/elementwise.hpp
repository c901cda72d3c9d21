// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// Operations on one element at a time, over x [rows, columns]:
///   add                 out = x + y
///   bias_add            out = x + bias[column]
///   relu                out = max(x, 0)
///   gelu_tanh           out = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
///   gelu_erf            out = x / 2 (1 + erf(x / sqrt(2)))
///   silu                out = x / (1 + exp(-x))
///   swiglu              out = silu(x) y
///   residual_add        out = y + x, y and out in fp32
///   bias_gelu_residual  out = gelu_tanh(x + bias[column]) + y
///   cast                out = x, in the type `to`
///   rope                pairs (a, b) = (x[i], x[i + d / 2]) of each head, i under d / 2, are turned by the token's angles:
///                       out = (a cos - b sin, b cos + a sin); a row is a token, its columns heads x d, `head` is d
///   embedding           out[t] = table[ids[t]]; x is the table, [vocabulary, columns]
/// and AdamW in place on p, m and v in fp32 with the gradient g = x, in one go and in its steps:
///   adamw               adamw_decay, adamw_first, adamw_second and adamw_update
///   adamw_decay         p = p (1 - rate decay)
///   adamw_first         m = beta1 m + (1 - beta1) g
///   adamw_second        v = beta2 v + (1 - beta2) g^2
///   adamw_update        p = p - rate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)
enum class ElementwiseOp {
  add,
  bias_add,
  relu,
  gelu_tanh,
  gelu_erf,
  silu,
  swiglu,
  residual_add,
  bias_gelu_residual,
  cast,
  rope,
  embedding,
  adamw,
  adamw_decay,
  adamw_first,
  adamw_second,
  adamw_update
};

constexpr std::string_view name(ElementwiseOp op) {
  constexpr std::string_view names[] = {"add",          "bias_add",    "relu",         "gelu_tanh",          "gelu_erf",
                                        "silu",         "swiglu",      "residual_add", "bias_gelu_residual", "cast",
                                        "rope",         "embedding",   "adamw",        "adamw_decay",        "adamw_first",
                                        "adamw_second", "adamw_update"};
  return names[static_cast<int>(op)];
}

/// AdamW (Loshchilov and Hutter, 2019) with the usual constants at step t = 100.
struct AdamW {
  static constexpr float kRate = 1e-3F, kDecay = 0.01F, kEpsilon = 1e-8F;
  static constexpr float kBeta1 = 0.9F, kBeta2 = 0.999F;
  static constexpr float kRest1 = 0.1F, kRest2 = 0.001F;  ///< 1 - beta, which a difference in fp32 would miss
  static constexpr float kKept = 1 - kRate * kDecay;
  /// 1 - beta1^100, and the root of 1 - beta2^100.
  static constexpr float kCorrection1 = 0.99997344F, kRootCorrection2 = 0.30855770F;
};

struct ElementwiseProblem {
  ElementwiseOp op = ElementwiseOp::add;
  DataType type = DataType::fp32;  ///< of x; y, bias and out are like it where nothing else is said
  DataType to = DataType::fp32;    ///< cast
  std::int64_t rows = 1, columns = 1;
  std::int64_t head = 0;        ///< rope: d, even, divides columns
  std::int64_t vocabulary = 0;  ///< embedding

  std::int64_t elements() const { return rows * columns; }
};

constexpr bool is_adamw(ElementwiseOp op) { return op >= ElementwiseOp::adamw; }
constexpr DataType output_type(const ElementwiseProblem& p) {
  return p.op == ElementwiseOp::cast ? p.to : p.op == ElementwiseOp::residual_add || is_adamw(p.op) ? DataType::fp32 : p.type;
}

/// Dense and row-major; arrays that the operation does not use are null. Aligned to their elements only, and none overlaps
/// another.
struct ElementwiseArrays {
  const void* x = nullptr;
  const void* y = nullptr;         ///< [rows, columns]
  const void* bias = nullptr;      ///< [columns]
  const float* cosines = nullptr;  ///< [rows, head / 2], like sines
  const float* sines = nullptr;
  const std::int32_t* ids = nullptr;  ///< [rows], from 0 to vocabulary - 1
  void* out = nullptr;                ///< [rows, columns]
  float* p = nullptr;                 ///< [rows, columns], like m and v
  float* m = nullptr;
  float* v = nullptr;
  /// For the reference alone: p, m and v before the launch.
  const float* p_before = nullptr;
  const float* m_before = nullptr;
  const float* v_before = nullptr;
};

enum class ElementwiseOutput { out, p, m, v };

/// Computed in fp32 and rounded once; results below 2^-126 (1 + |x|) may be 0. Fewer than 2^32 packets of 16 bytes.
struct ElementwiseKernels {
  bool (*supports)(const ElementwiseProblem& problem);
  void (*launch)(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, Stream stream);
  /// The expected values of elements [first, first + count) of `which`, in float64, and the scale of the error; device arrays
  /// of `count` doubles.
  void (*reference)(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, ElementwiseOutput which,
                    std::int64_t first, std::int64_t count, double* expected, double* scale, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS ElementwiseKernels elementwise;
}
namespace cpu {
ROOFMARK_KERNELS ElementwiseKernels elementwise;
}

}  // namespace roofmark
