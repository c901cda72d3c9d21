// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/activations.hpp"
#include "kernels/base/element.hpp"

namespace roofmark::cpu {

// Functions in steps that a compiler turns into vector instructions, which it does not for the library's, in whatever loop they
// are inlined.

/// a * b + c, rounded once where kFused: for loops that are compiled for instructions that have it.
template <bool kFused>
inline float multiply_and_add(float a, float b, float c) {
  if constexpr (kFused) {
    return __builtin_fmaf(a, b, c);
  } else {
    return a * b + c;
  }
}

/// exp(x) within 2 roundoffs; 0 if it is below 2^-126.
template <bool kFused>
inline float vector_exp(float x) {
  constexpr float kLog2E = 1.442695041F;
  // ln 2 in two parts; the first has so few bits that its product with a small integer is exact.
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kLeast = -87.33654F, kGreatest = 88.72283F;
  // Added to a number of small magnitude, this leaves the nearest integer in the lowest bits.
  constexpr float kRounder = 12582912.0F;
  const float shifted = multiply_and_add<kFused>(x, kLog2E, kRounder);
  const float n = shifted - kRounder;
  const float r = multiply_and_add<kFused>(n, -kLn2Low, multiply_and_add<kFused>(n, -kLn2High, x));
  // 1 + r + r^2 q(r) for |r| <= ln 2 / 2, q the Chebyshev interpolation: within 0.2 roundoffs.
  float p = multiply_and_add<kFused>(1.3926213e-3F, r, 8.3632031e-3F);
  p = multiply_and_add<kFused>(p, r, 4.1666556e-2F);
  p = multiply_and_add<kFused>(p, r, 0.16666576F);
  p = multiply_and_add<kFused>(p, r, 0.5F);
  p = multiply_and_add<kFused>(p, r, 1.0F);
  p = multiply_and_add<kFused>(p, r, 1.0F);
  const float power = same_bits<float>(same_bits<std::uint32_t>(p) + (same_bits<std::uint32_t>(shifted) << 23));
  // Infinite above, NaN for NaN, whose bits are no exponent.
  const float exact = x <= kGreatest ? power : x + std::numeric_limits<float>::infinity();
  return x < kLeast ? 0.0F : exact;
}

/// For activations.hpp.
template <bool kFused>
struct VectorMath {
  using Tail = TailOfDegree9;
  static float exp(float x) { return vector_exp<kFused>(x); }
  static float reciprocal(float x) { return 1.0F / x; }
};

/// As `widened` has it: the value of a narrow type's bits; magnitudes from kSpecial on are infinity and NaN.
template <int kExponentBits, int kMantissaBits, std::uint32_t kSpecial>
inline float vector_widened(std::uint32_t bits) {
  constexpr std::uint32_t kMagnitude = (1u << (kExponentBits + kMantissaBits)) - 1;
  constexpr std::uint32_t kScale = (254u - ((1u << (kExponentBits - 1)) - 1)) << 23, kTopExponent = 0x7f800000;
  const std::uint32_t magnitude = bits & kMagnitude, sign = (bits & (kMagnitude + 1)) << (31 - kExponentBits - kMantissaBits);
  const float wide = same_bits<float>(magnitude << (23 - kMantissaBits)) * same_bits<float>(kScale);
  return same_bits<float>(same_bits<std::uint32_t>(wide) | (magnitude >= kSpecial ? kTopExponent : 0) | sign);
}

/// As `narrow_bits` has it: the bits of x in a type of fewer exponents, whose greatest finite number is kGreatest.
template <int kExponentBits, int kMantissaBits, std::uint32_t kGreatest, bool kHasInfinity>
inline std::uint32_t vector_narrowed(float x) {
  constexpr std::uint32_t kBias = (1u << (kExponentBits - 1)) - 1, kDropped = 23 - kMantissaBits, kInfinity = 0x7f800000u;
  constexpr std::uint32_t kNaN = (1u << (kExponentBits + kMantissaBits)) - 1;
  // Its last bit counts the subnormals, and the addition rounds to it.
  const auto rounder = same_bits<float>((127 + 1 - kBias - kMantissaBits + 23) << 23);
  const std::uint32_t bits = same_bits<std::uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const std::uint32_t held = magnitude < kGreatest ? magnitude : kGreatest;
  const std::uint32_t half_less = (1u << (kDropped - 1)) - 1;
  const std::uint32_t normal = ((held + half_less + (held >> kDropped & 1u)) >> kDropped) - ((127 - kBias) << kMantissaBits);
  const std::uint32_t subnormal =
      same_bits<std::uint32_t>(same_bits<float>(held) + rounder) - same_bits<std::uint32_t>(rounder);
  std::uint32_t found = held < (128 - kBias) << 23 ? subnormal : normal;
  if constexpr (kHasInfinity) found = magnitude == kInfinity ? kNaN & ~((1u << kMantissaBits) - 1) : found;
  found = magnitude > kInfinity ? kNaN : found;
  return found | bits >> 31 << (kExponentBits + kMantissaBits);
}

template <DataType kType>
using Stored = typename Element<kType>::Storage;

/// The value of a stored element, as Element<kType>::value has it.
template <DataType kType>
inline float widened(Stored<kType> stored) {
  if constexpr (kType == DataType::fp16) {
    return vector_widened<5, 10, 0x7c00>(stored);
  } else if constexpr (kType == DataType::bf16) {
    return same_bits<float>(static_cast<std::uint32_t>(stored) << 16);
  } else if constexpr (kType == DataType::fp8) {
    return vector_widened<4, 3, 0x7f>(stored);
  } else {
    return stored;
  }
}

/// As Element<kType>::rounded has it, but for bf16: what rounds to infinity is that, and a NaN keeps its highest bits.
template <DataType kType>
inline Stored<kType> narrowed(float x) {
  if constexpr (kType == DataType::fp16) {
    return static_cast<std::uint16_t>(vector_narrowed<5, 10, 0x477fe000, true>(x));
  } else if constexpr (kType == DataType::bf16) {
    const std::uint32_t bits = same_bits<std::uint32_t>(x);
    const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
  } else if constexpr (kType == DataType::fp8) {
    return static_cast<std::uint8_t>(vector_narrowed<4, 3, 0x43e00000, false>(x));
  } else {
    return x;
  }
}

/// Calls function.template operator()<type>() for fp32, fp16 or bf16.
template <class Function>
inline void with_float_type(DataType type, Function&& function) {
  if (type == DataType::fp32) return function.template operator()<DataType::fp32>();
  if (type == DataType::fp16) return function.template operator()<DataType::fp16>();
  return function.template operator()<DataType::bf16>();
}
inline bool is_float_type(DataType type) { return type == DataType::fp32 || type == DataType::fp16 || type == DataType::bf16; }

}  // namespace roofmark::cpu
