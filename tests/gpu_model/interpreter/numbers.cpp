// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The encodings of fp16, bf16 and fp8.
#include <immintrin.h>

#include <algorithm>
#include <cmath>

#include "types.hpp"

namespace gpu_model {
namespace {

/// A format of 8 bits: sign, exponent, fraction. Exponents are those of normal numbers.
struct Format {
  int fraction_bits, min_exponent, max_exponent, sign_shift;
  u16 overflow;  // the encoding beyond max_exponent, and of infinity
  u16 nan;
};
constexpr Format e4m3 = {3, -6, 8, 7, 0x7e, 0x7f};
constexpr Format e5m2 = {2, -14, 15, 7, 0x7b, 0x7f};

u16 encode(double value, const Format& format) {
  const u16 sign = static_cast<u16>((std::bit_cast<u64>(value) >> 63) << format.sign_shift);
  if (std::isnan(value)) return format.nan;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return static_cast<u16>(sign | format.overflow);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, format.min_exponent);  // magnitude = 1.x * 2^exponent, or subnormal
  const u64 one = u64(1) << format.fraction_bits;
  // In units of the last place; nearbyint rounds ties to even.
  u64 fraction = static_cast<u64>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  if (fraction >= 2 * one) {
    fraction >>= 1;
    ++exponent;
  }
  if (exponent > format.max_exponent) return static_cast<u16>(sign | format.overflow);
  if (fraction < one) return static_cast<u16>(sign | fraction);
  return static_cast<u16>(sign | static_cast<u64>(exponent - format.min_exponent + 1) << format.fraction_bits |
                          (fraction - one));
}

/// Rounded to odd: an inexact value gets an odd last bit, so that the rounding to fewer bits is the only one that counts.
float to_odd(double value) {
  const float single = static_cast<float>(value);
  const u32 bits = std::bit_cast<u32>(single);
  if (static_cast<double>(single) == value || bits & 1 || std::isnan(value)) return single;
  const bool away_from_zero = std::fabs(static_cast<double>(single)) > std::fabs(value);
  return std::bit_cast<float>(away_from_zero ? bits - 1 : bits + 1);
}

u8 encode_saturated(float value, const Format& format, double largest, u8 largest_bits) {
  if (std::isnan(value)) return static_cast<u8>(format.nan);
  const u8 sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= largest) return static_cast<u8>(sign | largest_bits);
  return static_cast<u8>(sign | std::min<u16>(encode(magnitude, format), largest_bits));
}

}  // namespace

float half_to_float(u16 value) { return _cvtsh_ss(value); }
u16 float_to_half(float value) {
  if (std::isnan(value)) return 0x7fff;
  return static_cast<u16>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}
u16 double_to_half(double value) { return float_to_half(to_odd(value)); }
u16 float_to_bf16(float value) {
  if (std::isnan(value)) return 0x7fff;
  const u32 bits = std::bit_cast<u32>(value);
  return static_cast<u16>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
u16 double_to_bf16(double value) { return float_to_bf16(to_odd(value)); }
float e4m3_to_float(u8 value) {
  const int exponent = value >> 3 & 15, fraction = value & 7;
  float magnitude = 0;
  if (exponent == 15 && fraction == 7)
    magnitude = std::bit_cast<float>(0x7fffffffu);
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(fraction), -9);
  else
    magnitude = std::ldexp(1.0f + static_cast<float>(fraction) / 8, exponent - 7);
  return value & 0x80 ? -magnitude : magnitude;
}
// e5m2 is the upper byte of fp16.
float e5m2_to_float(u8 value) { return half_to_float(static_cast<u16>(value << 8)); }
u8 float_to_e4m3(float value) { return encode_saturated(value, e4m3, 448, 0x7e); }
u8 float_to_e5m2(float value) { return encode_saturated(value, e5m2, 57344, 0x7b); }

}  // namespace gpu_model
