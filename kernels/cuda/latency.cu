// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/base/cuda.hpp"
#include "kernels/base/special_registers.cuh"
#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/atomic.cuh"
#include "kernels/cuda/ptx/barrier.cuh"
#include "kernels/cuda/ptx/cluster.cuh"
#include "kernels/cuda/ptx/memory.cuh"
#include "kernels/latency.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kWarp = 32, kThreads = 256;
// Of each lane in flight: 64 KiB of lines per round.
constexpr std::size_t kPreloads = 16;

template <ChaseLoad kLoad>
__device__ std::uint64_t load_address(std::uint64_t from) {
  if constexpr (kLoad == ChaseLoad::ca) return ld_global_u64(from);
  if constexpr (kLoad == ChaseLoad::cg) return ld_global_cg_u64(from);
  return atom_or_u64(from, 0);
}

__constant__ __align__(128) char constant_set[LatencyKernels::kMostConstant];

__device__ std::uint32_t load_constant(std::uint32_t offset) {
  return *reinterpret_cast<const std::uint32_t*>(constant_set + offset);
}

/// The address that `steps` steps lead to. Adds the addresses loaded to `sum`.
template <auto kLoad, class Address>
__device__ Address follow(Address from, std::size_t steps, std::uint64_t& sum) {
  // Where the loop closes, the chain has two moves: once in 64 accesses.
#pragma unroll 64
  for (std::size_t i = 0; i < steps; ++i) {
    const Address reached = kLoad(from);
    sum += from;
    from = reached;
  }
  return from;
}

__global__ void __launch_bounds__(kThreads)
    link_kernel(char* first, std::size_t stride, const std::uint32_t* next, std::size_t begin, std::size_t end) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t i = begin + blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x; i < end; i += step) {
    *reinterpret_cast<char**>(first + i * stride) = first + next[i] * stride;
  }
}

__global__ void __launch_bounds__(kThreads)
    count_wrong_links_kernel(unsigned long long* wrong, const char* first, std::size_t stride, const std::uint32_t* next,
                             std::size_t lines) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x; i < lines; i += step) {
    if (*reinterpret_cast<const char* const*>(first + i * stride) != first + next[i] * stride) atomicAdd(wrong, 1ULL);
  }
}

/// One thread's chase from *at. `sum`: of what was loaded before, less the first line's address minus a stride for each.
template <ChaseLoad kLoad>
__device__ void chase_from(ChaseEnd* out, std::uint64_t* at, std::uint64_t first, std::size_t stride, std::size_t steps,
                           std::uint64_t sum) {
  const std::uint64_t reached = follow<load_address<kLoad>>(*at, steps, sum);
  *at = reached;
  *out = {reached - first, sum - steps * (first - stride)};
}

/// Every line holds the address of another, so the addresses that the warp preloads are those of all lines.
template <ChaseLoad kLoad>
__global__ void __launch_bounds__(kWarp) chase_kernel(ChaseEnd* out, std::uint64_t* at, std::uint64_t first, std::size_t stride,
                                                      std::size_t preload, std::size_t steps) {
  std::uint64_t sum = 0;
  for (std::size_t line = threadIdx.x; line < preload; line += kWarp * kPreloads) {
    std::uint64_t loaded[kPreloads] = {};
#pragma unroll
    for (std::size_t i = 0; i < kPreloads; ++i) {
      if (line + i * kWarp < preload) loaded[i] = load_address<kLoad>(first + (line + i * kWarp) * stride);
    }
#pragma unroll
    for (const std::uint64_t address : loaded) sum += address;
  }
#pragma unroll
  for (int lane = kWarp / 2; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  if (threadIdx.x != 0) return;
  chase_from<kLoad>(out, at, first, stride, steps, sum - preload * (first - stride));
}

template <ChaseLoad kLoad>
__global__ void chase_on_sm_kernel(ChaseEnd* out, std::uint64_t* at, std::uint64_t first, std::size_t stride, std::size_t steps,
                                   unsigned sm, std::uint64_t* arrivals) {
  // A block that ended earlier would leave its SM to another one.
  GridBarrier(arrivals).wait();
  if (smid() == sm) chase_from<kLoad>(out, at, first, stride, steps, 0);
}

__global__ void __launch_bounds__(kThreads) count_words_kernel(std::uint64_t* words, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x; i < count; i += step) words[i] = i + 1;
}

