// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/kernels.hpp"
#include "kernels/base/special_registers.cuh"

namespace roofmark::cuda {

namespace {

__global__ void wait_at_gate_kernel(const volatile std::uint32_t* opened, volatile std::uint32_t* expired, std::uint32_t ticket,
                                    std::uint64_t limit_nanoseconds) {
  const std::uint64_t start = globaltimer();
  while (*opened < ticket) {
    if (globaltimer() - start > limit_nanoseconds) {
      *expired = ticket;
      return;
    }
  }
}

/// The timer advances in steps (32 ns on some devices, 1 us on others), so both ends of a reading are just after a step.
__global__ void read_clocks_kernel(ClockReading* readings) {
  constexpr std::uint64_t kSpan = 200'000;
  constexpr std::int64_t kPatience = 2'000'000;  // cycles: a millisecond at 2 GHz, should the timer stand still
  const std::int64_t entered = clock64();
  const std::uint64_t before = globaltimer();
  std::uint64_t start = before;
  while (start == before && clock64() - entered < kPatience) start = globaltimer();
  const std::int64_t first = clock64();
  std::uint64_t end = start;
  while (end - start < kSpan && clock64() - entered < kPatience) end = globaltimer();
  const std::int64_t last = clock64();
  const bool ticked = start != before && end - start >= kSpan;
  readings[blockIdx.x] = ticked ? ClockReading{last - first, end - start} : ClockReading{0, 0};
}

__global__ void stamp_clocks_kernel(ClockStamp* stamps) {
  const std::int64_t cycles = clock64();
  stamps[blockIdx.x] = {smid(), static_cast<std::uint64_t>(cycles), globaltimer()};
}

__global__ void read_kernel(uint4* data, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  unsigned any = 0;
#pragma unroll 4
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint4 read = data[i];
    any |= read.x | read.y | read.z | read.w;
  }
  // Never true, because all data is zero; the compiler does not know this and keeps the loads.
  if (any != 0) data[0].x = any;
}

}  // namespace

Code find_code() {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, read_clocks_kernel);
  return {status, attributes.ptxVersion};
}

void wait_at_gate(const std::uint32_t* opened, std::uint32_t* expired, std::uint32_t ticket, std::uint64_t limit_nanoseconds,
                  cudaStream_t stream) {
  wait_at_gate_kernel<<<1, 1, 0, stream>>>(opened, expired, ticket, limit_nanoseconds);
  check(cudaGetLastError());
}

void read_clocks(ClockReading* readings, int blocks, cudaStream_t stream) {
  read_clocks_kernel<<<blocks, 1, 0, stream>>>(readings);
  check(cudaGetLastError());
}

void stamp_clocks(ClockStamp* stamps, int blocks, cudaStream_t stream) {
  stamp_clocks_kernel<<<blocks, 1, 0, stream>>>(stamps);
  check(cudaGetLastError());
}

void sweep(void* buffer, std::size_t bytes, cudaStream_t stream) {
  check(cudaMemsetAsync(buffer, 0, bytes, stream));
  read_kernel<<<1024, 256, 0, stream>>>(static_cast<uint4*>(buffer), bytes / sizeof(uint4));
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
