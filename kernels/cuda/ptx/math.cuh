// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/data_type.hpp"

// Arithmetic and conversions for which CUDA C++ has no intrinsic, or one that the compiler turns into something slower. One
// function per PTX instruction.
namespace roofmark::cuda {

/// 2^x within 2 units in the last place; subnormal results are 0.
__device__ inline float ex2_approx_ftz(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
/// e^x by ex2.approx.ftz: within (4 + |x|) roundoffs of fp32; 0 below 2^-126. The roundoff of a 16-bit type is 2^13 of these
/// and more.
__device__ inline float exp_approx_ftz(float x) {
  constexpr float kLog2E = 1.442695041F;
  return ex2_approx_ftz(x * kLog2E);
}

/// 1 / x within 1 unit in the last place; subnormal results are 0.
__device__ inline float rcp_approx_ftz(float x) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
  return inverse;
}

/// The maximum; NaN if either is NaN, which fmaxf would ignore.
__device__ inline float max_nan(float a, float b) {
  float maximum;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(maximum) : "f"(a), "f"(b));
  return maximum;
}

/// lop3 with the truth table of (a & mask) ^ bits. The compiler would emit two instructions, each with one constant.
__device__ inline std::uint32_t lop3_and_xor(std::uint32_t a, std::uint32_t mask, std::uint32_t bits) {
  std::uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(result) : "r"(a), "r"(mask), "r"(bits));
  return result;
}

/// Two numbers in one register, `low` in the lower half, each rounded to nearest even.
template <DataType kType>
__device__ std::uint32_t cvt_rn_x2(float low, float high) {
  static_assert(kType == DataType::fp16 || kType == DataType::bf16);
  std::uint32_t pair;
  if constexpr (kType == DataType::fp16) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

/// The two numbers of such a register, exactly.
template <DataType kType>
__device__ float2 cvt_f32_x2(std::uint32_t pair) {
  static_assert(kType == DataType::fp16 || kType == DataType::bf16);
  if constexpr (kType == DataType::fp16) {
    float2 numbers;
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
        : "=f"(numbers.x), "=f"(numbers.y)
        : "r"(pair));
    return numbers;
  } else {
    return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xFFFF0000u));
  }
}

}  // namespace roofmark::cuda
