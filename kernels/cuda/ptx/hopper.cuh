// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/base/data_type.hpp"

// One function an instruction of the PTX ISA that only sm_90a has (the copies and barriers: sm_90). Shared memory is addressed
// by its own 32-bit addresses.

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

namespace roofmark::cuda::hopper {

inline __device__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// Gives a warpgroup's registers away, or waits for as many as it asks for; `count` a multiple of 8.
template <int count>
__device__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// Barriers of part of a block; 0 is that of __syncthreads. `threads` counts those that wait and those that only arrive.
inline __device__ void wait_named_barrier(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
inline __device__ void arrive_at_named_barrier(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// An mbarrier's phase ends when `arrivals` threads have arrived and the bytes expected have come.
inline __device__ void start_barrier(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes start_barrier visible to the copy engine.
inline __device__ void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
inline __device__ void arrive(std::uint32_t barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(barrier) : "memory");
}
inline __device__ void arrive_expecting(std::uint32_t barrier, int bytes) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Returns when the phase of this parity has ended; the phase before the first counts as one of parity 1 that has.
inline __device__ void wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Copies the map's box at these coordinates, innermost first, to shared memory, zeros where the tensor ends, and reports its
/// bytes to the barrier.
inline __device__ void load_box(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int c0, int c1, int c2,
                                int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::
          "r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
inline __device__ void prefetch_map(const CUtensorMap* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

/// 2^x to 2 units in the last place; results below the smallest normal are 0.
inline __device__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Two numbers in one register, each rounded to nearest even.
template <DataType type>
__device__ std::uint32_t pack(float low, float high) {
  static_assert(type == DataType::fp16 || type == DataType::bf16);
  std::uint32_t pair;
  if constexpr (type == DataType::fp16) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

/// Registers that products read or write may be touched by others before this, and again after wait_products.
inline __device__ void fence_registers() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline __device__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until only the last `pending` commits may still run.
template <int pending>
__device__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
/// Keeps what uses a register behind this: to the compiler a product's result was there when the product was issued.
inline __device__ void settle(float& r) { asm volatile("" : "+f"(r)); }
inline __device__ void settle(std::uint32_t& r) { asm volatile("" : "+r"(r)); }
inline __device__ void settle(int& r) { asm volatile("" : "+r"(r)); }

/// What the 128-byte swizzle repeats after: 8 rows of 128 bytes, in which 16-byte chunk c of row r stands at c ^ r.
inline constexpr int kSwizzleAtomBytes = 1024;

/// A shared-memory matrix descriptor (PTX ISA, asynchronous warpgroup matrix shared memory layout): 128-byte swizzle, rows of
/// 128 bytes one after the other. With k along the row, the rows are those of the matrix and slab_bytes is not used. With k
/// from row to row (trans-b 1), a row holds 64 columns and the next 64 stand slab_bytes further on. Addresses and distances are
/// in units of 16 bytes, so that a product further along adds its distance / 16.
inline __device__ std::uint64_t describe_matrix(std::uint32_t address, int slab_bytes = 16) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t stride = std::uint64_t{kSwizzleAtomBytes / 16} << 32;
  return swizzle_128 | stride | static_cast<std::uint64_t>(slab_bytes / 16) << 16 | (address & 0x3FFFF) >> 4;
}

/// D (+)= A B for 64 x n of D and k = 16, by the four warps of a warpgroup. D[row][column] of a warp's 16 rows is register
/// column / 8 * 4 + row / 8 * 2 + column % 2 of lane row % 8 * 4 + column % 8 / 2. Without `accumulate` D is overwritten.
///   multiply            A and B from shared memory, both with k along the row
///   multiply_transposed A from registers, packed from the pairs of columns of a D of the same rows; B with k from row to row
template <DataType type, int n>
struct Product;

#define ROOFMARK_PRODUCT(type, type_name, n, registers, i0, i1, i2, i3, i4, i5)                                              \
  template <>                                                                                                                \
  struct Product<DataType::type, n> {                                                                                        \
    static __device__ void multiply(float (&d)[registers], std::uint64_t a, std::uint64_t b, int accumulate) {               \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #i2                                                                    \
                   ", 0;\n"                                                                                                  \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type_name "." type_name " {" ROOFMARK_NAMES_##registers \
                   "}, %" #i0 ", %" #i1 ", p, 1, 1, 0, 0; }"                                                                 \
                   : ROOFMARK_REGISTERS_##registers("+f", d)                                                                 \
                   : "l"(a), "l"(b), "r"(accumulate));                                                                       \
    }                                                                                                                        \
    static __device__ void multiply_transposed(float (&d)[registers], const std::uint32_t* a, std::uint64_t b,               \
                                               int accumulate) {                                                             \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #i5                                                                    \
                   ", 0;\n"                                                                                                  \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type_name "." type_name " {" ROOFMARK_NAMES_##registers \
                   "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4 ", p, 1, 1, 1; }"                                    \
                   : ROOFMARK_REGISTERS_##registers("+f", d)                                                                 \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));                                   \
    }                                                                                                                        \
  };
ROOFMARK_PRODUCT(fp16, "f16", 64, 32, 32, 33, 34, 35, 36, 37)
ROOFMARK_PRODUCT(bf16, "bf16", 64, 32, 32, 33, 34, 35, 36, 37)
ROOFMARK_PRODUCT(fp16, "f16", 80, 40, 40, 41, 42, 43, 44, 45)
ROOFMARK_PRODUCT(bf16, "bf16", 80, 40, 40, 41, 42, 43, 44, 45)
ROOFMARK_PRODUCT(fp16, "f16", 128, 64, 64, 65, 66, 67, 68, 69)
ROOFMARK_PRODUCT(bf16, "bf16", 128, 64, 64, 65, 66, 67, 68, 69)
ROOFMARK_PRODUCT(fp16, "f16", 176, 88, 88, 89, 90, 91, 92, 93)
ROOFMARK_PRODUCT(bf16, "bf16", 176, 88, 88, 89, 90, 91, 92, 93)
ROOFMARK_PRODUCT(fp16, "f16", 256, 128, 128, 129, 130, 131, 132, 133)
ROOFMARK_PRODUCT(bf16, "bf16", 256, 128, 128, 129, 130, 131, 132, 133)
#undef ROOFMARK_PRODUCT

}  // namespace roofmark::cuda::hopper
