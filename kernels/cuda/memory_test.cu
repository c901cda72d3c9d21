// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ptx/memory.cuh"
#include "kernels/memory_test.hpp"

namespace roofmark::cuda {
namespace {

constexpr unsigned kThreads = 256;
/// Per thread, kThreads apart, all in flight before the first is compared: 64 KiB per 1024 threads.
constexpr unsigned kPackets = 4;
constexpr unsigned kPacketWords = 4;
constexpr unsigned kTile = kThreads * kPackets;  ///< packets per block

/// What a thread has found.
struct Found {
  unsigned words = 0;
  std::uint32_t bits = 0;
  std::uint64_t first = ~std::uint64_t{0};
};

/// Adds word i, whose `bits` differ: without a branch.
__device__ void add(Found& found, std::uint64_t i, std::uint32_t bits) {
  found.words += bits != 0;
  found.bits |= bits;
  found.first = bits != 0 && i < found.first ? i : found.first;
}

__device__ void report(WrongWords* wrong, const Found& found) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&wrong->count), static_cast<unsigned long long>(found.words));
  atomicOr(reinterpret_cast<unsigned long long*>(&wrong->bits), static_cast<unsigned long long>(found.bits));
  atomicMax(reinterpret_cast<unsigned long long*>(&wrong->first), static_cast<unsigned long long>(~found.first));
}

/// The bits of packet `at` that differ from what `got` should be.
struct PacketBits {
  std::uint32_t word[kPacketWords];
};
template <MemoryPattern kPattern, MemoryPass kPass>
__device__ PacketBits differing(std::size_t at, ulonglong2 got) {
  const std::uint64_t i = at * kPacketWords;
  return {{static_cast<std::uint32_t>(got.x) ^ expected_word<kPattern, kPass>(i),
           static_cast<std::uint32_t>(got.x >> 32) ^ expected_word<kPattern, kPass>(i + 1),
           static_cast<std::uint32_t>(got.y) ^ expected_word<kPattern, kPass>(i + 2),
           static_cast<std::uint32_t>(got.y >> 32) ^ expected_word<kPattern, kPass>(i + 3)}};
}

template <MemoryPattern kPattern, MemoryPass kPass>
__device__ void write_packet(ulonglong2* all, std::size_t at) {
  const std::uint64_t i = at * kPacketWords;
  __stcs(reinterpret_cast<uint4*>(all + at), uint4{written_word<kPattern, kPass>(i), written_word<kPattern, kPass>(i + 1),
                                                   written_word<kPattern, kPass>(i + 2), written_word<kPattern, kPass>(i + 3)});
}

/// One tile per block, as the streams have it; the words after the last whole packet are the first block's. Nothing that a pass
/// writes is read again while a cache would hold it. Wrong words are looked for one by one only in a tile that has any.
template <MemoryPattern kPattern, MemoryPass kPass>
__global__ void __launch_bounds__(kThreads) memory_test_kernel(std::uint32_t* words, std::size_t count, WrongWords* wrong) {
  const std::size_t packets = count / kPacketWords, tile = static_cast<std::size_t>(blockIdx.x) * kTile;
  const std::size_t first = tile + threadIdx.x;
  auto* const all = reinterpret_cast<ulonglong2*>(words);
  Found found;
  if (tile + kTile <= packets) {
    ulonglong2 got[kPackets] = {};
    if constexpr (reads(kPass)) ld_global_cg_x4<kThreads * sizeof(ulonglong2)>(got, all + first);
    std::uint32_t any = 0;
#pragma unroll
    for (unsigned k = 0; reads(kPass) && k < kPackets; ++k) {
      const PacketBits bits = differing<kPattern, kPass>(first + k * kThreads, got[k]);
      any |= bits.word[0] | bits.word[1] | bits.word[2] | bits.word[3];
    }
    if (any != 0) {
#pragma unroll
      for (unsigned k = 0; k < kPackets; ++k) {
        const PacketBits bits = differing<kPattern, kPass>(first + k * kThreads, got[k]);
        for (unsigned w = 0; w < kPacketWords; ++w) add(found, (first + k * kThreads) * kPacketWords + w, bits.word[w]);
      }
    }
    // Behind the branch, or ptxas stores the first packets before it loads the others.
#pragma unroll
    for (unsigned k = 0; writes(kPass) && k < kPackets; ++k) write_packet<kPattern, kPass>(all, first + k * kThreads);
  } else {
#pragma unroll 1
    for (std::size_t at = first; at < packets; at += kThreads) {
      if constexpr (reads(kPass)) {
        const PacketBits bits = differing<kPattern, kPass>(at, all[at]);
        for (unsigned w = 0; w < kPacketWords; ++w) add(found, at * kPacketWords + w, bits.word[w]);
      }
      if constexpr (writes(kPass)) write_packet<kPattern, kPass>(all, at);
    }
  }

  const std::size_t i = packets * kPacketWords + threadIdx.x;
  const bool ragged = blockIdx.x == 0 && i < count;
  if constexpr (reads(kPass)) {
    add(found, i, ragged ? words[i] ^ expected_word<kPattern, kPass>(i) : 0);
    if (found.words != 0) report(wrong, found);
  }
  if constexpr (writes(kPass)) {
    if (ragged) words[i] = written_word<kPattern, kPass>(i);
  }
}

template <MemoryPattern kPattern>
auto kernel_of(MemoryPass pass) {
  switch (pass) {
    case MemoryPass::write:
      return memory_test_kernel<kPattern, MemoryPass::write>;
    case MemoryPass::invert:
      return memory_test_kernel<kPattern, MemoryPass::invert>;
    case MemoryPass::restore:
      return memory_test_kernel<kPattern, MemoryPass::restore>;
    default:
      return memory_test_kernel<kPattern, MemoryPass::check>;
  }
}

void pass(MemoryPattern pattern, MemoryPass pass, std::uint32_t* words, std::size_t count, WrongWords* wrong, Stream stream) {
  if (count == 0) return;
  const auto kernel = pattern == MemoryPattern::random  ? kernel_of<MemoryPattern::random>(pass)
                      : pattern == MemoryPattern::solid ? kernel_of<MemoryPattern::solid>(pass)
                                                        : kernel_of<MemoryPattern::checkerboard>(pass);
  const std::size_t packets = count / kPacketWords, blocks = packets / kTile + 1;
  kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(words, count, wrong);
  check(cudaGetLastError());
}

}  // namespace

const MemoryTestKernels memory_test = {pass};

}  // namespace roofmark::cuda