constexpr int kReaderThreads = static_cast<int>(BackgroundReads::kWarpsPerReader) * kWarp;

/// Block 0 chases, and says so to each of the others when it has ended.
__device__ void chase_beside_readers(ChaseEnd* out, std::uint64_t* at, std::uint64_t first, std::size_t stride,
                                     std::size_t steps, const BackgroundReads& background) {
  if (threadIdx.x == 0) {
    const std::uint64_t start = globaltimer();
    chase_from<ChaseLoad::cg>(out, at, first, stride, steps, 0);
    *background.nanoseconds += globaltimer() - start;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < background.readers; i += kReaderThreads) {
    red_add_release_gpu_u64(&background.ended[i].chases, 1);
  }
}

__device__ void read_until(const BackgroundReads& background, std::uint64_t chases_before) {
  constexpr int kPart = static_cast<int>(sizeof(ulonglong2)) * kWarp, kParts = BackgroundReads::kChunk / kPart;
  const unsigned reader = blockIdx.x - 1, warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::size_t warps = background.readers * BackgroundReads::kWarpsPerReader;
  const std::size_t own = reader * BackgroundReads::kWarpsPerReader + warp;
  const BackgroundReads::Read before = background.reads[own];
  const char* const chunks =
      static_cast<const char*>(background.data) + own * BackgroundReads::kChunk + lane * sizeof(ulonglong2);
  std::uint64_t read = before.chunks, sum = 0;
  std::size_t round = read % background.rounds;
  // The warps of an SM take turns.
  std::int64_t due = clock64() + std::int64_t{background.interval_cycles} * warp / BackgroundReads::kWarpsPerReader;
  bool ended = false;
  while (!ended) {
    while (clock64() < due) {
    }
    due += background.interval_cycles;
    ulonglong2 words[kParts];
    const char* const chunk = chunks + round * warps * BackgroundReads::kChunk;
#pragma unroll
    for (int part = 0; part < kParts; ++part) words[part] = ld_global_cg(chunk + part * kPart);
    const std::uint64_t chases = ld_global_cg_u64(reinterpret_cast<std::uint64_t>(&background.ended[reader].chases));
#pragma unroll
    for (const ulonglong2& word : words) sum += word.x + word.y;
    ++read;
    if (++round == background.rounds) round = 0;
    ended = __any_sync(~0u, chases != chases_before);  // all lanes read the same chunks
  }
#pragma unroll
  for (int other = kWarp / 2; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
  if (lane == 0) background.reads[own] = {read, before.sum + sum};
}

__global__ void __launch_bounds__(kReaderThreads, 1)
    chase_under_load_kernel(ChaseEnd* out, std::uint64_t* at, std::uint64_t first, std::size_t stride, std::size_t steps,
                            BackgroundReads background, std::uint64_t* arrivals) {
  // The chase waits for the barrier, so that it has not ended yet.
  const std::uint64_t chases = blockIdx.x == 0 ? 0 : background.ended[blockIdx.x - 1].chases;
  GridBarrier(arrivals).wait();
  if (blockIdx.x == 0) return chase_beside_readers(out, at, first, stride, steps, background);
  read_until(background, chases);
}

/// Writes the addresses of a set that begins at address `first` of the chasing thread.
template <class Address>
__device__ void link_shared(char* set, Address first, const std::uint32_t* next, std::uint32_t lines, std::uint32_t stride) {
  for (std::uint32_t i = threadIdx.x; i < lines; i += kThreads) {
    *reinterpret_cast<Address*>(set + i * stride) = first + next[i] * stride;
  }
}

template <auto kLoad, class Address>
__device__ void chase_from_start(ChaseEnd* out, Address first, std::uint32_t stride, std::size_t steps) {
  std::uint64_t sum = 0;
  const Address reached = follow<kLoad>(first, steps, sum);
  *out = {reached - first, sum - steps * (static_cast<std::uint64_t>(first) - stride)};
}

__global__ void __launch_bounds__(kThreads) chase_shared_kernel(ChaseEnd* out, const std::uint32_t* next, std::uint32_t lines,
                                                                std::uint32_t stride, std::size_t steps) {
  extern __shared__ char set[];
  const std::uint32_t first = shared_address(set);
  link_shared(set, first, next, lines, stride);
  __syncthreads();
  if (threadIdx.x == 0) chase_from_start<ld_shared_u32>(out, first, stride, steps);
}

/// Block 0 chases in the memory of block 1, which stays until it has. By generic addresses: ld.shared::cluster is one such load
/// and two moves that make its address of 32 bits.
__global__ void __launch_bounds__(kThreads)
    chase_neighbour_kernel(ChaseEnd* out, const std::uint32_t* next, std::uint32_t lines, std::uint32_t stride,
                           std::size_t steps) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ char set[];
  const std::uint64_t first = cvta_shared_cluster(mapa(shared_address(set), 1));
  if (blockIdx.x == 1) link_shared(set, first, next, lines, stride);
  barrier_cluster_arrive_release();
  barrier_cluster_wait_acquire();
  if (blockIdx.x == 0 && threadIdx.x == 0) chase_from_start<ld_u64>(out, first, stride, steps);
  __syncwarp();
  barrier_cluster_arrive_release();
  barrier_cluster_wait_acquire();
#endif
}

