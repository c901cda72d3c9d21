// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/data_type.hpp"
#include "kernels/cuda/ptx/swizzle.cuh"

// Matrix products of one warpgroup, asynchronous. sm_90a. One function per PTX instruction.

// The one way to give an instruction this many registers.
#define ROOFMARK_NAMES_8(a, b, c, d, e, f, g, h) "%" #a ", %" #b ", %" #c ", %" #d ", %" #e ", %" #f ", %" #g ", %" #h
// clang-format off
#define ROOFMARK_NAMES_32 \
  ROOFMARK_NAMES_8(0, 1, 2, 3, 4, 5, 6, 7) ", " ROOFMARK_NAMES_8(8, 9, 10, 11, 12, 13, 14, 15) ", " \
  ROOFMARK_NAMES_8(16, 17, 18, 19, 20, 21, 22, 23) ", " ROOFMARK_NAMES_8(24, 25, 26, 27, 28, 29, 30, 31)
#define ROOFMARK_NAMES_40 \
  ROOFMARK_NAMES_32 ", " ROOFMARK_NAMES_8(32, 33, 34, 35, 36, 37, 38, 39)
#define ROOFMARK_NAMES_64 \
  ROOFMARK_NAMES_40 ", " ROOFMARK_NAMES_8(40, 41, 42, 43, 44, 45, 46, 47) ", " \
  ROOFMARK_NAMES_8(48, 49, 50, 51, 52, 53, 54, 55) ", " ROOFMARK_NAMES_8(56, 57, 58, 59, 60, 61, 62, 63)
#define ROOFMARK_NAMES_88 \
  ROOFMARK_NAMES_64 ", " ROOFMARK_NAMES_8(64, 65, 66, 67, 68, 69, 70, 71) ", " \
  ROOFMARK_NAMES_8(72, 73, 74, 75, 76, 77, 78, 79) ", " ROOFMARK_NAMES_8(80, 81, 82, 83, 84, 85, 86, 87)
#define ROOFMARK_NAMES_128 \
  ROOFMARK_NAMES_88 ", " ROOFMARK_NAMES_8(88, 89, 90, 91, 92, 93, 94, 95) ", " \
  ROOFMARK_NAMES_8(96, 97, 98, 99, 100, 101, 102, 103) ", " ROOFMARK_NAMES_8(104, 105, 106, 107, 108, 109, 110, 111) ", " \
  ROOFMARK_NAMES_8(112, 113, 114, 115, 116, 117, 118, 119) ", " ROOFMARK_NAMES_8(120, 121, 122, 123, 124, 125, 126, 127)
// clang-format on
#define ROOFMARK_REGISTERS_8(constraint, r, i)                                                              \
  constraint(r[i]), constraint(r[i + 1]), constraint(r[i + 2]), constraint(r[i + 3]), constraint(r[i + 4]), \
      constraint(r[i + 5]), constraint(r[i + 6]), constraint(r[i + 7])
#define ROOFMARK_REGISTERS_32(constraint, r)                                                                               \
  ROOFMARK_REGISTERS_8(constraint, r, 0), ROOFMARK_REGISTERS_8(constraint, r, 8), ROOFMARK_REGISTERS_8(constraint, r, 16), \
      ROOFMARK_REGISTERS_8(constraint, r, 24)
#define ROOFMARK_REGISTERS_40(constraint, r) ROOFMARK_REGISTERS_32(constraint, r), ROOFMARK_REGISTERS_8(constraint, r, 32)
#define ROOFMARK_REGISTERS_64(constraint, r)                                                                              \
  ROOFMARK_REGISTERS_40(constraint, r), ROOFMARK_REGISTERS_8(constraint, r, 40), ROOFMARK_REGISTERS_8(constraint, r, 48), \
      ROOFMARK_REGISTERS_8(constraint, r, 56)
#define ROOFMARK_REGISTERS_88(constraint, r)                                                                              \
  ROOFMARK_REGISTERS_64(constraint, r), ROOFMARK_REGISTERS_8(constraint, r, 64), ROOFMARK_REGISTERS_8(constraint, r, 72), \
      ROOFMARK_REGISTERS_8(constraint, r, 80)
#define ROOFMARK_REGISTERS_128(constraint, r)                                                                             \
  ROOFMARK_REGISTERS_88(constraint, r), ROOFMARK_REGISTERS_8(constraint, r, 88), ROOFMARK_REGISTERS_8(constraint, r, 96), \
      ROOFMARK_REGISTERS_8(constraint, r, 104), ROOFMARK_REGISTERS_8(constraint, r, 112),                                 \
      ROOFMARK_REGISTERS_8(constraint, r, 120)

