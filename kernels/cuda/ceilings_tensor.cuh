// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace roofmark::cuda {

/// The sum of a pair of fp16 numbers in one register.
inline __device__ float sum_of_halves(std::uint32_t pair) {
  return __half2float(__ushort_as_half(pair & 0xFFFF)) + __half2float(__ushort_as_half(pair >> 16));
}

}  // namespace roofmark::cuda
