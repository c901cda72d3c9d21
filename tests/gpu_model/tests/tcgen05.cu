// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include "tests/gpu_model/tests/ptx.cuh"
#include "tests/gpu_model/tests/tcgen05_mistake.hpp"

constexpr int kColumns = 32;

/// D [128, 32] = A [128, 128 bytes] B [32, 128 bytes], twice where `accumulates`; K-major with a swizzle of 128 bytes. `form`:
/// the instruction descriptor.
#define PRODUCT_KERNEL(NAME, KIND, T)                                                                                     \
  __global__ __launch_bounds__(128) void NAME(const uint4* a, const uint4* b, float* out, uint32_t form, int accumulates, \
                                              int mistake) {                                                              \
    __shared__ __align__(1024) uint4 operands[(128 + kColumns) * 8];                                                      \
    __shared__ __align__(8) uint64_t barrier;                                                                             \
    __shared__ uint32_t allocated;                                                                                        \
    const uint32_t start = stage(operands, a, b, &barrier, &allocated, mistake);                                          \
    const uint32_t d = allocated;                                                                                         \
    if (threadIdx.x == 0) {                                                                                               \
      for (int step = 0; step < (accumulates ? 8 : 4); ++step) {                                                          \
        const uint32_t at = start + step % 4 * 32;                                                                        \
        asm volatile(                                                                                                     \
            "{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"                                                                     \
            "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p; }" ::"r"(d),                                    \
            "l"(descriptor(at, mistake)), "l"(descriptor(at + 128 * 128, mistake)), "r"(form), "r"(step)                  \
            : "memory");                                                                                                  \
      }                                                                                                                   \
      asm volatile(                                                                                                       \
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(&barrier))   \
          : "memory");                                                                                                    \
    }                                                                                                                     \
    finish<T>(d, out, operands, &barrier, mistake);                                                                       \
  }

__device__ __forceinline__ uint64_t descriptor(uint32_t address, int mistake) {
  return uint64_t{(address & 0x3ffff) >> 4} | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 |
         uint64_t{mistake != no_constant_bits} << 46 | uint64_t{2} << 61;
}

__device__ uint32_t stage(uint4* operands, const uint4* a, const uint4* b, uint64_t* barrier, uint32_t* allocated,
                          int mistake) {
  for (int i = threadIdx.x; i < (128 + kColumns) * 8; i += 128) {
    const int row = i / 8, chunk = i % 8;
    operands[row * 8 + (chunk ^ row % 8)] = row < 128 ? a[i] : b[i - 128 * 8];
  }
  if (mistake != no_proxy_fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(allocated)),
                 "r"(kColumns)
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(barrier), 1);
    fence_mbarrier_init();
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  return shared_address(operands);
}

template <class T>
__device__ void finish(uint32_t d, float* out, uint4* operands, uint64_t* barrier, int mistake) {
  if (mistake == overwrites_operand) {
    operands[threadIdx.x] = uint4{9, 9, 9, 9};
    __syncthreads();
  }
  if (mistake != no_wait) mbarrier_wait(shared_address(barrier), 0);
  if (mistake != no_fence_after_sync) asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t first_lane = (mistake == reads_lanes_of_another_warp ? (warp + 1) % 4 : warp) * 32;
  const uint32_t first_column = mistake == reads_beyond_allocation ? 16 : 0;
  for (int half = 0; half < 2; ++half) {
    uint32_t r[16];
    for (uint32_t& element : r) element = 0;
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x4.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, [%16];"
                 : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7]), "+r"(r[8]),
                   "+r"(r[9]), "+r"(r[10]), "+r"(r[11]), "+r"(r[12]), "+r"(r[13]), "+r"(r[14]), "+r"(r[15])
                 : "r"(d + ((first_lane + half * 16) << 16) + first_column)
                 : "memory");
    if (mistake != no_wait_ld) asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int i = 0; i < 16; ++i) {
      asm volatile("" : "+r"(r[i]));
      const int row = warp * 32 + half * 16 + i / 2 % 2 * 8 + lane / 4, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      out[row * kColumns + column] = static_cast<float>(reinterpret_cast<const T&>(r[i]));
    }
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  if (threadIdx.x < 32 && mistake != no_dealloc) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(d), "r"(kColumns));
  }
}

extern "C" {

PRODUCT_KERNEL(tcgen05_f16, "f16", float)
PRODUCT_KERNEL(tcgen05_f16_f16, "f16", __half)
PRODUCT_KERNEL(tcgen05_tf32, "tf32", float)
PRODUCT_KERNEL(tcgen05_f8f6f4, "f8f6f4", float)
PRODUCT_KERNEL(tcgen05_i8, "i8", int)

/// Allocates twice, the second time after it has given up the right to, or more than there is.
__global__ __launch_bounds__(32) void tcgen05_allocations(int first, int second, int relinquishes) {
  __shared__ uint32_t allocated[2];
  const auto allocate = [&](int index, int columns) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(allocated + index)),
                 "r"(columns)
                 : "memory");
    __syncwarp();
  };
  allocate(0, first);
  if (relinquishes) asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  allocate(1, second);
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(allocated[0]), "r"(first));
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(allocated[1]), "r"(second));
}

/// Copies scales to `column`, of 32 that are allocated.
__global__ __launch_bounds__(32) void tcgen05_copy(int column) {
  __shared__ __align__(128) uint4 rows[32];
  __shared__ __align__(8) uint64_t barrier;
  __shared__ uint32_t allocated;
  rows[threadIdx.x] = uint4{1, 2, 3, threadIdx.x};
  if (threadIdx.x == 0) mbarrier_init(shared_address(&barrier), 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared_address(&allocated))
               : "memory");
  __syncwarp();
  if (threadIdx.x == 0) {
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(allocated + column),
                 "l"(uint64_t{shared_address(rows) >> 4} | uint64_t{8} << 32 | uint64_t{1} << 46)
                 : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(&barrier))
                 : "memory");
  }
  mbarrier_wait(shared_address(&barrier), 0);
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(allocated));
}

}  // extern "C"
