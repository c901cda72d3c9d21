// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/attention.hpp"
#include "kernels/base/element.hpp"

namespace roofmark {

/// The expected O, and the scale of the error that a correct evaluation may make. Let p_j be the probabilities of a row that
/// sees n keys, s_j its scores, u the unit roundoff of the type:
///
///   expected = sum p_j v_j
///   scale    = |expected| (1 + w sqrt(sum (r p_j s_j)^2)) + w sqrt(sum (p_j v_j)^2 (1 + r s_j^2))
///
/// u |expected| is the final rounding. Each p_j is rounded before it is multiplied by v_j, by at most u p_j, with no preferred
/// sign, so the sum of these errors is subgaussian with a variance of at most u^2 / 3 sum (p_j v_j)^2. It exceeds z standard
/// deviations with a probability below 2 exp(-z^2 / 2), which for z = 8 and all 5e8 elements of 64 heads of 64k x 128 is 1e-5.
/// It also never exceeds u sum |p_j v_j|, which is at most sqrt(n) times the root of the squares. Hence w = min(8 / sqrt(3),
/// sqrt(n)). If the scores are rounded too (r = 1, else 0), p_j has another relative error of u |s_j|, in the sum and in its
/// divisor. (A scale of sum |p_j v_j| would be certain, but ten times larger over 8k keys: it would not notice a missing block
/// of keys.)
ROOFMARK_HOST_DEVICE inline double attention_scale(double expected, double squares, double score_squares,
                                                   std::int64_t visible) {
  constexpr double kRandom = 8 / 1.7320508075688772;
  const double certain = sqrt(static_cast<double>(visible)), w = certain < kRandom ? certain : kRandom;
  return fabs(expected) * (1 + w * sqrt(score_squares)) + w * sqrt(squares);
}

/// Computes expected[] and scale[] of the rows of O for queries [first, first + count) of one batch: device arrays of
/// count x heads x head_dim, in the order of O. Allocates nothing; head_dim is a multiple of 8.
struct AttentionReference {
  using Queries = void (*)(const AttentionProblem& problem, const AttentionArrays& arrays, bool rounds_scores,
                           std::int64_t batch, std::int64_t first, std::int64_t count, double* expected, double* scale,
                           Stream stream);
  /// In float64, row by row in two passes: for a sample of rows of a large problem.
  Queries exact;
  /// For all rows, in fp32, whose errors are small beside those of 16-bit types; null where `exact` is used for all rows.
  Queries fast;
};

namespace cuda {
ROOFMARK_KERNELS AttentionReference attention_reference;
}
namespace cpu {
ROOFMARK_KERNELS AttentionReference attention_reference;
}

}  // namespace roofmark
