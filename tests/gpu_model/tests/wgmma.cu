// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include "tests/gpu_model/tests/ptx.cuh"

/// What a kernel does wrong; the test has the same numbers.
enum Mistake { none, no_wait_for_loads, no_wait_group, overwrites_operand, no_wgmma_fence };

/// D [64, 128] = A [64, 64] B, loaded by TMA: A and B K-major, or B MN-major where kTransposeB. kSwizzle as in
/// matrix_descriptor. kRegisters: A comes from registers.
template <int kSwizzle, bool kTransposeB, bool kRegisters>
__device__ void swizzled_product(const CUtensorMap* map_a, const CUtensorMap* map_b, const __half* a, float* out, int mistake) {
  extern __shared__ __align__(1024) unsigned char shared[];
  constexpr int kSpan = 256 >> kSwizzle, kColumns = kSpan / 2;  // of a swizzled row: bytes, elements
  constexpr int kBytesA = 64 * 64 * 2, kBytesB = 128 * 64 * 2;
  constexpr int kRowsB = kTransposeB ? 64 : 128;
  const uint32_t shared_a = shared_address(shared), shared_b = shared_a + kBytesA;
  __shared__ __align__(8) uint64_t barrier;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(shared_address(&barrier), kBytesA + kBytesB);
    for (int i = 0; i < 64 / kColumns; ++i) {
      tma_load_2d(shared_a + i * 64 * kSpan, map_a, i * kColumns, 0, shared_address(&barrier));
    }
    for (int i = 0; i < kBytesB / (kRowsB * kSpan); ++i) {
      tma_load_2d(shared_b + i * kRowsB * kSpan, map_b, i * kColumns, 0, shared_address(&barrier));
    }
  }
  if (mistake != no_wait_for_loads) mbarrier_wait(shared_address(&barrier), 0);
  float d[64];
  uint32_t fragments[4][4];
  if constexpr (kRegisters) {
    const __half* const from = a + (threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4) * 64 + threadIdx.x % 4 * 2;
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < 4; ++i) {
        fragments[k][i] = *reinterpret_cast<const uint32_t*>(from + i % 2 * 8 * 64 + k * 16 + i / 2 * 8);
      }
    }
  }
  if (mistake != no_wgmma_fence) wgmma_fence();
#pragma unroll
  for (int k = 0; k < 64; k += 16) {
    const int byte = k * 2;
    const uint64_t from_a = matrix_descriptor(shared_a + byte / kSpan * (64 * kSpan) + byte % kSpan, 16, 8 * kSpan, kSwizzle);
    const uint64_t from_b =
        kTransposeB ? matrix_descriptor(shared_b + k * kSpan, 64 * kSpan, 8 * kSpan, kSwizzle)
                    : matrix_descriptor(shared_b + byte / kSpan * (128 * kSpan) + byte % kSpan, 16, 8 * kSpan, kSwizzle);
    if constexpr (kRegisters) {
      wgmma_m64n128k16<kTransposeB>(d, fragments[k / 16], from_b, k > 0);
    } else {
      wgmma_m64n128k16<kTransposeB>(d, from_a, from_b, k > 0);
    }
  }
  wgmma_commit_group();
  if (mistake == overwrites_operand) {
    reinterpret_cast<float4*>(shared)[threadIdx.x] = float4{9, 9, 9, 9};
    __syncthreads();
  }
  if (mistake != no_wait_group) wgmma_wait_group_0();
  store_fragment<128>(out, d);
}

#define SWIZZLED_KERNEL(NAME, SWIZZLE, TRANSPOSE_B, REGISTERS)                                                        \
  __global__ __launch_bounds__(128) void NAME(const __grid_constant__ CUtensorMap map_a,                              \
                                              const __grid_constant__ CUtensorMap map_b, const __half* a, float* out, \
                                              int mistake) {                                                          \
    swizzled_product<SWIZZLE, TRANSPOSE_B, REGISTERS>(&map_a, &map_b, a, out, mistake);                               \
  }

/// D [64, 8] from 32 bytes of K: A [64, K] and B [8, K], K-major, without a swizzle, written to shared memory by st.
struct SmallOperands {
  uint64_t a, b;
};
__device__ SmallOperands stage_small_operands(const uint4* a, const uint4* b) {
  __shared__ __align__(128) uint4 shared_a[128], shared_b[16];
  const int i = static_cast<int>(threadIdx.x);
  shared_a[i / 16 * 16 + i % 2 * 8 + i / 2 % 8] = a[i];
  if (i < 16) shared_b[i % 2 * 8 + i / 2] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  return {matrix_descriptor(shared_address(shared_a), 128, 256, 0), matrix_descriptor(shared_address(shared_b), 128, 256, 0)};
}

#define SMALL_PRODUCT(INSTRUCTION, SCALES, CONSTRAINT, D, X)                                          \
  asm volatile(                                                                                       \
      "{ .reg .pred accumulate; setp.ne.b32 accumulate, 0, 0;\n"                                      \
      "wgmma.mma_async.sync.aligned." INSTRUCTION " {%0,%1,%2,%3}, %4, %5, accumulate" SCALES "; }\n" \
      : CONSTRAINT(D[0]), CONSTRAINT(D[1]), CONSTRAINT(D[2]), CONSTRAINT(D[3])                        \
      : "l"(X.a), "l"(X.b))