/// One thread. From address 0, which the compiler must not know: constants at an address that all threads share take another
/// path (ULDC in place of LDC).
__global__ void chase_constant_kernel(ChaseEnd* out, std::uint32_t stride, std::size_t steps) {
  chase_from_start<load_constant>(out, threadIdx.x, stride, steps);
}

unsigned blocks_for(std::size_t threads) {
  constexpr std::size_t kMostBlocks = 4096;
  return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMostBlocks));
}

void link(void* first, std::size_t stride, const std::uint32_t* next, std::size_t begin, std::size_t end, Stream stream) {
  link_kernel<<<blocks_for(end - begin), kThreads, 0, stream>>>(static_cast<char*>(first), stride, next, begin, end);
  check(cudaGetLastError());
}

void count_wrong_links(std::uint64_t* wrong, const void* first, std::size_t stride, const std::uint32_t* next,
                       std::size_t lines, Stream stream) {
  count_wrong_links_kernel<<<blocks_for(lines), kThreads, 0, stream>>>(reinterpret_cast<unsigned long long*>(wrong),
                                                                       static_cast<const char*>(first), stride, next, lines);
  check(cudaGetLastError());
}

template <ChaseLoad kLoad>
void launch_chase(ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t preload, std::size_t steps,
                  Stream stream) {
  // Shared memory, which this kernel has none of, is cut out of L1.
  check(cudaFuncSetAttribute(chase_kernel<kLoad>, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxL1));
  chase_kernel<kLoad><<<1, kWarp, 0, stream>>>(out, reinterpret_cast<std::uint64_t*>(at),
                                               reinterpret_cast<std::uint64_t>(first), stride, preload, steps);
  check(cudaGetLastError());
}

void chase(ChaseLoad load, ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t preload,
           std::size_t steps, Stream stream) {
  constexpr decltype(&launch_chase<ChaseLoad::ca>) kLaunch[] = {launch_chase<ChaseLoad::ca>, launch_chase<ChaseLoad::cg>,
                                                                launch_chase<ChaseLoad::atom>};
  kLaunch[static_cast<int>(load)](out, at, first, stride, preload, steps, stream);
}

