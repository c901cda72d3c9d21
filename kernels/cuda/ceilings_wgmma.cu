// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ceilings.hpp"
#include "kernels/cuda/ceilings_tensor.cuh"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/registers.cuh"
#include "kernels/cuda/ptx/wgmma.cuh"
#include "kernels/cuda/swizzled_operands.cuh"

namespace roofmark::cuda {

namespace {

// Two warpgroups per SM, each with a 64 x 256 accumulator: the products of one run while the other waits for its own. Both
// operands come from shared memory: 64 x 32 + 256 x 32 bytes in the 128 clocks of a product are 80 of its 128 bytes per clock.
using Operands = SwizzledOperands;
constexpr int kWarpgroups = 2;
constexpr int kThreads = kWarpgroups * 128;
static_assert(Operands::kM == kWarpgroups * 64);

/// The registers of a 64 x 256 accumulator, as kernels/ceilings.hpp assigns rows and columns to lanes.
template <DataType accumulator>
struct Accumulator;
template <>
struct Accumulator<DataType::fp32> {
  using Register = float;
  using Sum = float;
  static constexpr int registers = 128;
  static __device__ Sum value(Register r) { return r; }
};
template <>
struct Accumulator<DataType::fp16> {
  using Register = std::uint32_t;
  using Sum = float;
  static constexpr int registers = 64;
  static __device__ Sum value(Register r) { return sum_of_halves(r); }
};
template <>
struct Accumulator<DataType::int32> {
  using Register = int;
  using Sum = int;
  static constexpr int registers = 128;
  static __device__ Sum value(Register r) { return r; }
};

/// Empty unless compiled for sm_90a: wgmma exists nowhere else.
template <DataType type, DataType accumulator>
__global__ void __launch_bounds__(kThreads, 1)
    wgmma_kernel(typename Accumulator<accumulator>::Sum* sink, const uint4* a, const uint4* b, unsigned iterations) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Accumulator = Accumulator<accumulator>;
  extern __shared__ unsigned char dynamic[];
  const Operands operands = Operands::stage<kThreads>(dynamic, a, b);
  __syncthreads();

  // From lane 0, so that the compiler knows that the descriptors are the same for a whole warp.
  const std::uint32_t warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / 128, 0);
  const std::uint64_t a_start = wgmma_descriptor(operands.a + warpgroup * 64 * Operands::kSlabBytes);
  const std::uint64_t b_start = wgmma_descriptor(operands.b);
  typename Accumulator::Register d[Accumulator::registers];
#pragma unroll
  for (int i = 0; i < Accumulator::registers; ++i) d[i] = 0;
#pragma unroll 1
  for (unsigned iteration = 0; iteration < iterations; ++iteration) {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < Operands::kSteps; ++step) {
      const int offset = Operands::step_offset(step) / 16;
      wgmma_mma_async<type>(d, a_start + offset, b_start + offset, step != 0);
    }
    wgmma_commit_group();
    // The last group stays in flight, so that the tensor cores never wait for the next one to be issued.
    wgmma_wait_group<1>();
  }
  wgmma_wait_group<0>();
#pragma unroll
  for (int i = 0; i < Accumulator::registers; ++i) opaque(d[i]);
  typename Accumulator::Sum sum = 0;
#pragma unroll
  for (int i = 0; i < Accumulator::registers; ++i) sum += Accumulator::value(d[i]);
  sink[blockIdx.x * kThreads + threadIdx.x] = sum;
#endif
}

template <DataType type, DataType accumulator>
void launch_wgmma(void* sink, const void* a, const void* b, std::size_t iterations, ProbeTarget target, Stream stream) {
  const auto kernel = wgmma_kernel<type, accumulator>;
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel));
  if (attributes.numRegs < Accumulator<accumulator>::registers) throw Unsupported("wgmma: roofmark was built without sm_90a");
  const std::size_t shared_bytes = std::max<std::size_t>(Operands::kSharedBytes, shared_bytes_to_be_alone(kernel, kThreads));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  kernel<<<target.processors, kThreads, shared_bytes, stream>>>(static_cast<typename Accumulator<accumulator>::Sum*>(sink),
                                                                static_cast<const uint4*>(a), static_cast<const uint4*>(b),
                                                                iterations);
  check(cudaGetLastError());
}

}  // namespace

TensorLayout wgmma_layout(DataType type, DataType accumulate, ProbeTarget target) {
  if (target.compute_capability != 90 || type == DataType::fp64 || !tensor_accumulates(type, accumulate)) return {};
  // 128 clocks per instruction for every type.
  constexpr double clocks = 128.0 * kWarpgroups * Operands::kSteps;
  return Operands::layout(type, target, kThreads / 32, 1 / clocks);
}

void wgmma(DataType type, DataType accumulate, void* sink, const void* a, const void* b, std::size_t iterations,
           ProbeTarget target, Stream stream) {
  switch (type) {
    case DataType::tf32:
      return launch_wgmma<DataType::tf32, DataType::fp32>(sink, a, b, iterations, target, stream);
    case DataType::fp16:
      return (accumulate == DataType::fp16
                  ? launch_wgmma<DataType::fp16, DataType::fp16>
                  : launch_wgmma<DataType::fp16, DataType::fp32>)(sink, a, b, iterations, target, stream);
    case DataType::bf16:
      return launch_wgmma<DataType::bf16, DataType::fp32>(sink, a, b, iterations, target, stream);
    case DataType::fp8:
      return launch_wgmma<DataType::fp8, DataType::fp32>(sink, a, b, iterations, target, stream);
    case DataType::int8:
      return launch_wgmma<DataType::int8, DataType::int32>(sink, a, b, iterations, target, stream);
    default:
      throw Unsupported("no wgmma for " + std::string(name(type)));
  }
}

}  // namespace roofmark::cuda
