// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstdint>

// The tensor memory accelerator. sm_90. One function per PTX instruction.
namespace roofmark::cuda {

/// Copies `bytes` adjacent bytes of global memory to shared memory, and counts them on the mbarrier. Both addresses and the
/// number are multiples of 16.
__device__ inline void cp_async_bulk(std::uint32_t to, const void* from, unsigned bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
               "r"(bytes), "r"(barrier)
               : "memory");
}

/// Copies the tensor map's box at coordinates (c0, c1, c2, c3), innermost first, to shared memory, with zeros beyond the
/// tensor's bounds, and counts its bytes on the mbarrier.
__device__ inline void tma_load_4d(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int c0, int c1, int c2,
                                   int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::
          "r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

/// The same of two dimensions.
__device__ inline void tma_load_2d(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1)
      : "memory");
}

/// The same to each block of the cluster whose rank is a bit of `blocks`: to the address, and counted on the mbarrier, that
/// correspond there to those given.
__device__ inline void tma_load_2d_multicast(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int c0, int c1,
                                             std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "h"(blocks)
      : "memory");
}

__device__ inline void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

}  // namespace roofmark::cuda
