// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
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
  return ld_global_cg_u64(from);
}

__global__ void __launch_bounds__(kThreads)
    link_kernel(char* first, std::size_t stride, const std::uint32_t* next, std::size_t lines) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x; i < lines; i += step) {
    *reinterpret_cast<char**>(first + i * stride) = first + next[i] * stride;
  }
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
  std::uint64_t p = *at;
#pragma unroll 16
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uint64_t reached = load_address<kLoad>(p);
    sum += p;
    p = reached;
  }
  *at = p;
  *out = {p - first, sum - (preload + steps) * (first - stride)};
}

__global__ void __launch_bounds__(kThreads) chase_shared_kernel(ChaseEnd* out, const std::uint32_t* next, std::uint32_t lines,
                                                                std::uint32_t stride, std::size_t steps) {
  extern __shared__ char set[];
  const std::uint32_t first = shared_address(set);
  for (std::uint32_t i = threadIdx.x; i < lines; i += kThreads) {
    *reinterpret_cast<std::uint32_t*>(set + i * stride) = first + next[i] * stride;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t p = first;
  std::uint64_t sum = 0;
#pragma unroll 16
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uint32_t reached = ld_shared_u32(p);
    sum += p;
    p = reached;
  }
  *out = {p - first, sum - steps * (static_cast<std::uint64_t>(first) - stride)};
}

void link(void* first, std::size_t stride, const std::uint32_t* next, std::size_t lines, Stream stream) {
  constexpr std::size_t kMostBlocks = 4096;
  const std::size_t blocks = (lines + kThreads - 1) / kThreads;
  link_kernel<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0, stream>>>(
      static_cast<char*>(first), stride, next, lines);
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
  const auto launch = load == ChaseLoad::ca ? launch_chase<ChaseLoad::ca> : launch_chase<ChaseLoad::cg>;
  launch(out, at, first, stride, preload, steps, stream);
}

void chase_shared(ChaseEnd* out, const std::uint32_t* next, std::size_t lines, std::size_t stride, std::size_t steps,
                  Stream stream) {
  const std::size_t bytes = lines * stride;
  check(cudaFuncSetAttribute(chase_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  chase_shared_kernel<<<1, kThreads, bytes, stream>>>(out, next, static_cast<std::uint32_t>(lines),
                                                      static_cast<std::uint32_t>(stride), steps);
  check(cudaGetLastError());
}

}  // namespace

const LatencyKernels latency = {.link = link, .chase = chase, .chase_shared = chase_shared};

}  // namespace roofmark::cuda
