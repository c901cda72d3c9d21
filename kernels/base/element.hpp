// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/base/data_type.hpp"

#ifdef __CUDACC__
#define ROOFMARK_HOST_DEVICE __host__ __device__
#else
#define ROOFMARK_HOST_DEVICE
#endif

namespace roofmark {

template <class To, class From>
ROOFMARK_HOST_DEVICE inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

// A product that feeds a sum may be fused into one rounding, and the GPU would get other bits than the CPU. The device's
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

/// What the greatest bit patterns of a binary type encode.
enum class Special : std::uint8_t {
  ieee,  ///< the top exponent: infinity and NaN
  nan,   ///< the pattern of all ones: NaN (e4m3)
  none,  ///< numbers (e2m1)
};

/// The bits of `value` in a narrower binary type, rounded to nearest even. A finite value above the type's largest one
/// saturates, as do infinity and NaN if the type has none.
template <int kExponentBits, int kMantissaBits, Special kSpecial>
ROOFMARK_HOST_DEVICE inline std::uint32_t narrow_bits(double value) {
  constexpr bool kIeee = kSpecial == Special::ieee;
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint32_t kInfinity = ((1u << kExponentBits) - 1) << kMantissaBits;
  constexpr std::uint32_t kNaN = kInfinity | ((1u << kMantissaBits) - 1);
  constexpr std::uint32_t kGreatest = kIeee ? kInfinity - 1 : kSpecial == Special::nan ? kNaN - 1 : kNaN;
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
template <int kExponentBits, int kMantissaBits, Special kSpecial>
ROOFMARK_HOST_DEVICE inline float widened(std::uint32_t bits) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint32_t kInfinity = ((1u << kExponentBits) - 1) << kMantissaBits;
  constexpr std::uint32_t kNaN = kInfinity | ((1u << kMantissaBits) - 1);
  const std::uint32_t magnitude = bits & kNaN;
  // The fields moved to fp32's places are the value scaled by 2^(bias - 127), subnormals too.
  std::uint32_t wide;
  if (kSpecial != Special::none && magnitude >= (kSpecial == Special::ieee ? kInfinity : kNaN)) {
    wide = (magnitude << (23 - kMantissaBits)) | 0x7f800000u;
  } else {
    const float scale = same_bits<float>(static_cast<std::uint32_t>(254 - kBias) << 23);
    wide = same_bits<std::uint32_t>(rounded_product(same_bits<float>(magnitude << (23 - kMantissaBits)), scale));
  }
  return same_bits<float>(wide | (bits >> (kExponentBits + kMantissaBits)) << 31);
}

ROOFMARK_HOST_DEVICE inline std::uint16_t fp16_bits(double value) {
  return static_cast<std::uint16_t>(narrow_bits<5, 10, Special::ieee>(value));
}
ROOFMARK_HOST_DEVICE inline std::uint16_t bf16_bits(double value) {
  return static_cast<std::uint16_t>(narrow_bits<8, 7, Special::ieee>(value));
}
ROOFMARK_HOST_DEVICE inline std::uint8_t fp8_bits(double value) {
  return static_cast<std::uint8_t>(narrow_bits<4, 3, Special::nan>(value));
}
ROOFMARK_HOST_DEVICE inline std::uint8_t fp4_bits(double value) {
  return static_cast<std::uint8_t>(narrow_bits<2, 1, Special::none>(value));
}
/// Rounded to the 10 mantissa bits that the tensor cores read, in the fp32 that stores it.
ROOFMARK_HOST_DEVICE inline float tf32_rounded(double value) {
  return same_bits<float>(narrow_bits<8, 10, Special::ieee>(value) << 13);
}

/// The storage of an element, Element<type>::Storage, and its exact value as a double. Rounds to nearest even, and finite
/// values saturate. Integers get the nearest value in their range.
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
  ROOFMARK_HOST_DEVICE static Storage rounded(double value) {
    return same_bits<float>(narrow_bits<8, 23, Special::ieee>(value));
  }
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
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return widened<5, 10, Special::ieee>(stored); }
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
  ROOFMARK_HOST_DEVICE static double value(Storage stored) { return widened<4, 3, Special::nan>(stored); }
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

/// Calls function.template operator()<type>() for the type of an array, known at run time.
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
    case DataType::mxfp8:
    case DataType::nvfp4:
    case DataType::fp8_vec128:
    case DataType::fp8_blk128:
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

}  // namespace roofmark
