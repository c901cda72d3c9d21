// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ceilings.hpp"
#include "kernels/cuda/ceilings_tensor.cuh"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/mma.cuh"

namespace roofmark::cuda {

namespace {

// One block per SM, two warps per scheduler. A warp's 8 or 16 independent products cover the latency of one.
constexpr int kWarps = 8;
// Accumulations on one element before it is cleared: few enough for fp16 sums to stay in range, and enough to make clearing
// free.
constexpr int kDepth = 16;
constexpr int kUnroll = 4;

/// A product m16n8k(K). A row of A or B is row_words words along k: 32 bytes (fp64: 128 bytes). A lane holds a_words of A and
/// b_words of B, in the order of the instruction; c[0] and c[1] are row lane / 4, c[2] and c[3] row lane / 4 + 8, in columns
/// 2 (lane % 4) and the next.
struct Narrow {
  using Word = std::uint32_t;
  static constexpr int a_words = 4, b_words = 2, row_words = 8;
  static constexpr int m_tiles = 4, n_tiles = 4;
};
struct Floats : Narrow {
  using Accumulator = float;
  using Sum = float;
  static constexpr int c_words = 4;
  static __device__ float sum(const float (&c)[4]) { return (c[0] + c[1]) + (c[2] + c[3]); }
};
struct Tf32 : Floats {
  static __device__ void multiply(float (&c)[4], const Word (&a)[4], const Word (&b)[2]) { mma_m16n8k8_tf32(c, a, b); }
};
struct Fp16 : Floats {
  static __device__ void multiply(float (&c)[4], const Word (&a)[4], const Word (&b)[2]) {
    mma_m16n8k16<DataType::fp16>(c, a, b[0], b[1]);
  }
};
struct Bf16 : Floats {
  static __device__ void multiply(float (&c)[4], const Word (&a)[4], const Word (&b)[2]) {
    mma_m16n8k16<DataType::bf16>(c, a, b[0], b[1]);
  }
};
struct Fp8 : Floats {
  static __device__ void multiply(float (&c)[4], const Word (&a)[4], const Word (&b)[2]) {
    // Before 8.9 the instruction does not exist, and mma_layout has no blocks.
#if __CUDA_ARCH__ >= 890
    mma_m16n8k32_e4m3(c, a, b);
#endif
  }
};
struct Fp16Half : Narrow {
  using Accumulator = std::uint32_t;
  using Sum = float;
  static constexpr int c_words = 2;  // pairs
  static __device__ void multiply(Accumulator (&c)[2], const Word (&a)[4], const Word (&b)[2]) { mma_m16n8k16_f16(c, a, b); }
  static __device__ float sum(const Accumulator (&c)[2]) { return sum_of_halves(c[0]) + sum_of_halves(c[1]); }
};
struct Int8 : Narrow {
  using Accumulator = int;
  using Sum = int;
  static constexpr int c_words = 4;
  static __device__ void multiply(int (&c)[4], const Word (&a)[4], const Word (&b)[2]) { mma_m16n8k32_s8(c, a, b); }
  static __device__ int sum(const int (&c)[4]) { return (c[0] + c[1]) + (c[2] + c[3]); }
};
struct Fp64 {
  using Word = double;
  using Accumulator = double;
  using Sum = double;
  static constexpr int a_words = 8, b_words = 4, c_words = 4, row_words = 16;
  static constexpr int m_tiles = 2, n_tiles = 4;
  static __device__ void multiply(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
    mma_m16n8k16_f64(c, a, b);
#else
    // 8.x has only m8n8k4; 9.0 reaches its peak only with the larger shape.
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half) mma_m8n8k4_f64(c[2 * half], c[2 * half + 1], a[2 * k + half], b[k]);
    }
#endif
  }
  static __device__ double sum(const double (&c)[4]) { return (c[0] + c[1]) + (c[2] + c[3]); }
};

