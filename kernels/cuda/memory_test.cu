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

/// What a pass should find in word i, and what it leaves there.
template <MemoryPattern kPattern, MemoryPass kPass>
__device__ std::uint32_t expected_word(std::uint64_t i) {
  const std::uint32_t word = pattern_word<kPattern>(i);
  return kPass == MemoryPass::restore ? ~word : word;
}

/// `words` wrong ones, the lowest of them word i.
__device__ void report(WrongWords* wrong, unsigned words, std::uint64_t i, std::uint32_t bits) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&wrong->count), static_cast<unsigned long long>(words));
  atomicOr(reinterpret_cast<unsigned long long*>(&wrong->bits), static_cast<unsigned long long>(bits));
  atomicMax(reinterpret_cast<unsigned long long*>(&wrong->first), static_cast<unsigned long long>(~i));
}

/// Packet `at`, which holds `got`.
template <MemoryPattern kPattern, MemoryPass kPass>
__device__ void pass_packet(ulonglong2* all, std::size_t at, ulonglong2 got, WrongWords* wrong) {
  const std::uint64_t i = at * kPacketWords;
  const std::uint32_t right[] = {expected_word<kPattern, kPass>(i), expected_word<kPattern, kPass>(i + 1),
                                 expected_word<kPattern, kPass>(i + 2), expected_word<kPattern, kPass>(i + 3)};
  if constexpr (writes(kPass)) {
    constexpr std::uint32_t kFlipped = kPass == MemoryPass::write ? 0 : ~0U;
    __stcs(reinterpret_cast<uint4*>(all + at),
           uint4{right[0] ^ kFlipped, right[1] ^ kFlipped, right[2] ^ kFlipped, right[3] ^ kFlipped});
  }
  if constexpr (reads(kPass)) {
    const std::uint32_t bits[] = {
        static_cast<std::uint32_t>(got.x) ^ right[0], static_cast<std::uint32_t>(got.x >> 32) ^ right[1],
        static_cast<std::uint32_t>(got.y) ^ right[2], static_cast<std::uint32_t>(got.y >> 32) ^ right[3]};
    const std::uint32_t any = bits[0] | bits[1] | bits[2] | bits[3];
    const unsigned words = (bits[0] != 0) + (bits[1] != 0) + (bits[2] != 0) + (bits[3] != 0);
    const unsigned lowest = bits[0] != 0 ? 0 : bits[1] != 0 ? 1 : bits[2] != 0 ? 2 : 3;
    if (any != 0) report(wrong, words, i + lowest, any);
  }
}

/// One tile per block, as the streams have it; the words after the last whole packet are the first block's. Nothing that a pass
/// writes is read again while a cache would hold it. In whole tiles no branch that may diverge is nested in another: nvcc 12.8
/// to 13.2.1 may miscompile those.
template <MemoryPattern kPattern, MemoryPass kPass>
__global__ void __launch_bounds__(kThreads) memory_test_kernel(std::uint32_t* words, std::size_t count, WrongWords* wrong) {
  const std::size_t packets = count / kPacketWords, tile = static_cast<std::size_t>(blockIdx.x) * kTile;
  const std::size_t first = tile + threadIdx.x;
  auto* const all = reinterpret_cast<ulonglong2*>(words);
  if (tile + kTile <= packets) {
    ulonglong2 got[kPackets] = {};
    if constexpr (reads(kPass)) ld_global_cg_x4<kThreads * sizeof(ulonglong2)>(got, all + first);
#pragma unroll
    for (unsigned k = 0; k < kPackets; ++k) pass_packet<kPattern, kPass>(all, first + k * kThreads, got[k], wrong);
  } else {
#pragma unroll 1
    for (std::size_t at = first; at < packets; at += kThreads) {
      pass_packet<kPattern, kPass>(all, at, reads(kPass) ? all[at] : ulonglong2{}, wrong);
    }
  }

  const std::size_t i = packets * kPacketWords + threadIdx.x;
  const bool ragged = blockIdx.x == 0 && i < count;
  const std::uint32_t right = expected_word<kPattern, kPass>(i);
  if constexpr (reads(kPass)) {
    const std::uint32_t bits = ragged ? words[i] ^ right : 0;
    if (bits != 0) report(wrong, 1, i, bits);
  }
  if constexpr (writes(kPass)) {
    if (ragged) words[i] = kPass == MemoryPass::write ? right : ~right;
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
