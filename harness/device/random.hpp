// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/element.hpp"
#include "kernels/base/mix.hpp"

namespace roofmark {

enum class Distribution { normal, uniform, zeros };

/// How an array is filled: element i is generate(distribution, type, seed, array, i), the same bits everywhere.
struct Fill {
  Distribution distribution = Distribution::normal;
  std::uint64_t seed = 0;
  std::uint64_t array = 0;  ///< distinguishes the arrays of one case
};

/// coefficients[0] + coefficients[1] x + ..., by Horner's rule, every step rounded to fp32.
template <int kCount>
ROOFMARK_HOST_DEVICE inline float polynomial(float x, const float (&coefficients)[kCount]) {
  float sum = coefficients[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) sum = rounded_sum(rounded_product(sum, x), coefficients[i]);
  return sum;
}

/// 64 random bits for element i of an array: the i-th state of a SplitMix64 that starts where (seed, array) says.
ROOFMARK_HOST_DEVICE inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t array, std::uint64_t i) {
  return mix(mix(mix(seed + kGoldenGamma) + array) + (i + 1) * kGoldenGamma);
}

/// log2(x) for a normal positive x, within 2e-7 + 2e-7 |log2(x)|: the exponent, and a polynomial for a significand between
/// sqrt(1/2) and sqrt(2).
ROOFMARK_HOST_DEVICE inline float rounded_log2(float x) {
  // Chebyshev interpolation of log2(1 + f) / f.
  constexpr float kLog2[] = {1.442694902F, -0.721352756F, 0.480924040F, -0.360241979F,
                             0.287075609F, -0.248821810F, 0.234209850F, -0.146203533F};
  constexpr std::int32_t kSqrtHalfBits = 0x3f3504f3;
  const std::int32_t bits = same_bits<std::int32_t>(x);
  const std::int32_t exponent = (bits - kSqrtHalfBits) >> 23;
  const float f = rounded_sum(same_bits<float>(bits - exponent * (1 << 23)), -1.0F);
  return rounded_sum(rounded_product(f, polynomial(f, kLog2)), static_cast<float>(exponent));
}

/// A draw from N(0, 1) from the upper 32 bits of `bits`, by the inverse of the distribution function, within 5e-6 of it
/// relatively; at most 6.35 in magnitude, never 0. The sign and the magnitude's probability a = P(|Z| < z) in (0, 1) come
/// from separate bits, and 1 - a is formed exactly enough for the tails. As in Giles' erfinv (GPU Computing Gems, 2011),
/// z / a is a smooth function of w = -log2(1 - a^2); the polynomials are Chebyshev interpolations of it on [0, 8] and [8, 32].
ROOFMARK_HOST_DEVICE inline float normal(std::uint64_t bits) {
  constexpr float kCenter[] = {2.21791983F,      0.239283010F,     -0.00346930488F, -0.000480987743F, 6.79754085e-05F,
                               -2.05909479e-06F, -4.06130567e-07F, 3.81981309e-08F, 4.68728945e-10F};
  constexpr float kTail[] = {5.03540993F,     0.132769704F,     -0.00163369766F,  3.89628258e-05F, -1.12505779e-06F,
                             4.39609700e-08F, -1.67966385e-09F, -2.93759600e-11F, 3.89608398e-12F};
  const auto drawn = static_cast<std::int32_t>((bits >> 32) & 0x7fffffffu);
  const float inside = rounded_product(rounded_sum(static_cast<float>(drawn), 0.5F), 0x1p-31F);
  const float outside = rounded_product(rounded_sum(static_cast<float>(0x7fffffff - drawn), 0.5F), 0x1p-31F);
  const float w = -rounded_log2(rounded_product(outside, rounded_sum(1.0F, inside)));
  const float ratio = w < 8 ? polynomial(rounded_sum(w, -4.0F), kCenter) : polynomial(rounded_sum(w, -20.0F), kTail);
  const float magnitude = rounded_product(inside, ratio);
  return bits >> 63 ? -magnitude : magnitude;
}

/// A multiple of 2^-23 in [-1, 1), from the upper 24 bits.
ROOFMARK_HOST_DEVICE inline float uniform(std::uint64_t bits) {
  return rounded_product(static_cast<float>(static_cast<std::int64_t>(bits) >> 40), 0x1p-23F);
}

/// +1 or -1 for element i: the signs that checksums are taken with.
ROOFMARK_HOST_DEVICE inline int sign(std::uint64_t seed, std::uint64_t i) {
  constexpr std::uint64_t kSigns = 0x7369676e73u;
  return random_bits(seed, kSigns, i) >> 63 ? -1 : 1;
}

/// The value that element i of an array is filled with, as Element<kType>::rounded leaves it. Integers are uniform in
/// -127..127 for normal and uniform alike. A normal fp64 is the fp32 draw with the 29 mantissa bits that widening leaves zero
/// taken from the lower half of the same 64 random bits, and a uniform one is a multiple of 2^-53: products are not exact.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline typename Element<kType>::Storage generate(Distribution distribution, std::uint64_t seed,
                                                                      std::uint64_t array, std::uint64_t i) {
  using E = Element<kType>;
  if (distribution == Distribution::zeros) return E::rounded(0);
  const std::uint64_t bits = random_bits(seed, array, i);
  if constexpr (is_integer(kType)) {
    return static_cast<typename E::Storage>(static_cast<std::int32_t>((bits >> 32) * 255 >> 32) - 127);
  } else {
    if constexpr (kType == DataType::fp64) {
      if (distribution == Distribution::uniform) return static_cast<double>(static_cast<std::int64_t>(bits) >> 10) * 0x1p-53;
      return same_bits<double>(same_bits<std::uint64_t>(static_cast<double>(normal(bits))) | (bits & ((1u << 29) - 1)));
    } else {
      const float drawn = distribution == Distribution::normal ? normal(bits) : uniform(bits);
      if constexpr (kType == DataType::fp32) return drawn;
      return E::rounded(drawn);
    }
  }
}

/// The same for a type known at run time, as a double (exactly).
ROOFMARK_HOST_DEVICE inline double generate(Distribution distribution, DataType type, std::uint64_t seed, std::uint64_t array,
                                            std::uint64_t i) {
  return with_type(
      type, [=]<DataType kType>() -> double { return Element<kType>::value(generate<kType>(distribution, seed, array, i)); });
}

}  // namespace roofmark
