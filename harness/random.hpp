// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/data_type.hpp"

#ifdef __CUDACC__
#define ROOFMARK_HOST_DEVICE __host__ __device__
#else
#define ROOFMARK_HOST_DEVICE
#endif

namespace roofmark {

enum class Distribution { normal, uniform, zeros };

/// How an array is filled: element i is generate(distribution, type, seed, array, i), the same bits everywhere.
struct Fill {
  Distribution distribution = Distribution::normal;
  std::uint64_t seed = 0;
  std::uint64_t array = 0;  ///< tells the arrays of one case apart
};

template <class To, class From>
ROOFMARK_HOST_DEVICE inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

// A product that feeds a sum may be fused into one rounding, which would give the GPU other bits than the CPU. The device's
// intrinsics are never fused; the host is built with -ffp-contract=off.
ROOFMARK_HOST_DEVICE inline float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
ROOFMARK_HOST_DEVICE inline float rounded_sum(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

/// coefficients[0] + coefficients[1] x + ..., by Horner's rule, every step rounded to fp32.
template <int kCount>
ROOFMARK_HOST_DEVICE inline float polynomial(float x, const float (&coefficients)[kCount]) {
  float sum = coefficients[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) sum = rounded_sum(rounded_product(sum, x), coefficients[i]);
  return sum;
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): a bijection whose
/// every output bit depends on every input bit.
ROOFMARK_HOST_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

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

/// The bits of `value` in a narrower binary type, rounded to nearest even. A finite value above the greatest finite one
/// becomes that one, as does infinity where the type has none. kIeee: the top exponent stands for infinity and NaN; else
/// only the pattern of all ones does, for NaN (e4m3).
template <int kExponentBits, int kMantissaBits, bool kIeee>
ROOFMARK_HOST_DEVICE inline std::uint32_t narrow_bits(double value) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint32_t kInfinity = ((1u << kExponentBits) - 1) << kMantissaBits;
  constexpr std::uint32_t kNaN = kInfinity | ((1u << kMantissaBits) - 1);
  constexpr std::uint32_t kGreatest = (kIeee ? kInfinity : kNaN) - 1;
  constexpr std::uint64_t kWideInfinity = 0x7ffull << 52;
  constexpr std::uint64_t kWideFraction = (1ull << 52) - 1;

  const auto wide = same_bits<std::uint64_t>(value);
  const auto sign = static_cast<std::uint32_t>(wide >> 63) << (kExponentBits + kMantissaBits);
  const std::uint64_t magnitude = wide & ~(1ull << 63);
  if (magnitude > kWideInfinity) return sign | kNaN;
  if (kIeee && magnitude == kWideInfinity) return sign | kInfinity;

  const int exponent = static_cast<int>(magnitude >> 52) - 1023 + kBias;
  std::uint64_t shifted = magnitude & kWideFraction;
  int drop = 52 - kMantissaBits;
  if (exponent >= 1) {
    shifted |= static_cast<std::uint64_t>(exponent) << 52;
  } else {  // subnormal there
    shifted |= 1ull << 52;
    drop = exponent < drop - 62 ? 63 : drop + 1 - exponent;
  }
  std::uint64_t kept = shifted >> drop;
  const std::uint64_t rest = shifted & ((1ull << drop) - 1);
  const std::uint64_t half = 1ull << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  return sign | (kept < kGreatest ? static_cast<std::uint32_t>(kept) : kGreatest);
}

/// The value of a narrower binary type's bits. Exact.
template <int kExponentBits, int kMantissaBits, bool kIeee>
ROOFMARK_HOST_DEVICE inline float widened(std::uint32_t bits) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint32_t kInfinity = ((1u << kExponentBits) - 1) << kMantissaBits;
  constexpr std::uint32_t kNaN = kInfinity | ((1u << kMantissaBits) - 1);
  const std::uint32_t magnitude = bits & kNaN;
  // The fields moved to fp32's places are the value scaled by 2^(bias - 127), subnormals too.
  std::uint32_t wide;
  if (magnitude >= (kIeee ? kInfinity : kNaN)) {
    wide = (magnitude << (23 - kMantissaBits)) | 0x7f800000u;
  } else {
    const float scale = same_bits<float>(static_cast<std::uint32_t>(254 - kBias) << 23);
    wide = same_bits<std::uint32_t>(rounded_product(same_bits<float>(magnitude << (23 - kMantissaBits)), scale));
  }
  return same_bits<float>(wide | (bits >> (kExponentBits + kMantissaBits)) << 31);
}

