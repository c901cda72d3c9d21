// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/access.hpp"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/barrier.cuh"
#include "kernels/cuda/ptx/cluster.cuh"
#include "kernels/cuda/ptx/memory.cuh"

namespace roofmark::cuda {

namespace {

/// An SM's shared memory serves one load of a warp per clock, 128 bytes, where no two lanes need the same bank. Per load there
/// is half an addition, and four instructions may be issued per clock. 16 warps have 8 loads each in flight: four times what
/// the latency of 29 clocks takes.
__global__ void __launch_bounds__(kBankThreads) bank_conflicts_kernel(std::uint32_t* sink, unsigned ways, unsigned repeats) {
  __shared__ std::uint32_t set[kBankLoads * kBankWords];
  for (unsigned w = threadIdx.x; w < kBankLoads * kBankWords; w += kBankThreads) set[w] = bank_word(w);
  __syncthreads();
  const std::uint32_t first = shared_address(set + bank_word_of(threadIdx.x, 0, ways));
  std::uint32_t sum = 0;
#pragma unroll 4
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
#pragma unroll
    for (unsigned load = 0; load < kBankLoads; ++load) {
      // Nothing writes the set: the compiler would move a plain load out of the loop.
      sum += ld_volatile_shared_u32(first + load * kBankWords * static_cast<unsigned>(sizeof(std::uint32_t)));
    }
  }
  sink[blockIdx.x * kBankThreads + threadIdx.x] = sum;
}

using Chunk = ulonglong2;

/// A load of 16 bytes per lane is 512 bytes per warp, and the way to another SM some 200 clocks long: 16 warps with 4 loads
/// each have 32 KiB in flight, enough for 160 bytes per clock. `step` is 0, which the compiler does not know: it would move the
/// loads out of the loop.
__global__ void __launch_bounds__(kDsmemThreads)
    dsmem_kernel(std::uint64_t* sink, unsigned cluster, unsigned passes, unsigned step) {
  if constexpr (kClusters) {
    extern __shared__ Chunk set[];
    const std::uint64_t block = blockIdx.x, first_word = block << 32;
    for (unsigned i = 0; i < kDsmemLoads; ++i) {
      const unsigned chunk = i * kDsmemThreads + threadIdx.x;
      set[chunk] = {first_word + 2 * chunk, first_word + 2 * chunk + 1};
    }
    barrier_cluster_arrive_release();
    barrier_cluster_wait_acquire();
    std::uint32_t from = mapa(shared_address(set + threadIdx.x), (blockIdx.x + 1) % cluster);
    const unsigned own = passes / gridDim.x + (blockIdx.x < passes % gridDim.x ? 1 : 0);
    std::uint64_t sums[2] = {};
#pragma unroll 2
    for (unsigned pass = 0; pass < own; ++pass) {
      Chunk loaded[kDsmemLoads];
#pragma unroll
      for (unsigned i = 0; i < kDsmemLoads; ++i) {
        loaded[i] = ld_shared_cluster(from + i * kDsmemThreads * static_cast<unsigned>(sizeof(Chunk)));
      }
#pragma unroll
      for (const Chunk& chunk : loaded) {
        sums[0] += chunk.x;
        sums[1] += chunk.y;
      }
      from += step;
    }
    sink[block * kDsmemThreads + threadIdx.x] = sums[0] + sums[1];
    // A block's shared memory is invalid after the block exits.
    barrier_cluster_arrive_release();
    barrier_cluster_wait_acquire();
  }
}

/// A block takes all shared memory of an SM, so that its neighbours are on others.
class DsmemLaunch : public LaunchConfig {
 public:
  DsmemLaunch(int cluster, int blocks, Stream stream)
      : LaunchConfig(static_cast<unsigned>(blocks), kDsmemThreads, stream, shared_bytes()) {
    set_clusters(static_cast<unsigned>(cluster));
  }

 private:
  static std::size_t shared_bytes() {
    const int bytes = device_limits().shared_bytes_per_block;
    check(cudaFuncSetAttribute(dsmem_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    return static_cast<std::size_t>(bytes);
  }
};

}  // namespace

void bank_conflicts(std::uint32_t* sink, unsigned ways, unsigned repeats, int processors, Stream stream) {
  bank_conflicts_kernel<<<processors, kBankThreads, shared_bytes_to_be_alone(bank_conflicts_kernel, kBankThreads), stream>>>(
      sink, ways, repeats);
  check(cudaGetLastError());
}

int dsmem_blocks(int cluster) {
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, dsmem_kernel, DsmemLaunch(cluster, cluster, nullptr).get()));
  return clusters * cluster;
}

void dsmem(std::uint64_t* sink, int cluster, int blocks, unsigned passes, Stream stream) {
  check(cudaLaunchKernelEx(DsmemLaunch(cluster, blocks, stream).get(), dsmem_kernel, sink, static_cast<unsigned>(cluster),
                           passes, 0U));
}

}  // namespace roofmark::cuda
