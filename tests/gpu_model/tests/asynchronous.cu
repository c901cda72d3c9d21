// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_model/tests/ptx.cuh"

extern "C" {

/// Three stages in flight; each thread sums a weighted element of another thread's copy. `waits` 0: reads without waiting.
__global__ void cp_async_pipeline(const float4* x, float* out, int tiles, int waits) {
  __shared__ __align__(16) float4 stages[3][64];
  const int t = static_cast<int>(threadIdx.x);
  const auto load = [&](int tile) {
    if (tile < tiles) {
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(&stages[tile % 3][t])),
                   "l"(x + tile * 64 + t), "r"(16));
    }
    asm volatile("cp.async.commit_group;");
  };
  float sum = 0;
  load(0);
  load(1);
  for (int tile = 0; tile < tiles; ++tile) {
    if (waits) asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    const float4 v = stages[tile % 3][63 - t];
    sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    load(tile + 2);
  }
  out[t] = sum;
}

/// Two groups of one copy each. out: both stages after wait_group 1, then the second one after wait_group 0.
__global__ void cp_async_two_groups(const int* x, int* out) {
  __shared__ int stages[2][32];
  const int t = static_cast<int>(threadIdx.x);
  for (int group = 0; group < 2; ++group) {
    stages[group][t] = -1;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&stages[group][t])), "l"(x + group * 32 + t)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  out[t] = stages[0][t];
  out[32 + t] = stages[1][t];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  out[64 + t] = stages[1][t];
}

/// Copies `bytes` of 16 bytes per thread; the rest becomes zero.
__global__ void cp_async_partial(const float4* x, float4* out, int bytes) {
  __shared__ __align__(16) float4 stage[32];
  stage[threadIdx.x] = float4{9, 9, 9, 9};
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&stage[threadIdx.x])), "l"(x + threadIdx.x),
               "r"(bytes));
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  out[threadIdx.x] = stage[threadIdx.x];
}

/// A tile of 8 x 3 x 2 x 2 from a 4-dimensional tensor, at coordinates that may be outside of it.
__global__ void tma_load_4d(const __grid_constant__ CUtensorMap map, float* out, int x, int y, int z, int u) {
  __shared__ __align__(128) float tile[8 * 3 * 2 * 2];
  __shared__ __align__(8) uint64_t barrier;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    mbarrier_arrive_expect_tx(shared_address(&barrier), sizeof(tile));
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
        "[%6];" ::"r"(shared_address(tile)),
        "l"(&map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(shared_address(&barrier))
        : "memory");
  }
  __syncthreads();
  mbarrier_wait(shared_address(&barrier), 0);
  for (unsigned i = threadIdx.x; i < 96; i += blockDim.x) out[i] = tile[i];
}

/// Two bulk copies, of `first_bytes` and of the rest of `bytes`, on one mbarrier. `waits` 0: reads without waiting.
__global__ void bulk_copies(const int* x, int* out, int first_bytes, int bytes, int waits) {
  __shared__ __align__(16) int copied[64];
  __shared__ __align__(8) uint64_t barrier;
  const auto copy = [&](int begin, int end) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(copied + begin / 4)),
                 "l"(x + begin / 4), "r"(end - begin), "r"(shared_address(&barrier))
                 : "memory");
  };
  copied[threadIdx.x] = -1;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    mbarrier_arrive_expect_tx(shared_address(&barrier), bytes);
    copy(0, first_bytes);
    copy(first_bytes, bytes);
  }
  if (waits) mbarrier_wait(shared_address(&barrier), 0);
  out[threadIdx.x] = copied[threadIdx.x];
  mbarrier_wait(shared_address(&barrier), 0);
}

/// Each thread reads what that of the next block of the cluster has stored in its shared memory.
__global__ void next_of_cluster(const int* x, int* out) {
  __shared__ int own[32];
  uint32_t rank, size, address;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  own[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"(shared_address(own + threadIdx.x)), "r"((rank + 1) % size));
  int next;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(next) : "r"(address) : "memory");
  out[blockIdx.x * 32 + threadIdx.x] = next;
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Every block's sum goes to all blocks of its cluster by st.async; each adds what arrived.
__global__ void cluster_sum(const float* x, float* out) {
  __shared__ __align__(8) float sums[8];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(shared_address(&barrier), 4 * size);
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;");
  asm volatile("barrier.cluster.wait.acquire.aligned;");
  float sum = x[blockIdx.x * 32 + threadIdx.x];
  for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x == 0) {
    for (uint32_t other = 0; other < size; ++other) {
      uint32_t to, to_barrier;
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(&sums[rank])), "r"(other));
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to_barrier) : "r"(shared_address(&barrier)), "r"(other));
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
                   "r"(__float_as_uint(sum)), "r"(to_barrier)
                   : "memory");
    }
  }
  mbarrier_wait(shared_address(&barrier), 0);
  if (threadIdx.x == 0) {
    float total = 0;
    for (uint32_t other = 0; other < size; ++other) total += sums[other];
    out[blockIdx.x] = total;
  }
}

}  // extern "C"
