// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/base/kernel.hpp"
#include "kernels/base/operation.hpp"

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

/// An operation's name, the arrays that it reads beside x, its counts, and what it loses in fp32 before its result is rounded,
/// in roundoffs of fp32:
///   add, rope       1 for the sum; and 1 for the products
///   silu            4 for the exponential, 1 for the sum, 2 for the reciprocal, 2 for the products; swiglu 1 more
///   gelu_tanh       as silu, and 4 for the argument of the exponential; bias_gelu_residual 2 more
///   gelu_erf        10 for the polynomial, 8 for its argument, 4 + 2 for the exponential and its argument, 6 for the rest;
///                   1.1e-5 for the tail of narrow types
///   adamw           m 2, v 3; p 2 for m, 3 for the root of v, 4 for the divisor, 3 for the rest
struct ElementwiseOperation {
  ElementwiseOp op;
  std::string_view name;
  bool reads_y, reads_bias;
  OperationCounts counts;
  double loss_in_fp32;
};
inline constexpr ElementwiseOperation kElementwiseOperations[] = {
    {ElementwiseOp::add, "add", true, false, {1, 0}, 1},
    {ElementwiseOp::bias_add, "bias_add", false, true, {1, 0}, 1},
    {ElementwiseOp::relu, "relu", false, false, {1, 0}, 0},
    {ElementwiseOp::gelu_tanh, "gelu_tanh", false, false, {8, 1}, 13},
    {ElementwiseOp::gelu_erf, "gelu_erf", false, false, {4, 1}, 30},
    {ElementwiseOp::silu, "silu", false, false, {2, 1}, 9},
    {ElementwiseOp::swiglu, "swiglu", true, false, {3, 1}, 10},
    {ElementwiseOp::residual_add, "residual_add", true, false, {1, 0}, 1},
    {ElementwiseOp::bias_gelu_residual, "bias_gelu_residual", true, true, {10, 1}, 15},
    {ElementwiseOp::cast, "cast", false, false, {0, 0}, 0},
    {ElementwiseOp::rope, "rope", false, false, {3, 0}, 2},
    {ElementwiseOp::embedding, "embedding", false, false, {0, 0}, 0},
    {ElementwiseOp::adamw, "adamw", false, false, {14, 0}, 12},
    {ElementwiseOp::adamw_decay, "adamw_decay", false, false, {1, 0}, 1},
    {ElementwiseOp::adamw_first, "adamw_first", false, false, {3, 0}, 2},
    {ElementwiseOp::adamw_second, "adamw_second", false, false, {4, 0}, 3},
    {ElementwiseOp::adamw_update, "adamw_update", false, false, {6, 0}, 12}};
static_assert(rows_in_order(kElementwiseOperations));

constexpr const ElementwiseOperation& operation(ElementwiseOp op) { return kElementwiseOperations[static_cast<int>(op)]; }
constexpr std::string_view name(ElementwiseOp op) { return operation(op).name; }

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
