// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// Where a load of CUDA may be cached, by its PTX name: ca in L1 and L2, cg in L2 alone. The CPU ignores it.
enum class ChaseLoad { ca, cg };

/// What a chase leaves. `end`: bytes from the first line to the line reached. `sum`: over all lines loaded, their bytes from
/// the first line plus one stride (so that the first counts too), modulo 2^64; a line loaded twice counts twice.
struct ChaseEnd {
  std::uint64_t end = 0;
  std::uint64_t sum = 0;
};

/// Pointer chase: one thread loads p = *p, so each load needs the result of the load before it, and seconds / steps is the
/// latency of one access. The set has `lines` lines, `stride` bytes apart and aligned to 8 bytes; the first 8 bytes of line i
/// are the address of line next[i]. 1 <= lines < 2^32. The sum is added up beside the chain, which does not wait for it.
struct LatencyKernels {
  /// Writes the addresses; nothing else of a line is written. `next` is in device memory.
  void (*link)(void* first, std::size_t stride, const std::uint32_t* next, std::size_t lines, Stream stream);
  /// Makes `steps` steps from the line *at, and leaves in *at the line reached, where the next launch goes on. Before the first
  /// step, `preload` lines (all of the set, or 0) are loaded independently of one another and enter the sum: CUDA's L1 is empty
  /// when a launch starts.
  void (*chase)(ChaseLoad load, ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t preload,
                std::size_t steps, Stream stream);
  /// The same in the shared memory of one block, from line 0, by 32-bit addresses that each launch writes there first; the
  /// stride is a multiple of 4 bytes, lines x stride at most the device's limit per block. Null on the CPU.
  void (*chase_shared)(ChaseEnd* out, const std::uint32_t* next, std::size_t lines, std::size_t stride, std::size_t steps,
                       Stream stream) = nullptr;
};

namespace cuda {
ROOFMARK_KERNELS LatencyKernels latency;
}
namespace cpu {
ROOFMARK_KERNELS LatencyKernels latency;
}

}  // namespace roofmark
