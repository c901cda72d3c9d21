// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdexcept>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ceilings.hpp"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/math.cuh"
#include "kernels/cuda/ptx/registers.cuh"

namespace roofmark::cuda {

namespace {

// One block per SM: 4 warps on each of its 4 schedulers, with enough independent chains to cover a latency of 4 to 40 clocks.
constexpr int kThreads = 512;
constexpr int kFmaRegisters = 8;
constexpr int kExpRegisters = 4;

/// `Vector` holds `lanes` chains in one register.
template <class T>
struct Scalar {
  using Vector = T;
  static constexpr int lanes = 1;
  static __host__ __device__ Vector make(const double* values) { return static_cast<T>(values[0]); }
  static __device__ Vector step(Vector x, Vector m) { return ::fma(x, m, T{1}); }
};
struct Half2 {
  using Vector = __half2;
  static constexpr int lanes = 2;
  static __host__ __device__ Vector make(const double* v) { return {__double2half(v[0]), __double2half(v[1])}; }
  static __device__ Vector step(Vector x, Vector m) {
    return __hfma2(x, m, __half2{__ushort_as_half(0x3C00), __ushort_as_half(0x3C00)});
  }
};
struct Bfloat2 {
  using Vector = __nv_bfloat162;
  static constexpr int lanes = 2;
  static __host__ __device__ Vector make(const double* v) { return {__double2bfloat16(v[0]), __double2bfloat16(v[1])}; }
  static __device__ Vector step(Vector x, Vector m) {
    return __hfma2(x, m, __nv_bfloat162{__ushort_as_bfloat16(0x3F80), __ushort_as_bfloat16(0x3F80)});
  }
};

/// The multipliers are passed as a vector. If the kernel made the pair of one number, the compiler would know that both halves
/// are equal and read one of them twice. HFMA2 can do this but HFMA2.MMA cannot, and 8.0 and 9.0 need both to reach their rate.
template <class Arithmetic>
__global__ void __launch_bounds__(kThreads)
    fma_kernel(typename Arithmetic::Vector* sink, typename Arithmetic::Vector m, unsigned blocks_of_steps) {
  using Vector = typename Arithmetic::Vector;
  const unsigned first = (blockIdx.x * kThreads + threadIdx.x) * kFmaRegisters;
  Vector x[kFmaRegisters];
#pragma unroll
  for (int i = 0; i < kFmaRegisters; ++i) {
    const std::size_t chain = static_cast<std::size_t>(first + i) * Arithmetic::lanes;
    const double starts[2] = {fma_start(chain), fma_start(chain + 1)};
    x[i] = Arithmetic::make(starts);
  }
#pragma unroll 1
  for (unsigned block = 0; block < blocks_of_steps; ++block) {
#pragma unroll
    for (int step = 0; step < static_cast<int>(kStepMultiple); ++step) {
#pragma unroll
      for (int i = 0; i < kFmaRegisters; ++i) x[i] = Arithmetic::step(x[i], m);
    }
  }
#pragma unroll
  for (int i = 0; i < kFmaRegisters; ++i) sink[first + i] = x[i];
}

__global__ void __launch_bounds__(kThreads) exp2_kernel(float* sink, unsigned blocks_of_steps) {
  float x[kExpRegisters] = {};
  // Else the compiler would see that the chains are equal.
#pragma unroll
  for (float& start : x) opaque(start);
#pragma unroll 1
  for (unsigned block = 0; block < blocks_of_steps; ++block) {
#pragma unroll
    for (int step = 0; step < static_cast<int>(kStepMultiple); ++step) {
#pragma unroll
      for (int i = 0; i < kExpRegisters; ++i) x[i] = ex2_approx_ftz(-x[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kExpRegisters; ++i) sink[(blockIdx.x * kThreads + threadIdx.x) * kExpRegisters + i] = x[i];
}

/// Vector FMAs per clock and SM (CUDA C++ Programming Guide, arithmetic throughput). It only sets the length of a launch.
double fma_per_clock(DataType type, int capability) {
  const bool data_centre = capability == 80 || capability == 90 || capability == 100;
  if (type == DataType::fp64) return capability == 80 ? 32 : data_centre ? 64 : 2;
  if (type == DataType::fp32) return capability == 80 ? 64 : 128;
  return data_centre ? 256 : 128;
}

template <class Arithmetic>
void launch_fma(DataType type, void* sink, std::size_t steps, ProbeTarget target, Stream stream) {
  const double multipliers[2] = {fma_multiplier(type), fma_multiplier(type)};
  const auto kernel = fma_kernel<Arithmetic>;
  kernel<<<target.processors, kThreads, shared_bytes_to_be_alone(kernel, kThreads), stream>>>(
      static_cast<typename Arithmetic::Vector*>(sink), Arithmetic::make(multipliers), steps / kStepMultiple);
  check(cudaGetLastError());
}

}  // namespace

ChainLayout fma_layout(DataType type, ProbeTarget target) {
  const bool pairs = type == DataType::fp16 || type == DataType::bf16;
  if (!pairs && type != DataType::fp64 && type != DataType::fp32) return {};
  const int chains_per_sm = kThreads * kFmaRegisters * (pairs ? 2 : 1);
  return {static_cast<std::size_t>(target.processors) * chains_per_sm,
          fma_per_clock(type, target.compute_capability) / chains_per_sm};
}

void fma(DataType type, void* sink, std::size_t steps, ProbeTarget target, Stream stream) {
  switch (type) {
    case DataType::fp64:
      return launch_fma<Scalar<double>>(type, sink, steps, target, stream);
    case DataType::fp32:
      return launch_fma<Scalar<float>>(type, sink, steps, target, stream);
    case DataType::fp16:
      return launch_fma<Half2>(type, sink, steps, target, stream);
    case DataType::bf16:
      return launch_fma<Bfloat2>(type, sink, steps, target, stream);
    default:
      throw Unsupported("no FMA probe for " + std::string(name(type)));
  }
}

ChainLayout exp2_layout(ProbeTarget target) {
  constexpr int chains_per_sm = kThreads * kExpRegisters;
  return {static_cast<std::size_t>(target.processors) * chains_per_sm, 16.0 / chains_per_sm};
}

void exp2(float* sink, std::size_t steps, ProbeTarget target, Stream stream) {
  exp2_kernel<<<target.processors, kThreads, shared_bytes_to_be_alone(exp2_kernel, kThreads), stream>>>(
      sink, static_cast<unsigned>(steps / kStepMultiple));
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
