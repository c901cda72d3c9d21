// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ceilings.hpp"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/memory.cuh"

namespace roofmark::cuda {

namespace {

/// 16 bytes, the widest load of one thread.
using Chunk = ulonglong2;

constexpr int kSharedThreads = 512;
constexpr int kSharedLoads = 4;
constexpr std::size_t kSharedBytes = sizeof(Chunk) * kSharedThreads * kSharedLoads;

// 64 KiB in flight per SM: several times what covers the latency of 500 clocks to the far half of L2. A warp takes some 30
// instructions per 2 KiB, so that an SM, which issues four per clock, can read 270 bytes per clock: twice what its L1 delivers.
constexpr int kCacheThreads = 1024;
constexpr int kTileThreads = 256;
constexpr int kTileLoads = 4;
constexpr int kTileChunks = kTileThreads * kTileLoads;
constexpr int kTeams = kCacheThreads / kTileThreads;
static_assert(kTileChunks * sizeof(Chunk) == kCacheGranule);

// The copies too have up to 64 KiB in flight per SM.
constexpr int kCopyThreads = 512;
constexpr int kCopyLoads = 8;
static_assert(kCacheThreads * sizeof(Chunk) == kCacheGranule && kCopyThreads * sizeof(Chunk) == kCacheGranule / 2);

__global__ void __launch_bounds__(kSharedThreads) shared_read_kernel(std::uint64_t* sink, const Chunk* data, unsigned repeats) {
  __shared__ Chunk set[kSharedThreads * kSharedLoads];
#pragma unroll
  for (int i = 0; i < kSharedLoads; ++i) set[i * kSharedThreads + threadIdx.x] = data[i * kSharedThreads + threadIdx.x];
  __syncthreads();
  const unsigned address = shared_address(set + threadIdx.x);
  std::uint64_t sums[2 * kSharedLoads] = {};
#pragma unroll 4
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
#pragma unroll
    for (int i = 0; i < kSharedLoads; ++i) {
      // Nothing writes the set: the compiler would move a plain load out of the loop.
      const Chunk chunk = ld_volatile_shared(address + i * kSharedThreads * static_cast<unsigned>(sizeof(Chunk)));
      sums[2 * i] += chunk.x;
      sums[2 * i + 1] += chunk.y;
    }
  }
  std::uint64_t sum = 0;
#pragma unroll
  for (std::uint64_t part : sums) sum += part;
  sink[blockIdx.x * kSharedThreads + threadIdx.x] = sum;
}

/// A block reads its part of the data again and again, as one sequence of tiles. Its teams of threads take the tiles in turn,
/// so that no team waits at the end of a repeat. Past L1, or through it.
template <bool kThroughL1>
__global__ void __launch_bounds__(kCacheThreads)
    cache_read_kernel(std::uint64_t* sink, const Chunk* data, unsigned tiles, unsigned repeats) {
  const Chunk* own = data + static_cast<std::size_t>(blockIdx.x) * tiles * kTileChunks + threadIdx.x % kTileThreads;
  const unsigned team = threadIdx.x / kTileThreads;
  const unsigned stride = kTeams % tiles;
  const unsigned reads = tiles * repeats;
  unsigned tile = team % tiles;
  std::uint64_t sums[2] = {};
#pragma unroll 1
  for (unsigned read = team; read < reads; read += kTeams) {
    Chunk chunks[kTileLoads];
    const Chunk* const from = own + static_cast<std::size_t>(tile) * kTileChunks;
    if constexpr (kThroughL1) {
      ld_global_x4<kTileThreads * sizeof(Chunk)>(chunks, from);
    } else {
      ld_global_cg_x4<kTileThreads * sizeof(Chunk)>(chunks, from);
    }
    tile += stride;
    if (tile >= tiles) tile -= tiles;
#pragma unroll
    for (const Chunk& chunk : chunks) {
      sums[0] += chunk.x;
      sums[1] += chunk.y;
    }
  }
  sink[blockIdx.x * kCacheThreads + threadIdx.x] = sums[0] + sums[1];
}

/// A thread stores to the same places in every pass, one per granule: the last store to a word is that of the last pass.
__global__ void __launch_bounds__(kCacheThreads) cache_write_kernel(Chunk* to, unsigned granules, unsigned repeats) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * granules * kCacheThreads + threadIdx.x;
  for (unsigned pass = 0; pass < repeats; ++pass) {
#pragma unroll 4
    for (unsigned granule = 0; granule < granules; ++granule) {
      const std::size_t at = first + granule * kCacheThreads;
      st_global_cg(to + at, {2 * at + pass, 2 * at + 1 + pass});
    }
  }
}