/// Blocks that run at the same time, each alone on its SM.
template <class... Parameters, class... Given>
void launch_one_per_sm(void (*kernel)(Parameters...), int blocks, int threads, Stream stream, Given... given) {
  LaunchConfig config(static_cast<unsigned>(blocks), static_cast<unsigned>(threads), stream,
                      shared_bytes_to_be_alone(kernel, threads));
  config.set_cooperative();
  check(cudaLaunchKernelEx(config.get(), kernel, static_cast<Parameters>(given)...));
}

void chase_on_sm(ChaseLoad load, ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t steps,
                 unsigned sm, std::uint64_t* arrivals, Stream stream) {
  constexpr decltype(&chase_on_sm_kernel<ChaseLoad::ca>) kKernel[] = {
      chase_on_sm_kernel<ChaseLoad::ca>, chase_on_sm_kernel<ChaseLoad::cg>, chase_on_sm_kernel<ChaseLoad::atom>};
  launch_one_per_sm(kKernel[static_cast<int>(load)], device_limits().multiprocessors, 1, stream, out,
                    reinterpret_cast<std::uint64_t*>(at), reinterpret_cast<std::uint64_t>(first), stride, steps, sm, arrivals);
}

void chase_under_load(ChaseEnd* out, void** at, const void* first, std::size_t stride, std::size_t steps,
                      const BackgroundReads& background, std::uint64_t* arrivals, Stream stream) {
  launch_one_per_sm(chase_under_load_kernel, 1 + background.readers, kReaderThreads, stream, out,
                    reinterpret_cast<std::uint64_t*>(at), reinterpret_cast<std::uint64_t>(first), stride, steps, background,
                    arrivals);
}

void count_words(std::uint64_t* words, std::size_t count, Stream stream) {
  count_words_kernel<<<blocks_for(count), kThreads, 0, stream>>>(words, count);
  check(cudaGetLastError());
}

void chase_shared(ChaseEnd* out, const std::uint32_t* next, std::size_t lines, std::size_t stride, std::size_t steps,
                  Stream stream) {
  const std::size_t bytes = lines * stride;
  check(cudaFuncSetAttribute(chase_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  chase_shared_kernel<<<1, kThreads, bytes, stream>>>(out, next, static_cast<std::uint32_t>(lines),
                                                      static_cast<std::uint32_t>(stride), steps);
  check(cudaGetLastError());
}

void chase_neighbour(ChaseEnd* out, const std::uint32_t* next, std::size_t lines, std::size_t stride, std::size_t steps,
                     Stream stream) {
  constexpr unsigned kCluster = 2;
  if (!device_limits().clusters) throw Unsupported("clusters of blocks need compute capability 9.0");
  // The neighbour is on another SM.
  const std::size_t bytes = std::max(lines * stride, shared_bytes_to_be_alone(chase_neighbour_kernel, kThreads));
  check(cudaFuncSetAttribute(chase_neighbour_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  LaunchConfig config(kCluster, kThreads, stream, bytes);
  config.set_clusters(kCluster);
  check(cudaLaunchKernelEx(config.get(), chase_neighbour_kernel, out, next, static_cast<std::uint32_t>(lines),
                           static_cast<std::uint32_t>(stride), steps));
}

void chase_constant(ChaseEnd* out, const void* set, std::size_t lines, std::size_t stride, std::size_t steps, Stream stream) {
  check(cudaMemcpyToSymbolAsync(constant_set, set, lines * stride, 0, cudaMemcpyDeviceToDevice, stream));
  chase_constant_kernel<<<1, 1, 0, stream>>>(out, static_cast<std::uint32_t>(stride), steps);
  check(cudaGetLastError());
}

}  // namespace

const LatencyKernels latency = {.link = link,
                                .count_wrong_links = count_wrong_links,
                                .chase = chase,
                                .chase_on_sm = chase_on_sm,
                                .chase_under_load = chase_under_load,
                                .count_words = count_words,
                                .chase_shared = chase_shared,
                                .chase_neighbour = chase_neighbour,
                                .chase_constant = chase_constant};

}  // namespace roofmark::cuda
