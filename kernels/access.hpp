// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// Elements whose sum is one element of an output.
inline constexpr std::int64_t kSumGroup = 1024;
constexpr std::int64_t sum_groups(std::int64_t count) { return (count + kSumGroup - 1) / kSumGroup; }

/// How an array gets to the SMs: by loads of 16 bytes per thread, or by bulk copies to shared memory (TMA), which is read
/// there. By its PTX name.
enum class ReadBy { ld_global, cp_async_bulk };

/// Bank conflicts: word w of each SM's set in shared memory is bank_word(w).
inline constexpr unsigned kBankThreads = 512, kBankLoads = 8, kBankWords = 1024;
constexpr std::uint32_t bank_word(std::uint32_t w) { return (w + 1) * 2654435761U; }
/// The word of load `load` of a thread: the lanes of a warp read words that are `ways` apart, of 32 banks of adjacent words.
constexpr std::uint32_t bank_word_of(unsigned thread, unsigned load, unsigned ways) {
  return load * kBankWords + thread % 32 * ways + thread / 32;
}

/// Which threads add to the same counter.
enum class AddressPer { grid, block, warp, thread };
/// Per SM, in blocks of kAtomicBlock.
inline constexpr int kAtomicThreads = 1024, kAtomicBlock = 256;
/// Elements from a counter in global memory to the next, where threads share them: a line.
inline constexpr int kAtomicCounterStride = 32;
/// The number of threads that share a counter.
constexpr std::int64_t sharing_threads(AddressPer per, int processors) {
  const std::int64_t threads[] = {std::int64_t{kAtomicThreads} * processors, kAtomicBlock, 32, 1};
  return threads[static_cast<int>(per)];
}

/// Distributed shared memory: 8-byte word w of the set of block b is (b << 32) + w.
inline constexpr unsigned kDsmemThreads = 512, kDsmemLoads = 4, kDsmemSetBytes = kDsmemThreads * kDsmemLoads * 16;

/// Patterns of access to memory. Arrays are aligned to their elements. A null entry: the device has no such memory.
struct AccessKernels {
  /// Several sweeps over an array; each starts `offset` elements after the previous one:
  /// out[s, g] = sum of x[s * offset + i * stride] over the i of group g, modulo 2^32: kSumGroup of the `count` numbers i from
  /// g * kSumGroup on, or as many as are left. One load per element; adjacent threads load adjacent elements. out is [sweeps,
  /// sum_groups(count)]; stride in elements.
  void (*stride)(std::int32_t* out, const std::int32_t* x, std::int64_t count, std::int64_t stride, std::int64_t sweeps,
                 std::int64_t offset, Stream stream);

  /// out[r, :] = table[index[r], :], rows of `width` elements. width is a multiple of 4, out and table are aligned to 16 bytes,
  /// rows * width < 2^34.
  void (*gather)(std::int32_t* out, const std::int32_t* table, const std::uint32_t* index, std::int64_t rows,
                 std::int64_t width, Stream stream);

  /// Reads an array `passes` times: out[p, g] = sum of x[i] over the i of group g, modulo 2^32, for each pass p. Loads bypass
  /// L1. count is a multiple of 4, x is aligned to 16 bytes; passes * sum_groups(count) < 2^32. cp_async_bulk: cc 9.0.
  void (*read)(ReadBy by, std::int32_t* out, const std::int32_t* x, std::int64_t count, std::int64_t passes,
               Stream stream) = nullptr;

  /// Every SM reads its shared memory, `ways` lanes of a warp (1 to 32, a power of two) in the same bank at each load:
  /// sink[SM, thread] = repeats * sum over the loads of bank_word(bank_word_of(thread, load, ways)), modulo 2^32. sink is
  /// [processors, kBankThreads].
  void (*bank_conflicts)(std::uint32_t* sink, unsigned ways, unsigned repeats, int processors, Stream stream) = nullptr;

  /// Every thread, of kAtomicThreads per SM, adds 1 to a counter `repeats` times. Types: int32, fp32. Counters of global memory
  /// are adjacent where each thread has its own, else kAtomicCounterStride apart. Global counters are not cleared first. Shared
  /// counters belong to a block and are adjacent; out is [blocks, kAtomicBlock], and counters that no thread adds to are 0. Not
  /// for AddressPer::grid.
  void (*atomic_add_global)(DataType type, void* counters, AddressPer per, unsigned repeats, int processors,
                            Stream stream) = nullptr;
  void (*atomic_add_shared)(DataType type, void* out, AddressPer per, unsigned repeats, int processors,
                            Stream stream) = nullptr;

  /// Number of blocks that are resident at once in clusters of `cluster`, one block per SM; 0 if no cluster fits. cc 9.0.
  int (*dsmem_blocks)(int cluster) = nullptr;
  /// Each of `blocks` blocks (at most dsmem_blocks(cluster)) repeatedly reads the set in the shared memory of the next block of
  /// its cluster, cyclically. All blocks together read `passes` times: block b passes / blocks times, plus once if b < passes %
  /// blocks. sink[block, t] = the sum of the words that thread t reads, modulo 2^64: in a pass both words of each 16 bytes t +
  /// i * kDsmemThreads, i < kDsmemLoads. sink is [blocks, kDsmemThreads].
  void (*dsmem)(std::uint64_t* sink, int cluster, int blocks, unsigned passes, Stream stream) = nullptr;
};

namespace cuda {
ROOFMARK_KERNELS AccessKernels access;
}
namespace cpu {
ROOFMARK_KERNELS AccessKernels access;
}

}  // namespace roofmark
