// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include <algorithm>

#include "kernels/base/block_scaled.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ceilings.hpp"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/mbarrier.cuh"
#include "kernels/cuda/ptx/registers.cuh"
#include "kernels/cuda/ptx/tcgen05.cuh"
#include "kernels/cuda/swizzled_operands.cuh"

namespace roofmark::cuda {

namespace {

// One thread issues products of 128 x 256, each of 128 clocks, to one accumulator. Both operands come from shared memory: 128 x
// 32 + 256 x 32 bytes in the 128 clocks of a product are 96 of its 128 bytes per clock.
using Operands = SwizzledOperands;
constexpr int kThreads = 128;

/// What a word of the accumulator holds.
template <DataType accumulate>
struct Word {
  using Sum = float;
  static __device__ float value(std::uint32_t bits) { return __uint_as_float(bits); }
};
template <>
struct Word<DataType::fp16> {
  using Sum = float;
  static __device__ float value(std::uint32_t bits) { return __half2float(__ushort_as_half(bits & 0xFFFF)); }
};
template <>
struct Word<DataType::int32> {
  using Sum = int;
  static __device__ int value(std::uint32_t bits) { return static_cast<int>(bits); }
};

/// A block-scaled type's scales, in tiles of 128 rows x 4 blocks as BlockScaledLayout stores them: 32 rows of 16 bytes, which
/// tensor memory takes as 32 lanes of four columns. There the tiles of A follow the accumulator, then those of B, of which a
/// step needs two.
template <DataType type>
struct Scales {
  static constexpr int kTileBytes = 512, kTileColumns = 4;
  static constexpr BlockScaledLayout kA{type, Operands::kM, Operands::elements_per_row(type)};
  static constexpr BlockScaledLayout kB{type, Operands::kN, Operands::elements_per_row(type)};
  static constexpr int kTiles = static_cast<int>(kA.scale_bytes()) / kTileBytes;
  static constexpr int steps_per_tile() { return Operands::kSteps / kTiles; }
  static constexpr int kBytes = static_cast<int>(kA.scale_bytes() + kB.scale_bytes());
  static_assert(kBytes == 3 * kTiles * kTileBytes && Operands::kN + kBytes / kTileBytes * kTileColumns <= 512);

  static __device__ std::uint32_t a_columns(int tile) { return Operands::kN + tile * kTileColumns; }
  static __device__ std::uint32_t b_columns(int tile) { return Operands::kN + (kTiles + 2 * tile) * kTileColumns; }