/// The same with a load before each store; rows are half granules.
__global__ void __launch_bounds__(kCopyThreads)
    cache_copy_kernel(Chunk* to, const Chunk* from, unsigned rows, unsigned repeats) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * rows * kCopyThreads + threadIdx.x;
  for (unsigned pass = 0; pass < repeats; ++pass) {
    for (unsigned row = 0; row < rows; row += kCopyLoads) {
      Chunk chunks[kCopyLoads];
#pragma unroll
      for (unsigned i = 0; i < kCopyLoads; ++i) {
        if (row + i < rows) chunks[i] = ld_global_cg(from + first + (row + i) * kCopyThreads);
      }
#pragma unroll
      for (unsigned i = 0; i < kCopyLoads; ++i) {
        if (row + i < rows) st_global_cg(to + first + (row + i) * kCopyThreads, {chunks[i].x + pass, chunks[i].y + pass});
      }
    }
  }
}

__global__ void empty_kernel() {}

template <bool kThroughL1>
void launch_cache_read(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                       Stream stream) {
  const unsigned tiles = bytes / target.processors / (kTileChunks * sizeof(Chunk));
  const auto kernel = cache_read_kernel<kThroughL1>;
  kernel<<<target.processors, kCacheThreads, shared_bytes_to_be_alone(kernel, kCacheThreads), stream>>>(
      sink, static_cast<const Chunk*>(data), tiles, static_cast<unsigned>(repeats));
  check(cudaGetLastError());
}

}  // namespace

std::size_t cache_read_sinks(ProbeTarget target) { return static_cast<std::size_t>(target.processors) * kCacheThreads; }

void cache_read(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                Stream stream) {
  launch_cache_read<false>(sink, data, bytes, repeats, target, stream);
}

void l1_read(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target, Stream stream) {
  // Shared memory is cut out of L1. What keeps a second block off the SM leaves more than a part.
  check(cudaFuncSetAttribute(cache_read_kernel<true>, cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxL1));
  launch_cache_read<true>(sink, data, bytes, repeats, target, stream);
}

void cache_write(std::uint64_t* to, std::size_t bytes, std::size_t repeats, ProbeTarget target, Stream stream) {
  const unsigned granules = bytes / target.processors / kCacheGranule;
  cache_write_kernel<<<target.processors, kCacheThreads, shared_bytes_to_be_alone(cache_write_kernel, kCacheThreads), stream>>>(
      reinterpret_cast<Chunk*>(to), granules, static_cast<unsigned>(repeats));
  check(cudaGetLastError());
}

void cache_copy(std::uint64_t* to, const std::uint64_t* from, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                Stream stream) {
  const unsigned rows = bytes / target.processors / kCacheGranule;
  cache_copy_kernel<<<target.processors, kCopyThreads, shared_bytes_to_be_alone(cache_copy_kernel, kCopyThreads), stream>>>(
      reinterpret_cast<Chunk*>(to), reinterpret_cast<const Chunk*>(from), rows, static_cast<unsigned>(repeats));
  check(cudaGetLastError());
}

std::size_t shared_read_bytes() { return kSharedBytes; }

std::size_t shared_read_sinks(ProbeTarget target) { return static_cast<std::size_t>(target.processors) * kSharedThreads; }

void shared_read(std::uint64_t* sink, const void* data, std::size_t repeats, ProbeTarget target, Stream stream) {
  shared_read_kernel<<<target.processors, kSharedThreads, shared_bytes_to_be_alone(shared_read_kernel, kSharedThreads),
                       stream>>>(sink, static_cast<const Chunk*>(data), static_cast<unsigned>(repeats));
  check(cudaGetLastError());
}

void empty(Stream stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
