// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/base/element.hpp"

namespace roofmark {

// Activations in fp32. Math provides exp (for x <= 0), reciprocal, and Tail, the polynomial for the tail of gelu_erf. All
// return NaN for NaN.

/// x sigmoid(u). exp(-|u|) cannot overflow, and small values keep their precision.
template <class Math>
ROOFMARK_HOST_DEVICE inline float gated(float x, float u) {
  const float e = Math::exp(-fabsf(u));
  return x * (u < 0 ? e : 1.0F) * Math::reciprocal(1.0F + e);
}

template <class Math>
ROOFMARK_HOST_DEVICE inline float silu(float x) {
  return gated<Math>(x, x);
}

/// x / 2 (1 + tanh(u)) = x sigmoid(2 u).
template <class Math>
ROOFMARK_HOST_DEVICE inline float gelu_tanh(float x) {
  constexpr float kTwoRoots = 1.595769122F, kCubic = 0.0713548163F;  // 2 sqrt(2 / pi), and 0.044715 of it
  return gated<Math>(x, x * (kTwoRoots + kCubic * x * x));
}

template <int kCount>
ROOFMARK_HOST_DEVICE inline float horner(const float (&coefficients)[kCount], float t) {
  float sum = coefficients[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) sum = sum * t + coefficients[i];
  return sum;
}

// Phi(-x) = t Q(t) exp(-x^2 / 2) / 2 with t = 1 / (1 + kStep x / sqrt(2)), for x from 0 to where the result is below 2^-126.
// The polynomials Q are Chebyshev interpolations of exp(z^2) erfc(z) / t.
struct TailOfDegree9 {  ///< within 1.0e-8 of Phi(-x), relatively
  static constexpr float kStep = 0.35F;
  ROOFMARK_HOST_DEVICE static float polynomial(float t) {
    constexpr float kQ[] = {0.1974892664F, 0.1970307378F,  0.1888063984F, 0.1469157809F,  0.1585546898F,
                            0.0634051102F, 0.00104561349F, 0.1596412149F, -0.1495435352F, 0.0366547279F};
    return horner(kQ, t);
  }
};
struct TailOfDegree5 {  ///< within 1.1e-5
  static constexpr float kStep = 0.45F;
  ROOFMARK_HOST_DEVICE static float polynomial(float t) {
    constexpr float kQ[] = {0.2539642684F, 0.2517058309F, 0.2485295472F, 0.0893560973F, 0.2922767369F, -0.1358412354F};
    return horner(kQ, t);
  }
};

/// x Phi(x).
template <class Math>
ROOFMARK_HOST_DEVICE inline float gelu_erf(float x) {
  using Tail = typename Math::Tail;
  constexpr float kRootHalf = 0.7071067812F;
  const float t = Math::reciprocal(1.0F + Tail::kStep * kRootHalf * fabsf(x));
  const float tail = 0.5F * t * Tail::polynomial(t) * Math::exp(-0.5F * x * x);
  return x * (x < 0 ? tail : 1.0F - tail);
}

}  // namespace roofmark
