// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/access.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kWarp = 32, kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kLoads = kSumGroup / kWarp;

/// A warp sums a group. ptxas keeps some 20 loads of a lane in flight before the first is added: of adjacent elements 2.5 KiB
/// per warp, and with half of its warps an SM has 80 KiB in flight, more than the latency of DRAM takes. A group takes some 150
/// instructions, so that an SM, which issues four per clock, reads 100 bytes of adjacent elements per clock; its share of
/// DRAM's rate is about 20. From a stride of 32 bytes on each load takes a sector of its own, from 128 bytes on a line.
__global__ void __launch_bounds__(kThreads)
    stride_kernel(std::int32_t* out, const std::int32_t* x, std::int64_t count, std::int64_t stride, std::int64_t offset) {
  const std::int64_t group = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  const std::int64_t left = count - group * kSumGroup;
  if (left <= 0) return;
  const int lane = threadIdx.x % kWarp;
  const std::int32_t* from = x + blockIdx.y * offset + (group * kSumGroup + lane) * stride;
  const std::int64_t step = kWarp * stride;
  std::uint32_t sum = 0;
  if (left >= kSumGroup) {
    std::uint32_t loaded[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i, from += step) loaded[i] = *from;
#pragma unroll
    for (const std::uint32_t word : loaded) sum += word;
  } else {
    for (int i = lane; i < left; i += kWarp, from += step) sum += *from;
  }
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  if (lane == 0) out[blockIdx.y * sum_groups(count) + group] = static_cast<std::int32_t>(sum);
}

void stride(std::int32_t* out, const std::int32_t* x, std::int64_t count, std::int64_t stride, std::int64_t sweeps,
            std::int64_t offset, Stream stream) {
  const auto blocks = static_cast<unsigned>((sum_groups(count) + kWarps - 1) / kWarps);
  stride_kernel<<<dim3(blocks, static_cast<unsigned>(sweeps)), kThreads, 0, stream>>>(out, x, count, stride, offset);
  check(cudaGetLastError());
}

constexpr unsigned kChunks = 4, kTile = kThreads * kChunks;

/// A thread copies four chunks of 16 bytes, whose indices and then whose rows are in flight together: up to 128 KiB per SM.
/// Some 90 instructions per warp move 4 KiB; at its share of DRAM's rate, 20 bytes per clock, an SM could issue eight times as
/// many.
__global__ void __launch_bounds__(kThreads)
    gather_kernel(uint4* out, const uint4* table, const std::uint32_t* index, unsigned chunks, unsigned chunks_per_row) {
  const unsigned first = blockIdx.x * kTile + threadIdx.x;
  const auto copy = [&]<unsigned kCount>(unsigned begin) {
    std::size_t from[kCount];
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) {
      const unsigned chunk = begin + i * kThreads, row = chunk / chunks_per_row;
      from[i] = std::size_t{index[row]} * chunks_per_row + (chunk - row * chunks_per_row);
    }
    uint4 loaded[kCount];
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) loaded[i] = table[from[i]];
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) out[begin + i * kThreads] = loaded[i];
  };
  if (chunks - blockIdx.x * kTile >= kTile) {
    copy.template operator()<kChunks>(first);
  } else {
    for (unsigned chunk = first; chunk < chunks; chunk += kThreads) copy.template operator()<1>(chunk);
  }
}

void gather(std::int32_t* out, const std::int32_t* table, const std::uint32_t* index, std::int64_t rows, std::int64_t width,
            Stream stream) {
  constexpr unsigned kElements = sizeof(uint4) / sizeof(std::int32_t);
  const auto chunks = static_cast<unsigned>(rows * width / kElements);
  const unsigned blocks = (chunks + kTile - 1) / kTile;
  gather_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<uint4*>(out), reinterpret_cast<const uint4*>(table), index,
                                                 chunks, static_cast<unsigned>(width / kElements));
  check(cudaGetLastError());
}

}  // namespace

const AccessKernels access = {.stride = stride,
                              .gather = gather,
                              .read = read,
                              .bank_conflicts = bank_conflicts,
                              .atomic_add_global = atomic_add_global,
                              .atomic_add_shared = atomic_add_shared,
                              .dsmem_blocks = dsmem_blocks,
                              .dsmem = dsmem};

}  // namespace roofmark::cuda
