// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/attention.hpp"
#include "kernels/base/element.hpp"

namespace roofmark {

/// What O must be, and the scale of what an honest evaluation may be off. Write p_j for the probabilities of a row that sees n
/// keys, s_j for its scores, u for the unit roundoff of the type:
///
///   expected = sum p_j v_j
///   scale    = |expected| (1 + w sqrt(sum (r p_j s_j)^2)) + w sqrt(sum (p_j v_j)^2 (1 + r s_j^2))
///
/// u |expected| is the last rounding. Each p_j is rounded before it is multiplied by v_j, to within u p_j, either way and as
/// often, so that the sum of these errors is subgaussian with a variance of at most u^2 / 3 sum (p_j v_j)^2: it exceeds z
/// standard deviations with a chance below 2 exp(-z^2 / 2), which for z = 8 and the 5e8 elements of 64 heads of 64k x 128 is
/// 1e-5 for all of them. And it never exceeds u sum |p_j v_j|, at most sqrt(n) times the root of the squares. So
/// w = min(8 / sqrt(3), sqrt(n)). Where the scores are rounded too (r = 1, else 0), p_j is off by another u |s_j| of itself, in
/// the sum and in what it is divided by. (The sum of |p_j v_j| as a scale would be certain, and overlook a missing block of
/// keys: over 8k keys it is ten times larger.)
ROOFMARK_HOST_DEVICE inline double attention_scale(double expected, double squares, double score_squares,
                                                   std::int64_t visible) {
  constexpr double kRandom = 8 / 1.7320508075688772;
  const double certain = sqrt(static_cast<double>(visible)), w = certain < kRandom ? certain : kRandom;
  return fabs(expected) * (1 + w * sqrt(score_squares)) + w * sqrt(squares);
}

/// Computes expected[] and scale[] of the rows of O that belong to the queries [first, first + count) of one batch: arrays of
/// count x heads x head_dim, as they stand in O, on the device. Nothing is allocated; head_dim is a multiple of 8.
struct AttentionReference {
  using Queries = void (*)(const AttentionProblem& problem, const AttentionArrays& arrays, bool rounds_scores,
                           std::int64_t batch, std::int64_t first, std::int64_t count, double* expected, double* scale,
                           Stream stream);
  /// In float64, row by row in two passes: for some rows of a large problem.
  Queries exact;
  /// For all rows, null where exact serves: in fp32, whose roundings 16-bit types leave room for.
  Queries fast;
};

namespace cuda {
ROOFMARK_KERNELS AttentionReference attention_reference;
}
namespace cpu {
ROOFMARK_KERNELS AttentionReference attention_reference;
}

}  // namespace roofmark
