// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

namespace gpu_model::nccl {

namespace {

template <class T>
T read(const char* from, std::size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void write(char* to, std::size_t i, T value) {
  std::memcpy(to + i * sizeof(T), &value, sizeof(T));
}

/// Types that the CPU computes with.
template <class T>
struct Native {
  using Value = T;
  static T load(const char* from, std::size_t i) { return read<T>(from, i); }
  static void store(char* to, std::size_t i, T value) { write(to, i, value); }
  static T round(T value) { return value; }
};

/// Floating-point types of 8 and 16 bits, computed with in fp32: one sum or product of two is then rounded as if it were exact.
/// `has_infinity`: as in IEEE 754; else only the last code is a NaN. `saturates`: what is too large becomes the largest number.
template <class Bits, int exponent_bits, int fraction_bits, bool has_infinity, bool saturates>
struct Short {
  using Value = float;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr std::uint32_t sign = 1U << (exponent_bits + fraction_bits);
  static constexpr std::uint32_t infinity = ((1U << exponent_bits) - 1) << fraction_bits;
  static constexpr std::uint32_t nan = sign - 1;
  static constexpr std::uint32_t largest = has_infinity ? infinity - 1 : nan - 1;

  static float load(const char* from, std::size_t i) {
    const std::uint32_t bits = read<Bits>(from, i), magnitude = bits & (sign - 1);
    const std::uint32_t exponent = magnitude >> fraction_bits, fraction = magnitude & ((1U << fraction_bits) - 1);
    float value = 0;
    if (magnitude > largest) {
      value = has_infinity && magnitude == infinity ? std::numeric_limits<float>::infinity()
                                                    : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      value = std::ldexp(static_cast<float>(fraction), 1 - bias - fraction_bits);
    } else {
      value = std::bit_cast<float>((exponent + 127 - bias) << 23 | fraction << (23 - fraction_bits));
    }
    return bits & sign ? -value : value;
  }

  static void store(char* to, std::size_t i, float value) {
    write(to, i, static_cast<Bits>(encode(std::fabs(value)) | (std::signbit(value) ? sign : 0)));
  }

  static float round(float value) {
    char bytes[sizeof(Bits)];
    store(bytes, 0, value);
    return load(bytes, 0);
  }

 private:
  /// Rounds to nearest, ties to even.
  static std::uint32_t encode(float magnitude) {
    if (std::isnan(magnitude)) return nan;
    constexpr int dropped = 23 - fraction_bits;
    std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude);
    if (bits < static_cast<std::uint32_t>(128 - bias) << 23) {
      // Subnormal: the last place of the sum is the type's own, and the addition rounds.
      const auto unit = std::bit_cast<float>(static_cast<std::uint32_t>(128 - bias + dropped) << 23);
      return std::bit_cast<std::uint32_t>(magnitude + unit) - std::bit_cast<std::uint32_t>(unit);
    }
    bits += (1U << (dropped - 1)) - 1 + (bits >> dropped & 1);
    bits = (bits >> dropped) - (static_cast<std::uint32_t>(127 - bias) << fraction_bits);
    return std::min(bits, saturates ? largest : infinity);
  }
};

using Half = Short<std::uint16_t, 5, 10, true, false>;
using Bfloat = Short<std::uint16_t, 8, 7, true, false>;
using Fp8E4m3 = Short<std::uint8_t, 4, 3, false, true>;
using Fp8E5m2 = Short<std::uint8_t, 5, 2, true, true>;

template <class Value>
Value combine(ncclRedOp_t op, Value a, Value b) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (op == ncclMax) return std::fmax(a, b);
    if (op == ncclMin) return std::fmin(a, b);
    return op == ncclProd ? a * b : a + b;
  } else {
    if (op == ncclMax) return std::max(a, b);
    if (op == ncclMin) return std::min(a, b);
    // Wraps around.
    using Unsigned = std::make_unsigned_t<Value>;
    const auto x = static_cast<Unsigned>(a), y = static_cast<Unsigned>(b);
    return static_cast<Value>(op == ncclProd ? x * y : x + y);
  }
}

template <class Number>
void reduce_as(ncclRedOp_t op, const std::vector<const char*>& terms, char* to, std::size_t count) {
  using Value = typename Number::Value;
  const auto n = static_cast<Value>(terms.size());
  const bool scales = op == ncclAvg && std::is_floating_point_v<Value>;
  const Value scale = scales ? Number::round(1 / n) : 1;
  for (std::size_t i = 0; i < count; ++i) {
    Value total{};
    for (std::size_t rank = 0; rank < terms.size(); ++rank) {
      Value term = Number::load(terms[rank], i);
      if (scales) term = Number::round(term * scale);
      total = rank == 0 ? term : Number::round(combine(op, total, term));
    }
    if (op == ncclAvg && !scales) total = static_cast<Value>(total / n);
    Number::store(to, i, total);
  }
}

}  // namespace

std::size_t width(ncclDataType_t type) {
  constexpr std::size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(widths) ? widths[index] : 0;
}

void reduce(ncclDataType_t type, ncclRedOp_t op, const std::vector<const char*>& terms, char* to, std::size_t count) {
  constexpr decltype(&reduce_as<Half>) reductions[] = {reduce_as<Native<std::int8_t>>,
                                                       reduce_as<Native<std::uint8_t>>,
                                                       reduce_as<Native<std::int32_t>>,
                                                       reduce_as<Native<std::uint32_t>>,
                                                       reduce_as<Native<std::int64_t>>,
                                                       reduce_as<Native<std::uint64_t>>,
                                                       reduce_as<Half>,
                                                       reduce_as<Native<float>>,
                                                       reduce_as<Native<double>>,
                                                       reduce_as<Bfloat>,
                                                       reduce_as<Fp8E4m3>,
                                                       reduce_as<Fp8E5m2>};
  reductions[static_cast<std::size_t>(type)](op, terms, to, count);
}

}  // namespace gpu_model::nccl