namespace roofmark::cuda {

/// Before the first wgmma_mma_async, and before one that follows other accesses to its registers.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Makes a group of the products issued since the last commit.
__device__ inline void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most the last kPending groups are in flight. To the compiler, a product's registers are written when it is
/// issued: make them opaque() after the wait.
template <int kPending>
__device__ void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// A shared-memory matrix descriptor (PTX ISA, asynchronous warpgroup matrix shared memory layout) with 128-byte swizzle, for
/// contiguous rows of 128 bytes. K-major: the rows are those of the matrix, and slab_bytes is ignored. MN-major (trans-b): a
/// row holds 64 columns, and the next 64 columns start slab_bytes further on. Addresses and distances are in units of 16 bytes,
/// so the descriptor of a matrix n bytes further on is this one + n / 16.
__device__ inline std::uint64_t wgmma_descriptor(std::uint32_t address, int slab_bytes = 16) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t stride = std::uint64_t{kSwizzleAtomBytes / 16} << 32;
  return swizzle_128 | stride | static_cast<std::uint64_t>(slab_bytes / 16) << 16 | (address & 0x3FFFF) >> 4;
}

/// D (64 x n) (+)= A B over 32 bytes of k per row; overwrites D unless `accumulate`. A and B come from shared memory, both
/// K-major. D[row][column] of a warp's 16 rows is element column / 8 * 4 + row / 8 * 2 + column % 2 of lane
/// row % 8 * 4 + column % 8 / 2, so n is twice the elements of D that a lane holds.
template <DataType kType, class Register, int kRegisters>
__device__ void wgmma_mma_async(Register (&d)[kRegisters], std::uint64_t a, std::uint64_t b, int accumulate);

/// The same with A from registers, in the order of D's pairs of columns, and with B MN-major.
template <DataType kType, class Register, int kRegisters>
__device__ void wgmma_mma_async_trans_b(Register (&d)[kRegisters], const std::uint32_t* a, std::uint64_t b, int accumulate);

// i0... are the numbers of the operands that follow the registers of D.
#define ROOFMARK_WGMMA(type, Register, constraint, registers, variant, modifiers, i0, i1, i2)                                 \
  template <>                                                                                                                 \
  __device__ inline void wgmma_mma_async<DataType::type>(Register(&d)[registers], std::uint64_t a, std::uint64_t b,           \
                                                         int accumulate) {                                                    \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #i2                                                                       \
                 ", 0;\n"                                                                                                     \
                 "wgmma.mma_async.sync.aligned." variant " {" ROOFMARK_NAMES_##registers "}, %" #i0 ", %" #i1 ", p" modifiers \
                                                                                         "; }"                                \
                 : ROOFMARK_REGISTERS_##registers(constraint, d)                                                              \
                 : "l"(a), "l"(b), "r"(accumulate));                                                                          \
  }
#define ROOFMARK_WGMMA_TRANS_B(type, registers, variant, i0, i1, i2, i3, i4, i5)                               \
  template <>                                                                                                  \
  __device__ inline void wgmma_mma_async_trans_b<DataType::type>(float(&d)[registers], const std::uint32_t* a, \
                                                                 std::uint64_t b, int accumulate) {            \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #i5                                                        \
                 ", 0;\n"                                                                                      \
                 "wgmma.mma_async.sync.aligned." variant " {" ROOFMARK_NAMES_##registers                       \
                 "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4 ", p, 1, 1, 1; }"                        \
                 : ROOFMARK_REGISTERS_##registers("+f", d)                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));                       \
  }
#define ROOFMARK_WGMMA_16_BIT(n, registers, i0, i1, i2, i3, i4, i5)                                       \
  ROOFMARK_WGMMA(fp16, float, "+f", registers, "m64n" #n "k16.f32.f16.f16", ", 1, 1, 0, 0", i0, i1, i2)   \
  ROOFMARK_WGMMA(bf16, float, "+f", registers, "m64n" #n "k16.f32.bf16.bf16", ", 1, 1, 0, 0", i0, i1, i2) \
  ROOFMARK_WGMMA_TRANS_B(fp16, registers, "m64n" #n "k16.f32.f16.f16", i0, i1, i2, i3, i4, i5)            \
  ROOFMARK_WGMMA_TRANS_B(bf16, registers, "m64n" #n "k16.f32.bf16.bf16", i0, i1, i2, i3, i4, i5)
ROOFMARK_WGMMA_16_BIT(64, 32, 32, 33, 34, 35, 36, 37)
ROOFMARK_WGMMA_16_BIT(80, 40, 40, 41, 42, 43, 44, 45)
ROOFMARK_WGMMA_16_BIT(128, 64, 64, 65, 66, 67, 68, 69)
ROOFMARK_WGMMA_16_BIT(176, 88, 88, 89, 90, 91, 92, 93)
ROOFMARK_WGMMA_16_BIT(256, 128, 128, 129, 130, 131, 132, 133)
ROOFMARK_WGMMA(fp16, std::uint32_t, "+r", 64, "m64n256k16.f16.f16.f16", ", 1, 1, 0, 0", 64, 65, 66)
ROOFMARK_WGMMA(tf32, float, "+f", 128, "m64n256k8.f32.tf32.tf32", ", 1, 1", 128, 129, 130)
ROOFMARK_WGMMA(fp8, float, "+f", 128, "m64n256k32.f32.e4m3.e4m3", ", 1, 1", 128, 129, 130)
ROOFMARK_WGMMA(int8, int, "+r", 128, "m64n256k32.s32.s8.s8", "", 128, 129, 130)
#undef ROOFMARK_WGMMA_16_BIT
#undef ROOFMARK_WGMMA_TRANS_B
#undef ROOFMARK_WGMMA

}  // namespace roofmark::cuda
