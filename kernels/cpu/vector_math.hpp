// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/element.hpp"

namespace roofmark::cpu {

/// exp(x) in steps that a compiler turns into vector instructions, which it does not for the library's; within 2 roundoffs
/// where it is at least 2^-126, and no more than exp(88) for any x.
inline float vector_exp(float x) {
  constexpr float kLog2E = 1.442695041F;
  // ln 2 in two parts, of which the first has so few bits that its product with a small integer is exact.
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  // Where the result is 0, and where it is nearly infinite.
  constexpr float kLeast = -104.0F, kGreatest = 88.0F;
  // Added to a number of small magnitude, this leaves the nearest integer in the lowest bits.
  constexpr float kRounder = 12582912.0F;
  float held = x > kGreatest ? kGreatest : x;
  held = held < kLeast ? kLeast : held;
  const float shifted = held * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = held - n * kLn2High - n * kLn2Low;
  // Taylor's series, of which the next term is under 2^-27 for |r| <= ln 2 / 2.
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  // In two factors, of which neither leaves the range of exponents.
  const auto exponent = static_cast<std::int32_t>(same_bits<std::uint32_t>(shifted) - same_bits<std::uint32_t>(kRounder));
  const std::int32_t half = exponent >> 1;
  const auto power = [](std::int32_t e) { return same_bits<float>(static_cast<std::uint32_t>(e + 127) << 23); };
  return p * power(half) * power(exponent - half);
}

/// The bits of x in fp8 e4m3, as fp8_bits gives them, in such steps too.
inline std::uint8_t vector_fp8(float x) {
  constexpr std::uint32_t kGreatest = 0x43e00000u;        // 448
  constexpr std::uint32_t kSmallestNormal = 0x3c800000u;  // 2^-6
  constexpr std::uint32_t kBiasesApart = (127 - 7) << 3;
  // Its last bit counts the subnormals, 2^-9 apart, and the addition rounds to it.
  constexpr float kSubnormalRounder = 16384.0F;
  const std::uint32_t bits = same_bits<std::uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const std::uint32_t held = magnitude < kGreatest ? magnitude : kGreatest;
  const std::uint32_t normal = ((held + 0x7ffffu + (held >> 20 & 1u)) >> 20) - kBiasesApart;
  const std::uint32_t subnormal =
      same_bits<std::uint32_t>(same_bits<float>(held) + kSubnormalRounder) - same_bits<std::uint32_t>(kSubnormalRounder);
  const std::uint32_t finite = held < kSmallestNormal ? subnormal : normal;
  return static_cast<std::uint8_t>((magnitude > 0x7f800000u ? 0x7fu : finite) | (bits >> 31) << 7);
}

/// The bits of x in bf16, as bf16_bits gives them for numbers up to its greatest, and infinity beyond; a NaN is quiet.
inline std::uint16_t vector_bf16(float x) {
  const std::uint32_t bits = same_bits<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
}

}  // namespace roofmark::cpu
