// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/data_type.hpp"
#include "kernels/cuda/ptx/swizzle.cuh"

// Matrix products whose sums are in tensor memory: 128 lanes of 512 columns of 32 bits in each SM. An address has the lane in
// its upper 16 bits and the column in the others. sm_100a and sm_103a. One function per PTX instruction.
namespace roofmark::cuda {

/// By one warp: allocates 32, 64, 128, 256 or 512 columns, and stores their address at `to` in shared memory. Waits until
/// another block has freed them, if need be.
__device__ inline void tcgen05_alloc(std::uint32_t to, std::uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to), "r"(columns) : "memory");
}
/// By the same warp, after the last one: lets other blocks allocate.
__device__ inline void tcgen05_relinquish_alloc_permit() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}
/// By the same warp, before its block ends.
__device__ inline void tcgen05_dealloc(std::uint32_t address, std::uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns));
}

/// Around a synchronisation of threads, for what both sides do with tensor memory.
__device__ inline void tcgen05_fence_before_thread_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ inline void tcgen05_fence_after_thread_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

/// A shared-memory descriptor (PTX ISA, tcgen05, shared memory descriptor) of a K-major operand with 128-byte swizzle, whose
/// rows of 128 bytes are contiguous: the stride is that of 8 rows; the leading dimension, of operands wider than the swizzle,
/// is not used. Addresses are in units of 16 bytes: the descriptor of the operand n bytes further on is this one + n / 16.
__device__ inline std::uint64_t tcgen05_descriptor(std::uint32_t address) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t{2} << 61;
  constexpr std::uint64_t constant = std::uint64_t{1} << 46;
  constexpr std::uint64_t stride = std::uint64_t{kSwizzleAtomBytes / 16} << 32;
  constexpr std::uint64_t leading = std::uint64_t{1} << 16;
  return swizzle_128 | constant | stride | leading | (address & 0x3FFFF) >> 4;
}

/// One of contiguous rows of 16 bytes without a swizzle: the stride is that of 8 rows.
__device__ inline std::uint64_t tcgen05_rows_descriptor(std::uint32_t address) {
  constexpr std::uint64_t constant = std::uint64_t{1} << 46;
  constexpr std::uint64_t stride = std::uint64_t{8} << 32;
  return constant | stride | (address & 0x3FFFF) >> 4;
}

/// An instruction descriptor (PTX ISA, tcgen05, instruction descriptor): dense, both operands K-major and of one type.
/// `accumulate`: int32 for int8, fp16 or fp32 for fp16, fp32 for the others. m is 64 or 128, n a multiple of 16 up to 256.
constexpr std::uint32_t tcgen05_instruction_descriptor(DataType type, DataType accumulate, int m, int n) {
  const std::uint32_t sums = accumulate == DataType::int32 ? 2 : accumulate == DataType::fp32 ? 1 : 0;
  // Their numbers start anew with each kind of instruction.
  const std::uint32_t operands = type == DataType::tf32 ? 2 : type == DataType::bf16 || type == DataType::int8 ? 1 : 0;
  return sums << 4 | operands << 7 | operands << 10 | static_cast<std::uint32_t>(n / 8) << 17 |
         static_cast<std::uint32_t>(m / 16) << 24;
}

/// The same of mxfp8 and nvfp4, with sums in fp32. m is 128. An instruction of mxfp8 spans one block: `block` is its byte in
/// the words of scales; one of nvfp4 spans four.
constexpr std::uint32_t tcgen05_block_scaled_descriptor(DataType type, int m, int n, int block) {
  // e2m1 and ue4m3; e4m3 and ue8m0.
  const std::uint32_t operands = type == DataType::nvfp4 ? 1 : 0, scales = type == DataType::nvfp4 ? 0 : 1;
  const std::uint32_t id = type == DataType::nvfp4 ? 0 : static_cast<std::uint32_t>(block);
  return id << 4 | operands << 7 | operands << 10 | static_cast<std::uint32_t>(n / 8) << 17 | scales << 23 |
         static_cast<std::uint32_t>(m / 128) << 27 | id << 29;
}

/// By one thread: D (m x n, at `d`) (+)= A B over 32 bytes of k per row; overwrites D unless `accumulate`. With m = 128, row r
/// and column c of D are lane r and column c; fp16 sums are in the lower halves of the words. Products of one thread are
/// executed in their order.
template <DataType kType>
__device__ void tcgen05_mma(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t instruction, int accumulate);

