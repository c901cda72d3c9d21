// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/data_type.hpp"

// One function an instruction of the PTX ISA, for what every device of compute capability 8.0 and newer has.

namespace roofmark::cuda {

/// Shared memory as instructions address it.
inline __device__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// blockIdx.x, read anew at every call: what is computed from it need not stay in registers between two of them.
inline __device__ int read_block_index() {
  int index;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
  return index;
}

/// Starts to copy 16 bytes, both ends aligned to them, past L1; zeros instead, and nothing is read, unless `there`.
inline __device__ void copy_16_bytes(std::uint32_t to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}
/// This thread's copies since the last call are a group, an empty one if there were none.
inline __device__ void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until only the last kPending groups of this thread may still be under way.
template <int kPending>
__device__ void wait_for_copy_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Four matrices of 8 rows of 16 bytes; lane 8 m + r says where row r of matrix m begins. Of each the lane gets the pair of
/// 16-bit elements lane % 4 of row lane / 4; transposed, elements 2 (lane % 4) and the next of column lane / 4.
inline __device__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
inline __device__ void load_matrices_transposed(std::uint32_t (&to)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

/// C (16 x 8, fp32) += A (16 x 16) x B (16 x 8) of 16-bit elements, two in a register. With g = lane / 4 and t = lane % 4:
///   c    (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
///   a    pairs along the row from (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8)
///   b    pairs along the column from (2t, g), (2t + 8, g)
template <DataType kType>
__device__ void multiply_16x8x16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  static_assert(kType == DataType::fp16 || kType == DataType::bf16);
  if constexpr (kType == DataType::fp16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// A matrix of 8 x 8 16-bit elements turned: a lane gives the pair (g, 2t), (g, 2t + 1) and gets (2t, g), (2t + 1, g).
inline __device__ std::uint32_t transpose_8x8(std::uint32_t pair) {
  std::uint32_t turned;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(pair));
  return turned;
}

/// 2^x within two units in the last place; 0 below the normal numbers, NaN for NaN.
inline __device__ float exp2_approximate(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

/// Two numbers in one register, each rounded to nearest even.
template <DataType kType>
__device__ std::uint32_t pack(float low, float high) {
  static_assert(kType == DataType::fp16 || kType == DataType::bf16);
  std::uint32_t pair;
  if constexpr (kType == DataType::fp16) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

/// The numbers of such a pair, exactly.
template <DataType kType>
__device__ float2 unpack(std::uint32_t pair) {
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