template <class Product>
__global__ void __launch_bounds__(kWarps * 32, 1) mma_kernel(typename Product::Sum* sink, const typename Product::Word* a,
                                                             const typename Product::Word* b, unsigned iterations) {
  using Word = typename Product::Word;
  constexpr int kRow = Product::row_words, kMTiles = Product::m_tiles, kNTiles = Product::n_tiles;
  const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
  Word a_fragments[kMTiles][Product::a_words], b_fragments[kNTiles][Product::b_words];
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
#pragma unroll
    for (int word = 0; word < Product::a_words; ++word) {
      const int row = (warp * kMTiles + tile) * 16 + group + 8 * (word % 2);
      a_fragments[tile][word] = a[row * kRow + member + 4 * (word / 2)];
    }
  }
#pragma unroll
  for (int tile = 0; tile < kNTiles; ++tile) {
#pragma unroll
    for (int word = 0; word < Product::b_words; ++word)
      b_fragments[tile][word] = b[(tile * 8 + group) * kRow + member + 4 * word];
  }
  typename Product::Accumulator c[kMTiles][kNTiles][Product::c_words];
#pragma unroll 1
  for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (auto& row : c) {
#pragma unroll
      for (auto& tile : row) {
#pragma unroll
        for (auto& word : tile) word = 0;
      }
    }
    // Not unrolled: else the result would be the same in all iterations, and the compiler could see it.
#pragma unroll 1
    for (int depth = 0; depth < kDepth; depth += kUnroll) {
#pragma unroll
      for (int step = 0; step < kUnroll; ++step) {
#pragma unroll
        for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
          for (int j = 0; j < kNTiles; ++j) Product::multiply(c[i][j], a_fragments[i], b_fragments[j]);
        }
      }
    }
  }
  typename Product::Sum sum = 0;
#pragma unroll
  for (auto& row : c) {
#pragma unroll
    for (auto& tile : row) sum += Product::sum(tile);
  }
  sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <class Product>
void launch_mma(void* sink, const void* a, const void* b, std::size_t iterations, ProbeTarget target, Stream stream) {
  using Word = typename Product::Word;
  const auto kernel = mma_kernel<Product>;
  kernel<<<target.processors, kWarps * 32, shared_bytes_to_be_alone(kernel, kWarps * 32), stream>>>(
      static_cast<typename Product::Sum*>(sink), static_cast<const Word*>(a), static_cast<const Word*>(b), iterations);
  check(cudaGetLastError());
}

}  // namespace

TensorLayout mma_layout(DataType type, DataType accumulate, ProbeTarget target) {
  const bool wide = type == DataType::fp64;
  const int capability = target.compute_capability;
  if (!tensor_accumulates(type, accumulate)) return {};
  if (wide && capability != 80 && capability != 90 && capability != 100) return {};
  // From 9.0 to 11.x the compiler makes fp16 products of it, and one of several equal ones: no fp8, and not the work counted.
  if (type == DataType::fp8 && capability != 89 && capability < 120) return {};
  const int m = kWarps * 16 * (wide ? Fp64::m_tiles : Narrow::m_tiles);
  const int n = 8 * (wide ? Fp64::n_tiles : Narrow::n_tiles);
  const int k = wide ? Fp64::row_words : sizeof(Narrow::Word) * Narrow::row_words / size_of(type);
  // Operations per clock and SM of 8.0; others are within a factor of four.
  const double operations = wide ? 128 : 4096.0 / size_of(type);
  return {target.processors, kWarps, m, n, k, k, kDepth, operations / (2.0 * m * n * k * kDepth)};
}

void mma(DataType type, DataType accumulate, void* sink, const void* a, const void* b, std::size_t iterations,
         ProbeTarget target, Stream stream) {
  switch (type) {
    case DataType::fp64:
      return launch_mma<Fp64>(sink, a, b, iterations, target, stream);
    case DataType::tf32:
      return launch_mma<Tf32>(sink, a, b, iterations, target, stream);
    case DataType::fp16:
      return (accumulate == DataType::fp16 ? launch_mma<Fp16Half> : launch_mma<Fp16>)(sink, a, b, iterations, target, stream);
    case DataType::bf16:
      return launch_mma<Bf16>(sink, a, b, iterations, target, stream);
    case DataType::fp8:
      return launch_mma<Fp8>(sink, a, b, iterations, target, stream);
    case DataType::int8:
      return launch_mma<Int8>(sink, a, b, iterations, target, stream);
    default:
      throw Unsupported("no tensor-core instruction for " + std::string(name(type)));
  }
}

}  // namespace roofmark::cuda