  /// By all threads of a block, before Operands::stage(): to `shared`.
  static __device__ void stage(unsigned char* shared, const uint4* a, const uint4* b) {
    auto* const to = reinterpret_cast<uint4*>(shared);
    constexpr int of_a = static_cast<int>(kA.scale_bytes() / 16);
    for (int i = threadIdx.x; i < kBytes / 16; i += kThreads) {
      to[i] = i < of_a ? a[kA.scales_offset() / 16 + i] : b[kB.scales_offset() / 16 + i - of_a];
    }
  }
  /// By the thread that issues the products: from there to tensor memory.
  static __device__ void load(std::uint32_t d, std::uint32_t shared) {
#pragma unroll 1
    for (int tile = 0; tile < kTiles; ++tile) {
      tcgen05_cp_32x128b_warpx4(d + a_columns(tile), tcgen05_rows_descriptor(shared + tile * kTileBytes));
#pragma unroll 1
      for (int rows = 0; rows < 2; ++rows) {
        tcgen05_cp_32x128b_warpx4(d + b_columns(tile) + rows * kTileColumns,
                                  tcgen05_rows_descriptor(shared + ((1 + rows) * kTiles + tile) * kTileBytes));
      }
    }
  }
};

/// By one thread: all products, and their end. An iteration is issued while the one before is executed, so that the tensor
/// cores never wait for it.
template <DataType type, DataType accumulate>
[[maybe_unused]] __device__ void multiply(std::uint32_t d, Operands operands, const std::uint64_t (&barriers)[2],
                                          unsigned iterations) {
  if constexpr (is_block_scaled(type)) Scales<type>::load(d, operands.end());
  const std::uint64_t a = tcgen05_descriptor(operands.a), b = tcgen05_descriptor(operands.b);
  const auto wait = [&](unsigned iteration) {
    mbarrier_try_wait_parity(shared_address(barriers + iteration % 2), iteration / 2 % 2);
  };
#pragma unroll 1
  for (unsigned iteration = 0; iteration < iterations; ++iteration) {
    if (iteration >= 2) wait(iteration - 2);
#pragma unroll
    for (int step = 0; step < Operands::kSteps; ++step) {
      const int offset = Operands::step_offset(step) / 16;
      if constexpr (is_block_scaled(type)) {
        constexpr int m = Operands::kM, n = Operands::kN, steps = Scales<type>::steps_per_tile();
        tcgen05_mma_block_scale<type>(d, a + offset, b + offset, tcgen05_block_scaled_descriptor(type, m, n, step % steps),
                                      d + Scales<type>::a_columns(step / steps), d + Scales<type>::b_columns(step / steps),
                                      step != 0);
      } else {
        constexpr std::uint32_t instruction = tcgen05_instruction_descriptor(type, accumulate, Operands::kM, Operands::kN);
        tcgen05_mma<type>(d, a + offset, b + offset, instruction, step != 0);
      }
    }
    tcgen05_commit(shared_address(barriers + iteration % 2));
  }
  for (unsigned iteration = iterations - min(iterations, 2u); iteration < iterations; ++iteration) wait(iteration);
}

/// tcgen05 exists for sm_100a and sm_103a, the latter without int8.
template <DataType type>
constexpr bool kCompiled =
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
    true;
#elif defined(__CUDA_ARCH_FEAT_SM103_ALL)
    type != DataType::int8;
#else
    false;
#endif

/// Of tensor memory: a power of two.
template <DataType type>
constexpr int kColumns = is_block_scaled(type) ? 2 * Operands::kN : Operands::kN;

template <DataType type, DataType accumulate>
__device__ void sum_of_products(typename Word<accumulate>::Sum* sink, const uint4* a, const uint4* b, unsigned iterations) {
  extern __shared__ unsigned char dynamic[];
  __shared__ std::uint64_t barriers[2];
  __shared__ std::uint32_t allocated;
  if constexpr (is_block_scaled(type)) Scales<type>::stage(Operands::end(dynamic), a, b);
  const Operands operands = Operands::stage<kThreads>(dynamic, a, b);
  // From lane 0, so that the compiler knows that it is the same for a whole warp.
  const std::uint32_t warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  if (warp == 0) {
    tcgen05_alloc(shared_address(&allocated), kColumns<type>);
    tcgen05_relinquish_alloc_permit();
  }
  if (threadIdx.x == 0) {
    for (const std::uint64_t& barrier : barriers) mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const std::uint32_t d = ld_volatile_shared_u32(shared_address(&allocated));
  if (warp == 0 && elect_sync()) multiply<type, accumulate>(d, operands, barriers, iterations);
  __syncwarp();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();

  typename Word<accumulate>::Sum sum = 0;
  const std::uint32_t lanes = d + (warp * 32 << 16);
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
#pragma unroll 1
    for (int column = 0; column < Operands::kN; column += 32) {
      std::uint32_t elements[16];
      tcgen05_ld_16x256b_x4(elements, lanes + (half * 16 << 16) + column);
      tcgen05_wait_ld();
#pragma unroll
      for (std::uint32_t& element : elements) {
        opaque(element);
        sum += Word<accumulate>::value(element);
      }
    }
  }
  sink[blockIdx.x * kThreads + threadIdx.x] = sum;
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp == 0) tcgen05_dealloc(d, kColumns<type>);
}

/// Empty where it cannot be compiled.
template <DataType type, DataType accumulate>
__global__ void __launch_bounds__(kThreads, 1)
    tcgen05_kernel(typename Word<accumulate>::Sum* sink, const uint4* a, const uint4* b, unsigned iterations) {
  if constexpr (kCompiled<type>) sum_of_products<type, accumulate>(sink, a, b, iterations);
}

template <DataType type, DataType accumulate>
void launch_tcgen05(void* sink, const void* a, const void* b, std::size_t iterations, ProbeTarget target, Stream stream) {
  const auto kernel = tcgen05_kernel<type, accumulate>;
  cudaFuncAttributes attributes;
  // A build for 10.0 has other kernels for 10.3, but no code of this one.
  const cudaError_t status = cudaFuncGetAttributes(&attributes, kernel);
  const bool lacks_code = status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction;
  if (lacks_code) cudaGetLastError();
  if (!lacks_code) check(status);
  if (lacks_code || attributes.sharedSizeBytes == 0) {
    throw Unsupported("tcgen05: roofmark was built without sm_100a (10.0) or sm_103a (10.3)");
  }
  std::size_t shared_bytes = Operands::kSharedBytes;
  if constexpr (is_block_scaled(type)) shared_bytes += Scales<type>::kBytes;
  shared_bytes = std::max(shared_bytes, shared_bytes_to_be_alone(kernel, kThreads));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  kernel<<<target.processors, kThreads, shared_bytes, stream>>>(static_cast<typename Word<accumulate>::Sum*>(sink),
                                                                static_cast<const uint4*>(a), static_cast<const uint4*>(b),
                                                                iterations);
  check(cudaGetLastError());
}

}  // namespace

TensorLayout tcgen05_layout(DataType type, DataType accumulate, ProbeTarget target) {
  const int capability = target.compute_capability;
  if ((capability != 100 && capability != 103) || type == DataType::fp64 || !tensor_accumulates(type, accumulate)) return {};
  if (type == DataType::int8 && capability == 103) return {};
  // 128 clocks per instruction for every type.
  constexpr double clocks = 128.0 * Operands::kSteps;
  return Operands::layout(type, target, kThreads / 32, 1 / clocks);
}

void tcgen05(DataType type, DataType accumulate, void* sink, const void* a, const void* b, std::size_t iterations,
             ProbeTarget target, Stream stream) {
  using enum DataType;
  switch (type) {
    case tf32:
      return launch_tcgen05<tf32, fp32>(sink, a, b, iterations, target, stream);
    case fp16:
      return (accumulate == fp16 ? launch_tcgen05<fp16, fp16> : launch_tcgen05<fp16, fp32>)(sink, a, b, iterations, target,
                                                                                            stream);
    case bf16:
      return launch_tcgen05<bf16, fp32>(sink, a, b, iterations, target, stream);
    case fp8:
      return launch_tcgen05<fp8, fp32>(sink, a, b, iterations, target, stream);
    case int8:
      return launch_tcgen05<int8, int32>(sink, a, b, iterations, target, stream);
    case mxfp8:
      return launch_tcgen05<mxfp8, fp32>(sink, a, b, iterations, target, stream);
    case nvfp4:
      return launch_tcgen05<nvfp4, fp32>(sink, a, b, iterations, target, stream);
    default:
      throw Unsupported("no tcgen05 for " + std::string(name(type)));
  }
}

}  // namespace roofmark::cuda
