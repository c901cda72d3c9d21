// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/vector.cuh"

namespace roofmark::cuda {

/// Storage of fp8 e4m3.
using Fp8 = std::uint8_t;

__device__ inline float widened(float x) { return x; }
__device__ inline float widened(__half x) { return __half2float(x); }
__device__ inline float widened(__nv_bfloat16 x) { return __bfloat162float(x); }

/// kCount elements of T as stored in memory: whole registers if they fill them.
template <class T, int kCount>
using Stored = std::conditional_t<kCount * sizeof(T) % sizeof(unsigned) == 0,
                                  Packet<unsigned, kCount* static_cast<int>(sizeof(T)) / static_cast<int>(sizeof(unsigned))>,
                                  Packet<T, kCount>>;

template <class T, int kCount>
__device__ void widen(const Stored<T, kCount>& from, float (&to)[kCount]) {
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = __uint_as_float(from.element[i]);
  } else if constexpr (kCount == 1) {
    to[0] = widened(from.element[0]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      const unsigned word = from.element[i];
      float2 pair;
      if constexpr (std::is_same_v<T, __half>) {
        pair = __half22float2(reinterpret_cast<const __half2&>(word));
      } else {
        pair = {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
      }
      to[2 * i] = pair.x;
      to[2 * i + 1] = pair.y;
    }
  }
}

/// Rounded to nearest even; fp8 saturates.
template <class T>
__device__ inline T narrowed(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  }
}

/// Two 16-bit elements in one register, the first in the lower half.
template <class T>
__device__ inline unsigned narrowed_pair(float first, float second) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 pair = __float22half2_rn({first, second});
    return reinterpret_cast<const unsigned&>(pair);
  } else {
    const __nv_bfloat162 pair = __float22bfloat162_rn({first, second});
    return reinterpret_cast<const unsigned&>(pair);
  }
}

/// The element-wise maximum of two such registers; ignores NaN.
template <class T>
__device__ inline unsigned max_pair(unsigned a, unsigned b) {
  using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
  const Pair maximum = __hmax2(reinterpret_cast<const Pair&>(a), reinterpret_cast<const Pair&>(b));
  return reinterpret_cast<const unsigned&>(maximum);
}

template <class T, int kCount>
__device__ Stored<T, kCount> narrow(const float (&from)[kCount]) {
  Stored<T, kCount> to;
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to.element[i] = __float_as_uint(from[i]);
  } else if constexpr (kCount == 1) {
    to.element[0] = narrowed<T>(from[0]);
  } else if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) to.element[i] = narrowed_pair<T>(from[2 * i], from[2 * i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      const float* four = from + 4 * i;
      const unsigned lower = __nv_cvt_float2_to_fp8x2({four[0], four[1]}, __NV_SATFINITE, __NV_E4M3);
      const unsigned upper = __nv_cvt_float2_to_fp8x2({four[2], four[3]}, __NV_SATFINITE, __NV_E4M3);
      to.element[i] = lower | upper << 16;
    }
  }
  return to;
}

}  // namespace roofmark::cuda
