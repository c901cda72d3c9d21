// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace roofmark::cuda {

// Messages between the blocks of a thread-block cluster, for compute capability 9.0 and newer: a block prepares a mailbox,
// then its threads join, and after they have waited for the other blocks' they may send to any block's mailbox; a block
// receives when all that it expects is there. No fence is needed, which would wait for all other stores too. Below 9.0 there
// are no clusters, and what calls these is never launched as one.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900

__device__ inline void prepare_mailbox(std::uint64_t*, unsigned) { __trap(); }
__device__ inline void join_cluster() { __trap(); }
__device__ inline void wait_for_cluster() { __trap(); }
__device__ inline void send_in_cluster(float*, std::uint64_t*, unsigned, float) { __trap(); }
__device__ inline void receive(std::uint64_t*) { __trap(); }

#else

/// Where in shared memory a generic address of this block's points.
__device__ inline std::uint32_t shared_address(const void* here) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(here));
}
/// The same place in block `rank` of the cluster.
__device__ inline std::uint32_t address_in_cluster(const void* here, unsigned rank) {
  std::uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(here)), "r"(rank));
  return there;
}

/// By one thread: an mbarrier in shared memory that completes its first phase when `bytes` have been sent here.
__device__ inline void prepare_mailbox(std::uint64_t* mailbox, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(mailbox)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(mailbox)), "r"(bytes) : "memory");
}
/// By all threads of a warp together, the mailbox's preparation before it in the same thread.
__device__ inline void join_cluster() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
/// Waits for every thread of the cluster to have joined.
__device__ inline void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// `to` and `mailbox` are addresses in this block's shared memory; stores to the same place in block `rank` and counts 4 bytes
/// there. The block must not end before it has received what it expects.
__device__ inline void send_in_cluster(float* to, std::uint64_t* mailbox, unsigned rank, float value) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address_in_cluster(to, rank)),
               "r"(__float_as_uint(value)), "r"(address_in_cluster(mailbox, rank))
               : "memory");
}
/// Waits for the mailbox's first phase, after which all that was sent is there to be read.
__device__ inline void receive(std::uint64_t* mailbox) {
  std::uint32_t done = 0;
  while (!done) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(shared_address(mailbox))
        : "memory");
  }
}

#endif

}  // namespace roofmark::cuda