#define ROOFMARK_TCGEN05_MMA(type, kind)                                                                \
  template <>                                                                                           \
  __device__ inline void tcgen05_mma<DataType::type>(std::uint32_t d, std::uint64_t a, std::uint64_t b, \
                                                     std::uint32_t instruction, int accumulate) {       \
    asm volatile(                                                                                       \
        "{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"                                                       \
        "tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, p; }" ::"r"(d),                      \
        "l"(a), "l"(b), "r"(instruction), "r"(accumulate)                                               \
        : "memory");                                                                                    \
  }
ROOFMARK_TCGEN05_MMA(tf32, "tf32")
ROOFMARK_TCGEN05_MMA(fp16, "f16")
ROOFMARK_TCGEN05_MMA(bf16, "f16")
ROOFMARK_TCGEN05_MMA(fp8, "f8f6f4")
ROOFMARK_TCGEN05_MMA(int8, "i8")
#undef ROOFMARK_TCGEN05_MMA

/// The same of a block-scaled type, whose scales are in tensor memory (PTX ISA, tcgen05, scale factor layouts). A word holds
/// those of four blocks of a row: those of rows 32 c to 32 c + 31 of A, in its lane r % 32, are c columns from `a_scales`, and
/// B's likewise from `b_scales`. In all four quarters of the lanes they are the same.
template <DataType kType>
__device__ void tcgen05_mma_block_scale(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t instruction,
                                        std::uint32_t a_scales, std::uint32_t b_scales, int accumulate);

#define ROOFMARK_TCGEN05_MMA_BLOCK_SCALE(type, kind)                                                                \
  template <>                                                                                                       \
  __device__ inline void tcgen05_mma_block_scale<DataType::type>(std::uint32_t d, std::uint64_t a, std::uint64_t b, \
                                                                 std::uint32_t instruction, std::uint32_t a_scales, \
                                                                 std::uint32_t b_scales, int accumulate) {          \
    asm volatile(                                                                                                   \
        "{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"                                                                   \
        "tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, [%4], [%5], p; }" ::"r"(d),                      \
        "l"(a), "l"(b), "r"(instruction), "r"(a_scales), "r"(b_scales), "r"(accumulate)                             \
        : "memory");                                                                                                \
  }
ROOFMARK_TCGEN05_MMA_BLOCK_SCALE(mxfp8, "mxf8f6f4.block_scale.scale_vec::1X")
ROOFMARK_TCGEN05_MMA_BLOCK_SCALE(nvfp4, "mxf4nvf4.block_scale.scale_vec::4X")
#undef ROOFMARK_TCGEN05_MMA_BLOCK_SCALE

/// By one thread: 32 rows of 16 bytes, which tcgen05_rows_descriptor() describes, to four columns of 32 lanes, and the same to
/// the other three quarters of the lanes. In order with the thread's products.
__device__ inline void tcgen05_cp_32x128b_warpx4(std::uint32_t to, std::uint64_t rows) {
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(rows) : "memory");
}

/// One arrival on the mbarrier when all products that this thread has issued are complete.
__device__ inline void tcgen05_commit(std::uint32_t barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier) : "memory");
}

/// By a warp: 16 lanes and 32 columns from `address`. The lane is among the 32 x (warp % 4) + 0..31 that the warp reaches.
/// to[i / 8 * 4 + r / 8 * 2 + i % 2] of thread r % 8 * 4 + i % 8 / 2 is row r, column i: as mma leaves them. Read them after
/// tcgen05_wait_ld().
__device__ inline void tcgen05_ld_16x256b_x4(std::uint32_t (&to)[16], std::uint32_t address) {
  asm volatile(
      "tcgen05.ld.sync.aligned.16x256b.x4.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]), "=r"(to[4]), "=r"(to[5]), "=r"(to[6]), "=r"(to[7]), "=r"(to[8]),
        "=r"(to[9]), "=r"(to[10]), "=r"(to[11]), "=r"(to[12]), "=r"(to[13]), "=r"(to[14]), "=r"(to[15])
      : "r"(address)
      : "memory");
}
/// Waits for the loads of this warp. To the compiler, their registers are written when they are issued: make them opaque()
/// after it.
__device__ inline void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }

}  // namespace roofmark::cuda