// The fragment is only written, so that no register changes between the fence and wgmma.
#define SMALL_KERNEL(NAME, INSTRUCTION, SCALES, T, CONSTRAINT)                              \
  __global__ __launch_bounds__(128) void NAME(const uint4* a, const uint4* b, float* out) { \
    const SmallOperands x = stage_small_operands(a, b);                                     \
    T d[4];                                                                                 \
    wgmma_fence();                                                                          \
    SMALL_PRODUCT(INSTRUCTION, SCALES, CONSTRAINT, d, x);                                   \
    wgmma_commit_group();                                                                   \
    wgmma_wait_group_0();                                                                   \
    store_fragment<8>(out, d);                                                              \
  }

extern "C" {

SWIZZLED_KERNEL(wgmma_128, 1, false, false)
SWIZZLED_KERNEL(wgmma_128_transposed, 1, true, false)
SWIZZLED_KERNEL(wgmma_64, 2, false, false)
SWIZZLED_KERNEL(wgmma_64_transposed, 2, true, false)
SWIZZLED_KERNEL(wgmma_32, 3, false, false)
SWIZZLED_KERNEL(wgmma_32_transposed, 3, true, false)
SWIZZLED_KERNEL(wgmma_registers, 1, false, true)
SWIZZLED_KERNEL(wgmma_registers_transposed, 1, true, true)

SMALL_KERNEL(wgmma_bf16, "m64n8k16.f32.bf16.bf16", ", 1, 1, 0, 0", float, "=f")
SMALL_KERNEL(wgmma_tf32, "m64n8k8.f32.tf32.tf32", ", 1, 1", float, "=f")
/// Subtracts: the scale of B is -1.
SMALL_KERNEL(wgmma_e4m3_negated, "m64n8k32.f32.e4m3.e4m3", ", 1, -1", float, "=f")
SMALL_KERNEL(wgmma_s8, "m64n8k32.s32.s8.s8", "", int, "=r")

/// Two groups of one product each. One accumulator register of product `read` is read while `in_flight` groups may be in
/// flight.
__global__ __launch_bounds__(128) void wgmma_two_groups(const uint4* a, const uint4* b, float* out, int in_flight, int read) {
  const SmallOperands x = stage_small_operands(a, b);
  float first[4], second[4];
  wgmma_fence();
  SMALL_PRODUCT("m64n8k16.f32.bf16.bf16", ", 1, 1, 0, 0", "=f", first, x);
  wgmma_commit_group();
  SMALL_PRODUCT("m64n8k16.f32.bf16.bf16", ", 1, 1, 0, 0", "=f", second, x);
  wgmma_commit_group();
  if (in_flight == 1) asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  if (in_flight == 0) wgmma_wait_group_0();
  // A store in C++ could read both.
  if (read == 0) asm volatile("st.f32 [%0], %1;" ::"l"(out + threadIdx.x), "f"(first[0]) : "memory");
  if (read == 1) asm volatile("st.f32 [%0], %1;" ::"l"(out + threadIdx.x), "f"(second[0]) : "memory");
  wgmma_wait_group_0();
}

__global__ __launch_bounds__(128) void wgmma_f16_f16(const uint4* a, const uint4* b, float* out) {
  const SmallOperands x = stage_small_operands(a, b);
  union {
    uint32_t bits[2];
    __half d[4];
  } fragment;
  wgmma_fence();
  asm volatile(
      "{ .reg .pred accumulate; setp.ne.b32 accumulate, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0,%1}, %2, %3, accumulate, 1, 1, 0, 0; }\n"
      : "=r"(fragment.bits[0]), "=r"(fragment.bits[1])
      : "l"(x.a), "l"(x.b));
  wgmma_commit_group();
  wgmma_wait_group_0();
  store_fragment<8>(out, fragment.d);
}

/// The operands of the swizzled kernels without a swizzle, written by st: core matrices of 8 rows x 16 bytes. `fences` 0: no
/// fence.proxy.async.
__global__ __launch_bounds__(128) void wgmma_unswizzled(const __half* a, const __half* b, float* out, int fences) {
  __shared__ __align__(128) __half shared_a[64 * 64], shared_b[128 * 64];
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    const int row = i / 64, k = i % 64;
    shared_a[row / 8 * 64 + k / 8 * 512 + row % 8 * 8 + k % 8] = a[i];
  }
  for (int i = threadIdx.x; i < 128 * 64; i += 128) {
    const int row = i / 64, k = i % 64;
    shared_b[row / 8 * 512 + k / 8 * 64 + row % 8 * 8 + k % 8] = b[i];
  }
  if (fences) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[64];
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    wgmma_m64n128k16<false>(d, matrix_descriptor(shared_address(shared_a) + k * 2 * 1024, 1024, 128, 0),
                            matrix_descriptor(shared_address(shared_b) + k * 2 * 128, 128, 1024, 0), k > 0);
  }
  wgmma_commit_group();
  wgmma_wait_group_0();
  store_fragment<128>(out, d);
}

}  // extern "C"
