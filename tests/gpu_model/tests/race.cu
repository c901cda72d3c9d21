// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_model/tests/ptx.cuh"

extern "C" {

/// The other warp's word is read; `synchronises` 0: without a barrier between.
__global__ void exchange(int* out, int synchronises) {
  __shared__ int words[64];
  words[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (synchronises) __syncthreads();
  out[threadIdx.x] = words[threadIdx.x ^ 32];
}

/// The second block of a cluster reads a word of the first one, which exits then. `how`: 0: both meet before; 1: they do not;
/// 2: the reader arrives on an mbarrier that the first block waits for; 3: that it does not wait for.
__global__ void read_first_of_cluster(int* out, int how) {
  __shared__ int word;
  __shared__ __align__(8) uint64_t was_read;
  uint32_t rank, first, barrier;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  word = 7;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&was_read), 32);
    fence_mbarrier_init();
  }
  const auto meet = [] {
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  };
  meet();
  if (rank == 1) {
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first) : "r"(shared_address(&word)));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(barrier) : "r"(shared_address(&was_read)));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(out[threadIdx.x]) : "r"(first) : "memory");
    if (how >= 2) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
  } else if (how == 2) {
    mbarrier_wait(shared_address(&was_read), 0);
  }
  if (how == 0) meet();
}

/// All threads count in one word; `synchronises` 0: one reads it without a barrier between. `plain`: one warp adds otherwise.
__global__ void count_together(int* out, int synchronises, int plain) {
  __shared__ int counter;
  if (threadIdx.x == 0) counter = 0;
  __syncthreads();
  if (plain && threadIdx.x >= 32) {
    auto* const word = static_cast<volatile int*>(&counter);
    *word = *word + 1;
  } else {
    atomicAdd(&counter, 1);
  }
  if (synchronises) __syncthreads();
  if (threadIdx.x == 0) *out = *static_cast<volatile int*>(&counter);
}

/// A producer warp hands one slot to two consumer warps, round after round. `early`: consumers give it back before they read.
__global__ void producer_and_consumers(int* out, int rounds, int early) {
  __shared__ __align__(8) uint64_t full, empty;
  __shared__ int slot, sums[64];
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) {
    mbarrier_init(shared_address(&full), 1);
    mbarrier_init(shared_address(&empty), 64);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (t < 32) {
    if (t > 0) return;
    for (int round = 0; round < rounds; ++round) {
      mbarrier_wait(shared_address(&empty), (round & 1) ^ 1);
      *static_cast<volatile int*>(&slot) = round * round + 1;
      mbarrier_arrive(shared_address(&full));
    }
    return;
  }
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    mbarrier_wait(shared_address(&full), round & 1);
    if (early) mbarrier_arrive(shared_address(&empty));
    sum = sum * 3 + *static_cast<volatile int*>(&slot);
    if (!early) mbarrier_arrive(shared_address(&empty));
  }
  sums[t - 32] = sum + t;
  asm volatile("bar.sync 1, 64;" ::: "memory");
  out[t - 32] = sums[(t - 32) ^ 63];
}

/// D [64, 128] = the sum of `rounds` products of A [64, 64] and B [128, 64], through a ring of two stages that TMA fills.
/// `early`: the consumers give a stage back before wgmma.wait_group.
__global__ __launch_bounds__(160) void tma_ring(const __grid_constant__ CUtensorMap map_a,
                                                const __grid_constant__ CUtensorMap map_b, float* out, int rounds, int early) {
  extern __shared__ __align__(1024) unsigned char stages[];
  constexpr uint32_t kBytesA = 64 * 64 * 2, kStageBytes = kBytesA + 128 * 64 * 2;
  __shared__ __align__(8) uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      mbarrier_init(shared_address(&full[stage]), 1);
      mbarrier_init(shared_address(&empty[stage]), 4);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x > 128) return;
    for (int round = 0; round < rounds; ++round) {
      const uint32_t stage = shared_address(stages) + round % 2 * kStageBytes, barrier = shared_address(&full[round % 2]);
      mbarrier_wait(shared_address(&empty[round % 2]), (round / 2 & 1) ^ 1);
      mbarrier_arrive_expect_tx(barrier, kStageBytes);
      tma_load_2d(stage, &map_a, 0, round * 64, barrier);
      tma_load_2d(stage + kBytesA, &map_b, 0, round * 128, barrier);
    }
    return;
  }
  float d[64] = {};
  for (int round = 0; round < rounds; ++round) {
    const uint32_t stage = shared_address(stages) + round % 2 * kStageBytes;
    mbarrier_wait(shared_address(&full[round % 2]), round / 2 & 1);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      wgmma_m64n128k16<false>(d, matrix_descriptor(stage + k * 32, 16, 1024, 1),
                              matrix_descriptor(stage + kBytesA + k * 32, 16, 1024, 1), 1);
    }
    wgmma_commit_group();
    if (early && threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&empty[round % 2]));
    wgmma_wait_group_0();
    if (!early && threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&empty[round % 2]));
  }
  store_fragment<128>(out, d);
}

}  // extern "C"
