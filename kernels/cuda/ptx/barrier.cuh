// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Barriers among the threads of a block or cluster, and the fences that order memory accesses around them. One function per
// PTX instruction.
namespace roofmark::cuda {

/// Waits at named barrier `barrier` (0 is that of __syncthreads) until `threads` threads have arrived, waiting or not.
__device__ inline void bar_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/// Arrives at a named barrier without waiting.
__device__ inline void bar_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Arrives at the cluster's barrier without ordering memory accesses. All threads of a warp execute it together. sm_90.
__device__ inline void barrier_cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
/// Waits until every thread of the cluster has arrived. sm_90.
__device__ inline void barrier_cluster_wait_acquire() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// Makes mbarrier_init visible to the cluster and to the asynchronous proxy (TMA). sm_90.
__device__ inline void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/// Makes this thread's stores to shared memory visible to the asynchronous proxy (TMA, wgmma). sm_90.
__device__ inline void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace roofmark::cuda
