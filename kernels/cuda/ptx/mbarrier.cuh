// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The mbarrier object: 8 bytes of shared memory, addressed as by shared_address(). sm_90. One function per PTX instruction.
namespace roofmark::cuda {

/// A phase of the barrier completes when `arrivals` threads have arrived and all expected bytes have been transferred.
__device__ inline void mbarrier_init(std::uint32_t barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ inline void mbarrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives at the barrier of a block of the cluster, at an address of mapa(). Orders no accesses of this thread for other
/// blocks: release at the cluster's scope is a MEMBAR of the GPU's.
__device__ inline void mbarrier_arrive_cluster(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives, and adds `bytes` to what the current phase expects.
__device__ inline void mbarrier_arrive_expect_tx(std::uint32_t barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Scope of the writes visible to the waiting thread: its own block, or the whole cluster.
enum class Scope { cta, cluster };

/// Repeats mbarrier.try_wait.parity until the phase of this parity has completed. The phase before the first has parity 1 and
/// counts as completed. The loop is part of the statement: one branch on the instruction's own predicate.
template <Scope kScope = Scope::cta>
__device__ void mbarrier_try_wait_parity(std::uint32_t barrier, std::uint32_t parity) {
  if constexpr (kScope == Scope::cta) {
    asm volatile(
        "{ .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again; }" ::"r"(barrier),
        "r"(parity)
        : "memory");
  } else {
    asm volatile(
        "{ .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again; }" ::"r"(barrier),
        "r"(parity)
        : "memory");
  }
}

}  // namespace roofmark::cuda
