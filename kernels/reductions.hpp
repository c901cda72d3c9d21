// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/base/kernel.hpp"
#include "kernels/base/operation.hpp"

namespace roofmark {

/// Operations that reduce a row to a number; most of them apply the number to the row. Over the columns of each row of
/// x [rows, columns], with w = weight and b = bias [columns], epsilon = kNormEpsilon:
///   softmax            out = exp(x - max) / sum of exp(x - max)
///   layer_norm         out = (x - mean) / sqrt(variance + epsilon) * w + b, the variance over all columns (not columns - 1)
///   rms_norm           out = x / sqrt(mean of x^2 + epsilon) * w
///   residual_rms_norm  sum = residual + x, rounded to the type; out = rms_norm of that sum
///   cross_entropy      out[row] = log(sum of exp(x)) - x[target[row]], in fp32
///   row_sum            out[row] = sum of x, in fp32
///   quantise           scale[row] = max(max |x| / 448, 2^-126), in fp32; out = x / scale[row] in fp8. A row of zeros gives 0
/// A softmax of a row that is all -inf is NaN, and a NaN makes its whole row NaN.
enum class ReductionOp { softmax, layer_norm, rms_norm, residual_rms_norm, cross_entropy, row_sum, quantise };

inline constexpr ReductionOp kReductionOps[] = {
    ReductionOp::softmax,       ReductionOp::layer_norm, ReductionOp::rms_norm, ReductionOp::residual_rms_norm,
    ReductionOp::cross_entropy, ReductionOp::row_sum,    ReductionOp::quantise};

/// What an operation takes, gives and counts, and what its `out` loses in fp32 before it is rounded: `sums` times the loss of a
/// sum over the row, and roundoffs of fp32 besides.
///   softmax        the sum; 4 for each of two exponentials; 3 for the division and the products
///   layer_norm     the mean's sum; half of the squares' sum, 2 for the root, 4 for the rest
///   rms_norm       half of the squares' sum, 2 for the root, 3 for the products
///   cross_entropy  the sum; 4 for the exponentials, 2 for the logarithm, 4 for the additions
///   row_sum        the sum, of signed terms; the last rounding
///   quantise       the inverse of the scale, and the product
struct ReductionOperation {
  ReductionOp op;
  std::string_view name;
  bool has_weight;
  bool gives_one_number;  ///< per row
  OperationCounts counts;
  struct Loss {
    double sums, roundoffs;
  } loss_in_fp32;
};
inline constexpr ReductionOperation kReductionOperations[] = {
    {ReductionOp::softmax, "softmax", false, false, {4, 1}, {1, 11}},        // max, -, +, x 1 / sum
    {ReductionOp::layer_norm, "layer_norm", true, false, {7, 0}, {1.5, 6}},  // + of mean, -, square, +, x 1 / sigma, x w, + b
    {ReductionOp::rms_norm, "rms_norm", true, false, {4, 0}, {0.5, 5}},      // square, +, x 1 / root, x weight
    {ReductionOp::residual_rms_norm, "residual_rms_norm", true, false, {5, 0}, {0.5, 5}},
    {ReductionOp::cross_entropy, "cross_entropy", false, true, {3, 1}, {1, 10}},  // max, -, +
    {ReductionOp::row_sum, "row_sum", false, true, {1, 0}, {1, 1}},
    {ReductionOp::quantise, "quantise", false, false, {2, 0}, {0, 2}}};  // max, x 1 / scale
static_assert(rows_in_order(kReductionOperations));

constexpr const ReductionOperation& operation(ReductionOp op) { return kReductionOperations[static_cast<int>(op)]; }
constexpr std::string_view name(ReductionOp op) { return operation(op).name; }
constexpr bool has_weight(ReductionOp op) { return operation(op).has_weight; }
constexpr bool gives_one_number(ReductionOp op) { return operation(op).gives_one_number; }

inline constexpr float kNormEpsilon = 1e-5F;
inline constexpr float kGreatestFp8 = 448;
inline constexpr float kLeastScale = 0x1p-126F;

/// The type of `out` for an x of `type`.
constexpr DataType output_type(ReductionOp op, DataType type) {
  return gives_one_number(op) ? DataType::fp32 : op == ReductionOp::quantise ? DataType::fp8 : type;
}

/// Dense and row-major; arrays that the operation does not use are null. Aligned to their elements only. Arrays that are
/// written overlap no other.
struct ReductionArrays {
  const void* x = nullptr;
  const void* residual = nullptr;        ///< [rows, columns]
  const void* weight = nullptr;          ///< [columns], like residual and bias of the type of x
  const void* bias = nullptr;            ///< [columns]
  const std::int32_t* target = nullptr;  ///< [rows], from 0 to columns - 1
  void* out = nullptr;                   ///< [rows, columns], or fp32 [rows]
  void* sum = nullptr;                   ///< [rows, columns]: residual + x
  float* scale = nullptr;                ///< [rows]
};

enum class ReductionOutput { out, sum, scale };

/// Maximum number of terms of a row that are added in fp32 one after another; such sums are then added pairwise.
inline constexpr int kReductionChunk = 64;

/// fp32, fp16 and bf16. Computed in fp32 and rounded once; results below 2^-126 may be 0. `columns` is at least 1 and below
/// 2^31.
struct ReductionKernels {
  bool (*supports)(ReductionOp op, DataType type);
  void (*launch)(ReductionOp op, DataType type, const ReductionArrays& arrays, std::int64_t rows, std::int64_t columns,
                 Stream stream);
  /// The expected values of rows [first, first + count) of `which`, in float64, and the scale of the error: what a correct fp32
  /// evaluation may lose, in units of a roundoff. Both arrays have one double per element of `which` in those rows. For
  /// residual_rms_norm and quantise, the expected out is computed from the sum and the scale that the launch wrote.
  void (*reference)(ReductionOp op, DataType type, const ReductionArrays& arrays, ReductionOutput which, std::int64_t first,
                    std::int64_t count, std::int64_t columns, double* expected, double* scale, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS ReductionKernels reductions;
}
namespace cpu {
ROOFMARK_KERNELS ReductionKernels reductions;
}

}  // namespace roofmark
