// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// How CUDA loads, by its PTX name: ca may hit L1 and L2, cg L2 alone; atom is an atomic OR with 0, which is made where the
/// line lives in L2, while a load may be served by a copy. The CPU has one way.
enum class ChaseLoad { ca, cg, atom };

/// What a chase leaves. `end`: bytes from the first line to the line reached. `sum`: over all lines loaded, their bytes from
/// the first line plus one stride (so that the first counts too), modulo 2^64; a line loaded twice counts twice.
struct ChaseEnd {
  std::uint64_t end = 0;
  std::uint64_t sum = 0;
};

/// How SMs read DRAM while another one chases. Each warp reads its chunks of `data` in turn: warp w those of number w, w +
/// warps, w + 2 x warps, ..., `rounds` of them, and then from the first again.
struct BackgroundReads {
  static constexpr std::size_t kChunk = 2048;         ///< bytes; an SM has 64 KiB in flight
  static constexpr std::size_t kWarpsPerReader = 32;  ///< of an SM

  /// What a warp has read in all launches: chunks, and the sum of their 64-bit words modulo 2^64.
  struct Read {
    std::uint64_t chunks = 0, sum = 0;
  };
  /// Of an SM; 0 before the first launch.
  struct alignas(128) Ended {
    std::uint64_t chases = 0;
  };

  int readers = 0;  ///< SMs that read: fewer than the device has
  std::size_t rounds = 1;
  std::uint32_t interval_cycles = 0;     ///< of the SM's clock, from a warp's chunk to its next one; 0: as soon as it is there
  const void* data = nullptr;            ///< [rounds, readers x kWarpsPerReader, kChunk]
  Read* reads = nullptr;                 ///< by warp; {} before the first launch
  Ended* ended = nullptr;                ///< by SM
  std::uint64_t* nanoseconds = nullptr;  ///< that the chases of all launches took; 0 before the first launch
};

/// Pointer chase: one thread loads p = *p, so each load needs the result of the load before it, and seconds / steps is the
/// latency of one access. The set has `lines` lines, `stride` bytes apart and aligned to 8 bytes; the first 8 bytes of line i
/// are the address of line next[i]. 1 <= lines < 2^32. The sum is added up beside the chain, which does not wait for it.
struct LatencyKernels {
  /// Writes the addresses of the lines `begin` to `end` - 1 of the set that begins at `first`; nothing else of a line is
  /// written. `next` is in device memory.
  void (*link)(void* first, std::size_t stride, const std::uint32_t* next, std::size_t begin, std::size_t end, Stream stream);
  /// Adds to *wrong, in device memory, the number of lines with another address than link() writes. It reads the lines in the
  /// order of their addresses, all at the same time, which takes a small part of the time of a lap.
  void (*count_wrong_links)(std::uint64_t* wrong, const void* first, std::size_t stride, const std::uint32_t* next,
                            std::size_t lines, Stream stream);
  /// Makes `steps` steps from the line *at, and leaves in *at the line reached, where the next launch goes on. Before the first
  /// step, `preload` lines (all of the set, or 0) are loaded independently of one another and enter the sum: CUDA's L1 is empty
  /// when a launch starts.
  void (*chase)(ChaseLoad load, ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t preload,
                std::size_t steps, Stream stream);
  /// chase() without preloading, on SM `sm` (%smid): every SM gets one block, and the blocks of the other SMs exit at once.
  /// Writes nothing if no SM has that number. `arrivals` is 0 before the first launch. Null on the CPU.
  void (*chase_on_sm)(ChaseLoad load, ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t steps,
                      unsigned sm, std::uint64_t* arrivals, Stream stream) = nullptr;
  /// chase() with load cg and nothing preloaded, while other SMs read until it has ended. `arrivals` is 0 before the first
  /// launch. Null on the CPU.
  void (*chase_under_load)(ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t steps,
                           const BackgroundReads& background, std::uint64_t* arrivals, Stream stream) = nullptr;
  /// words[i] = i + 1: what BackgroundReads reads.
  void (*count_words)(std::uint64_t* words, std::size_t count, Stream stream) = nullptr;
  /// The same in the shared memory of one block, from line 0, by 32-bit addresses that each launch writes there first; the
  /// stride is a multiple of 4 bytes, lines x stride at most the device's limit per block. Null on the CPU.
  void (*chase_shared)(ChaseEnd* out, const std::uint32_t* next, std::size_t lines, std::size_t stride, std::size_t steps,
                       Stream stream) = nullptr;
  /// The same from one block to the shared memory of another block in its cluster, by 8-byte addresses; the stride is a
  /// multiple of 8. From compute capability 9.0 on.
  void (*chase_neighbour)(ChaseEnd* out, const std::uint32_t* next, std::size_t lines, std::size_t stride, std::size_t steps,
                          Stream stream) = nullptr;
  /// The same in constant memory, to which each launch copies `set` first: lines x stride bytes of device memory, at most
  /// kMostConstant; the first 4 bytes of line i are next[i] x stride.
  void (*chase_constant)(ChaseEnd* out, const void* set, std::size_t lines, std::size_t stride, std::size_t steps,
                         Stream stream) = nullptr;
  static constexpr std::size_t kMostConstant = 64 * 1024;
};

namespace cuda {
ROOFMARK_KERNELS LatencyKernels latency;
}
namespace cpu {
ROOFMARK_KERNELS LatencyKernels latency;
}

}  // namespace roofmark
