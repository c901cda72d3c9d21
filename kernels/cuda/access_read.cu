// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/access.hpp"
#include "kernels/cuda/ptx/barrier.cuh"
#include "kernels/cuda/ptx/cluster.cuh"
#include "kernels/cuda/ptx/mbarrier.cuh"
#include "kernels/cuda/ptx/memory.cuh"
#include "kernels/cuda/ptx/tma.cuh"

namespace roofmark::cuda {

namespace {

constexpr int kWarp = 32;
/// 16 bytes, the widest load of one thread.
using Chunk = ulonglong2;
constexpr unsigned kElements = sizeof(Chunk) / sizeof(std::int32_t);
constexpr unsigned kGroupChunks = kSumGroup / kElements;
constexpr unsigned kLoads = kGroupChunks / kWarp;

__device__ std::uint32_t sum_of(const Chunk& chunk) {
  const std::uint64_t words[] = {chunk.x, chunk.y};
  std::uint32_t sum = 0;
#pragma unroll
  for (const std::uint64_t word : words) sum += static_cast<std::uint32_t>(word) + static_cast<std::uint32_t>(word >> 32);
  return sum;
}

__device__ std::uint32_t sum_of_warp(std::uint32_t sum) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  return sum;
}

// Both kernels leave the same sums: a warp takes a group of 4 KiB, and adds four words per 16 bytes. An SM's share of the rate
// of DRAM is some 20 bytes per clock, of that of L2 40; by loads, a group takes some 80 instructions, so that the issue of four
// per clock allows 200.

constexpr int kLoadThreads = 256, kLoadWarps = kLoadThreads / kWarp;

/// Four loads of a lane are in flight before the first is added, and all warps of an SM are resident: 128 KiB.
__global__ void __launch_bounds__(kLoadThreads)
    read_kernel(std::int32_t* out, const Chunk* x, unsigned groups, std::size_t chunks, unsigned rows) {
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned row = blockIdx.x * kLoadWarps + threadIdx.x / kWarp; row < rows; row += gridDim.x * kLoadWarps) {
    const std::size_t first = std::size_t{row % groups} * kGroupChunks;
    const Chunk* const from = x + first + lane;
    std::uint32_t sum = 0;
    if (first + kGroupChunks <= chunks) {
      Chunk loaded[2][kLoads / 2];
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) ld_global_cg_x4<kWarp * sizeof(Chunk)>(loaded[i], from + i * kGroupChunks / 2);
#pragma unroll
      for (const auto& half : loaded) {
#pragma unroll
        for (const Chunk& chunk : half) sum += sum_of(chunk);
      }
    } else {
      for (std::size_t i = 0; first + lane + i < chunks; i += kWarp) sum += sum_of(ld_global_cg(from + i));
    }
    sum = sum_of_warp(sum);
    if (lane == 0) out[row] = static_cast<std::int32_t>(sum);
  }
}

// Two blocks of an SM that has 228 KiB of shared memory have 192 KiB in flight; of one that has 100 KiB, one has 96.
constexpr unsigned kStages = 6, kConsumers = 4, kBlocksPerSm = 2;
constexpr unsigned kTileChunks = kConsumers * kGroupChunks;
constexpr unsigned kRingBytes = kStages * kTileChunks * sizeof(Chunk);
constexpr int kBulkThreads = (kConsumers + 1) * kWarp;

/// A ring of tiles: one thread of the last warp keeps it full, each of the other warps sums a group of every tile. A block
/// takes tiles blockIdx.x, blockIdx.x + gridDim.x, ... of all passes.
__global__ void __launch_bounds__(kBulkThreads)
    bulk_kernel(std::int32_t* out, const Chunk* x, unsigned groups, std::size_t chunks, unsigned passes) {
  if constexpr (kClusters) {
    extern __shared__ __align__(128) Chunk ring[];
    __shared__ std::uint64_t full[kStages], empty[kStages];
    const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const unsigned tiles = (groups + kConsumers - 1) / kConsumers;
    if (threadIdx.x == 0) {
      for (unsigned stage = 0; stage < kStages; ++stage) {
        mbarrier_init(shared_address(full + stage), 1);
        mbarrier_init(shared_address(empty + stage), kConsumers);
      }
      fence_mbarrier_init();
    }
    __syncthreads();
    unsigned stage = 0, parity = 0;
    const auto advance = [&] {
      if (++stage < kStages) return;
      stage = 0;
      parity ^= 1;
    };
    if (warp == kConsumers) {
      if (lane > 0) return;
      for (unsigned at = blockIdx.x; at < tiles * passes; at += gridDim.x, advance()) {
        mbarrier_try_wait_parity(shared_address(empty + stage), parity ^ 1);
        const std::size_t first = std::size_t{at % tiles} * kTileChunks, left = chunks - first;
        const unsigned bytes = static_cast<unsigned>(left < kTileChunks ? left : kTileChunks) * sizeof(Chunk);
        mbarrier_arrive_expect_tx(shared_address(full + stage), bytes);
        cp_async_bulk(shared_address(ring + stage * kTileChunks), x + first, bytes, shared_address(full + stage));
      }
      return;
    }
    for (unsigned at = blockIdx.x; at < tiles * passes; at += gridDim.x, advance()) {
      const unsigned group = at % tiles * kConsumers + warp;
      const std::size_t first = std::size_t{group} * kGroupChunks;
      const Chunk* const from = ring + stage * kTileChunks + warp * kGroupChunks + lane;
      mbarrier_try_wait_parity(shared_address(full + stage), parity);
      std::uint32_t sum = 0;
      if (first + kGroupChunks <= chunks) {
#pragma unroll
        for (unsigned i = 0; i < kLoads; ++i) sum += sum_of(from[i * kWarp]);
      } else {
        for (std::size_t i = 0; first + lane + i < chunks; i += kWarp) sum += sum_of(from[i]);
      }
      __syncwarp();
      if (lane == 0) mbarrier_arrive(shared_address(empty + stage));
      sum = sum_of_warp(sum);
      if (lane == 0 && group < groups) out[at / tiles * groups + group] = static_cast<std::int32_t>(sum);
    }
  }
}

}  // namespace

void read(ReadBy by, std::int32_t* out, const std::int32_t* x, std::int64_t count, std::int64_t passes, Stream stream) {
  const DeviceLimits& limits = device_limits();
  const auto* const data = reinterpret_cast<const Chunk*>(x);
  const auto chunks = static_cast<std::size_t>(count) / kElements;
  const auto groups = static_cast<unsigned>(sum_groups(count)), rows = groups * static_cast<unsigned>(passes);
  const auto processors = static_cast<unsigned>(limits.multiprocessors);
  if (by == ReadBy::ld_global) {
    // More blocks than are resident, which balances SMs of different distance to the memory.
    const unsigned most = 4 * processors * static_cast<unsigned>(limits.threads_per_multiprocessor) / kLoadThreads;
    const unsigned blocks = std::min((rows + kLoadWarps - 1) / kLoadWarps, most);
    read_kernel<<<blocks, kLoadThreads, 0, stream>>>(out, data, groups, chunks, rows);
  } else {
    check(cudaFuncSetAttribute(bulk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kRingBytes));
    // Room for both rings of an SM.
    check(cudaFuncSetAttribute(bulk_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
    const unsigned tiles = (groups + kConsumers - 1) / kConsumers * static_cast<unsigned>(passes);
    bulk_kernel<<<std::min(tiles, kBlocksPerSm * processors), kBulkThreads, kRingBytes, stream>>>(
        out, data, groups, chunks, static_cast<unsigned>(passes));
  }
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