ROOFMARK_HOST_DEVICE inline std::uint16_t fp16_bits(double value) {
  return static_cast<std::uint16_t>(narrow_bits<5, 10, true>(value));
}
ROOFMARK_HOST_DEVICE inline std::uint16_t bf16_bits(double value) {
  return static_cast<std::uint16_t>(narrow_bits<8, 7, true>(value));
}
ROOFMARK_HOST_DEVICE inline std::uint8_t fp8_bits(double value) {
  return static_cast<std::uint8_t>(narrow_bits<4, 3, false>(value));
}
/// Rounded to the 10 mantissa bits that the tensor cores read, in the fp32 that stores it.
ROOFMARK_HOST_DEVICE inline float tf32_rounded(double value) { return same_bits<float>(narrow_bits<8, 10, true>(value) << 13); }

/// How an element is stored: Element<type>::Storage, and its value as a double, exactly; rounding is to nearest even, and
/// finite values saturate. Integers take the nearest in their range.
template <DataType kType>
struct Element;

template <>
struct Element<DataType::fp64> {
  using Storage = double;
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return stored; }
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) { return value; }
};
template <>
struct Element<DataType::fp32> {
  using Storage = float;
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return stored; }
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) { return same_bits<float>(narrow_bits<8, 23, true>(value)); }
};
template <>
struct Element<DataType::tf32> {
  using Storage = float;
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return stored; }
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) { return tf32_rounded(value); }
};
template <>
struct Element<DataType::fp16> {
  using Storage = std::uint16_t;
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return widened<5, 10, true>(stored); }
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) { return fp16_bits(value); }
};
template <>
struct Element<DataType::bf16> {
  using Storage = std::uint16_t;
  ROOFMARK_HOST_DEVICE static double value(Storage stored) {
    return same_bits<float>(static_cast<std::uint32_t>(stored) << 16);
  }
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) { return bf16_bits(value); }
};
template <>
struct Element<DataType::fp8> {
  using Storage = std::uint8_t;
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return widened<4, 3, false>(stored); }
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) { return fp8_bits(value); }
};

/// The nearest integer (ties to even) in the type's range; 0 for NaN.
template <class Integer>
ROOFMARK_HOST_DEVICE inline Integer nearest_integer(double value) {
  constexpr double kLimit = static_cast<double>(1ull << (8 * sizeof(Integer) - 1));
  if (!(value == value)) return 0;
  if (value >= kLimit - 1) return static_cast<Integer>(kLimit - 1);
  if (value <= -kLimit) return static_cast<Integer>(-kLimit);
  const auto truncated = static_cast<std::int64_t>(value);
  const double rest = value - static_cast<double>(truncated);
  const bool odd = truncated & 1;
  if (rest > 0.5 || (rest == 0.5 && odd)) return static_cast<Integer>(truncated + 1);
  if (rest < -0.5 || (rest == -0.5 && odd)) return static_cast<Integer>(truncated - 1);
  return static_cast<Integer>(truncated);
}
template <>
struct Element<DataType::int8> {
  using Storage = std::int8_t;
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return stored; }
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) { return nearest_integer<Storage>(value); }
};
template <>
struct Element<DataType::int32> {
  using Storage = std::int32_t;
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return stored; }
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) { return nearest_integer<Storage>(value); }
};

/// Calls function.template operator()<type>() for a type known at run time.
template <class Function>
ROOFMARK_HOST_DEVICE inline decltype(auto) with_type(DataType type, Function&& function) {
  switch (type) {
    case DataType::fp64:
      return function.template operator()<DataType::fp64>();
    case DataType::fp32:
      return function.template operator()<DataType::fp32>();
    case DataType::tf32:
      return function.template operator()<DataType::tf32>();
    case DataType::fp16:
      return function.template operator()<DataType::fp16>();
    case DataType::bf16:
      return function.template operator()<DataType::bf16>();
    case DataType::fp8:
      return function.template operator()<DataType::fp8>();
    case DataType::int8:
      return function.template operator()<DataType::int8>();
    case DataType::int32:
      break;
  }
  return function.template operator()<DataType::int32>();
}

/// Element i as a double, exactly.
ROOFMARK_HOST_DEVICE inline double load_as_double(DataType type, const void* data, std::size_t i) {
  return with_type(type, [=]<DataType kType>() -> double {
    return Element<kType>::value(static_cast<const typename Element<kType>::Storage*>(data)[i]);
  });
}
/// Element i = value, rounded to nearest even.
ROOFMARK_HOST_DEVICE inline void store(DataType type, void* data, std::size_t i, double value) {
  with_type(type, [=]<DataType kType>() {
    static_cast<typename Element<kType>::Storage*>(data)[i] = Element<kType>::rounded(value);
  });
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
