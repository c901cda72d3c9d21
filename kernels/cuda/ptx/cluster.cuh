// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The other blocks of a thread-block cluster: their shared memory, and meeting them. sm_90. One function per PTX instruction.
namespace roofmark::cuda {

/// Whether the code is compiled for devices that have thread-block clusters; on others none is launched.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kClusters = false;
#else
inline constexpr bool kClusters = true;
#endif

/// The address in block `rank` of the cluster that corresponds to `address` in this block.
__device__ inline std::uint32_t mapa(std::uint32_t address, unsigned rank) {
  std::uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

/// The generic address of an address of mapa().
__device__ inline std::uint64_t cvta_shared_cluster(std::uint32_t address) {
  std::uint64_t generic;
  asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(generic) : "l"(static_cast<std::uint64_t>(address)));
  return generic;
}
/// Loads 8 bytes from a generic address, at every call.
__device__ inline std::uint64_t ld_u64(std::uint64_t address) {
  std::uint64_t word;
  asm volatile("ld.u64 %0, [%1];" : "=l"(word) : "l"(address));
  return word;
}

/// Arrives at the cluster's barrier; what this thread wrote before is visible to those that wait with acquire. All threads of a
/// warp execute it together.
__device__ inline void barrier_cluster_arrive_release() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/// Stores asynchronously to an address of mapa(), then counts 4 bytes on the mbarrier at `barrier`, an address of mapa() in the
/// same block.
__device__ inline void st_async(std::uint32_t to, float value, std::uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
               "r"(__float_as_uint(value)), "r"(barrier)
               : "memory");
}

/// Loads 16 bytes from an address of mapa().
__device__ inline ulonglong2 ld_shared_cluster(std::uint32_t address) {
  ulonglong2 words;
  asm volatile("ld.shared::cluster.v2.u64 {%0, %1}, [%2];" : "=l"(words.x), "=l"(words.y) : "r"(address) : "memory");
  return words;
}

}  // namespace roofmark::cuda
