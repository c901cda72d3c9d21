// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What the arithmetic of several types shares.
#pragma once
#include <cmath>
#include <type_traits>

#include "decoder.hpp"
#include "lanes.hpp"

namespace gpu_model {

/// The NaN that a device's f32 operation gives is 0x7fffffff. Other values and types pass through.
template <class T>
inline T canonical(T value) {
  if constexpr (std::is_same_v<T, float>)
    return std::isnan(value) ? std::bit_cast<float>(0x7fffffffu) : value;
  else
    return value;
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
  }
};
/// Where one operand is NaN, the other one; -0 < +0.
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    T result = a < b ? a : b;
    if constexpr (std::is_floating_point_v<T>) {
      result = a == b && std::signbit(a) ? a : result;
      result = std::isnan(a) ? b : result;
      result = std::isnan(b) ? a : result;
    }
    return result;
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    T result = a > b ? a : b;
    if constexpr (std::is_floating_point_v<T>) {
      result = a == b && std::signbit(b) ? a : result;
      result = std::isnan(a) ? b : result;
      result = std::isnan(b) ? a : result;
    }
    return result;
  }
};
/// min.NaN, max.NaN: NaN where one operand is NaN.
template <class Op>
struct PropagateNan {
  template <class T>
  T operator()(T a, T b) const {
    T result = Op{}(a, b);
    result = std::isnan(a) ? a : result;
    return std::isnan(b) ? b : result;
  }
};

/// The half types hold 16 bits; arithmetic on them is done in float or double and rounded once.
struct Fp16 {
  static float load(u16 value) { return half_to_float(value); }
  static u16 store(float value) { return float_to_half(value); }
  static u16 store(double value) { return double_to_half(value); }
};
struct Bf16 {
  static float load(u16 value) { return bf16_to_float(value); }
  static u16 store(float value) { return float_to_bf16(value); }
  static u16 store(double value) { return double_to_bf16(value); }
};
inline bool is_half(Type type) {
  return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}
inline bool is_packed_half(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }

/// Lane functions of the half types for "add", "sub", "mul", "min", "max", "min.NaN", "max.NaN", "neg", "abs", "fma",
/// "fma.relu"; nullptr for others.
Handler half_handler(std::string_view operation, Type type);

/// Sets what the FLOP counters count: `count` operations per element. Nothing for integers.
void set_flops(Instruction&, Type type, int count);
/// Wraps the lane function so that it obeys .rz, .rm, .rp, .ftz and .sat. False if the model lacks a modifier for this type.
bool apply_modes(const Mnemonic&, Instruction&, Type type);

/// rni, rzi, rmi, rpi: to an integral value.
enum class Integral : u16 { nearest, zero, down, up };
inline double round_integral(double value, Integral mode) {
  switch (mode) {
    case Integral::nearest:
      return std::nearbyint(value);
    case Integral::zero:
      return std::trunc(value);
    case Integral::down:
      return std::floor(value);
    default:
      return std::ceil(value);
  }
}

}  // namespace gpu_model
