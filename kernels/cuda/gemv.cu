// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "kernels/base/cuda.hpp"
#include "kernels/base/element.hpp"
#include "kernels/cuda/convert.cuh"
#include "kernels/cuda/ptx/math.cuh"
#include "kernels/cuda/ptx/mma.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/gemv.hpp"

namespace roofmark::cuda {

namespace {

// Reading the weights is the limit. At 4.8 TB/s an SM of an H200 gets 18.4 bytes per clock. Tensor cores are used not for their
// FLOPs but because one mma consumes 256 weights, and one FMA 32. Counted in the machine code for sm_90a, a warp's 4 KB, which
// arrive in 223 clocks, take 178 instructions as bf16, 425 as int8, 455 as fp8 and 559 as int4: 0.8, 1.9, 2.0 and 2.5 of the
// four that an SM issues per clock. A warp has 4 KB in flight, so one block of eight warps covers the 13 to 30 KB that an SM of
// Hopper needs; three fit.
constexpr int kWarp = 32, kMostWarps = 8;
/// Rows of a tile. A block processes one tile at a time; each warp takes some of its segments.
constexpr int kTile = 16;
constexpr int kMostTiles = 4;
constexpr int kBlocks = 3;  ///< minimum per SM

/// Eight 16-bit elements.
using Vector = Packet<std::uint32_t, 4>;

/// A segment of a row is what the four lanes of a quad process together, 16 bytes per load and lane. For quantised weights it
/// is one group, so that the quad's sum has one scale.
template <GemvWeights kWeights>
struct Segment {
  static constexpr bool kScaled = kWeights != GemvWeights::plain;
  static constexpr int kBytes = kWeights == GemvWeights::int4 ? 64 : 128;
  static constexpr int kElements = kScaled ? kGemvGroup : 64;
  static constexpr int kLoads = kBytes / 64;
  /// Segments that a lane loads before it uses the first: 64 bytes of each of two rows.
  static constexpr int kAtOnce = 4 / kLoads;
  /// Pairs of weights per loaded register, and so vectors of x per load.
  static constexpr int kPairs = 2 * kElements / kBytes;
  /// Vectors of x per load of the quad.
  static constexpr int kVectors = 4 * kPairs;
};

/// a - b, element by element. Exact for the small integers here.
template <class T>
__device__ std::uint32_t difference(std::uint32_t a, std::uint32_t b) {
  using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
  return same_bits<std::uint32_t>(__hsub2(same_bits<Pair>(a), same_bits<Pair>(b)));
}

/// Converts a register of weights to pairs of T, exactly: 8-bit weights in order; for int4, pair i has elements i and i + 4.
template <class T, GemvWeights kWeights>
__device__ void widen(std::uint32_t word, std::uint32_t* pairs) {
  constexpr bool kHalf = std::is_same_v<T, __half>;
  // Two copies of 2^10 in fp16 or 2^7 in bf16, whose unit in the last place is 1.
  constexpr std::uint32_t kOnes = kHalf ? 0x64006400 : 0x43004300;
  if constexpr (kWeights == GemvWeights::plain) {
    pairs[0] = word;
  } else if constexpr (kWeights == GemvWeights::fp8) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto two = static_cast<__nv_fp8x2_storage_t>(word >> (16 * i));
      const __half2 pair = __half2(__nv_cvt_fp8x2_to_halfraw2(two, __NV_E4M3));
      if constexpr (kHalf) {
        pairs[i] = same_bits<std::uint32_t>(pair);
      } else {
        // e4m3 has three mantissa bits, so the upper half of the fp32 is exact.
        const float2 wide = __half22float2(pair);
        pairs[i] = __byte_perm(__float_as_uint(wide.x), __float_as_uint(wide.y), 0x7632);
      }
    }
  } else if constexpr (kWeights == GemvWeights::int8) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t two = __byte_perm(word, 0, i == 0 ? 0x4140 : 0x4342);
      if constexpr (kHalf) {
        // Two's complement with the sign bit flipped is the number + 128.
        pairs[i] = difference<T>(two ^ (kOnes | 0x00800080), kOnes | 0x00800080);
      } else {
        // bf16 has seven mantissa bits: 128 + the lower seven bits, minus 128, or minus 256 if the sign bit is set, which is
        // the lowest bit of the exponent there.
        pairs[i] = difference<T>(lop3_and_xor(two, 0x007f007f, kOnes), lop3_and_xor(two, 0x00800080, kOnes));
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Two's complement with the sign bit flipped is the number + 8.
      constexpr std::uint32_t kEight = kOnes | 0x00080008;
      pairs[i] = difference<T>(lop3_and_xor(word >> (4 * i), 0x000f000f, kEight), kEight);
    }
  }
}

/// Eight elements of x in the order of widen's pairs.
template <GemvWeights kWeights>
__device__ Vector in_pairs(const Vector& x) {
  if constexpr (kWeights != GemvWeights::int4) return x;
  const auto& e = x.element;
  return {{__byte_perm(e[0], e[2], 0x5410), __byte_perm(e[0], e[2], 0x7632), __byte_perm(e[1], e[3], 0x5410),
           __byte_perm(e[1], e[3], 0x7632)}};
}

/// A lane's loads of rows g and g + 8 of a tile, g = lane / 4.
template <class T, GemvWeights kWeights>
struct Held {
  using S = Segment<kWeights>;
  Vector upper[S::kAtOnce][S::kLoads], lower[S::kAtOnce][S::kLoads];
  T upper_scale[S::kAtOnce], lower_scale[S::kAtOnce];
};

template <class T>
struct Operands {
  const std::uint8_t* w;
  const T* scales;
  const uint4* x;  ///< eight elements each
  T* y;
  std::int64_t m;
  int k;
};

/// A block processes `tiles_a_block` tiles one after another, with x in shared memory. Its warps take kAtOnce adjacent segments
/// of every row in turn. All eight columns of the mma are x.
template <class T, GemvWeights kWeights>
__global__ void __launch_bounds__(kMostWarps* kWarp, kBlocks) gemv_kernel(Operands<T> operands, int tiles_a_block) {
  using S = Segment<kWeights>;
  constexpr DataType kType = std::is_same_v<T, __half> ? DataType::fp16 : DataType::bf16;
  extern __shared__ Vector x[];
  __shared__ float partial[kMostTiles][kMostWarps][kTile];

  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp, g = lane / 4, t = lane % 4;
  const int row_bytes = operands.k / S::kElements * S::kBytes + operands.k % S::kElements * static_cast<int>(sizeof(T));
  const int segments = (operands.k + S::kElements - 1) / S::kElements;
  const int rounds = (segments + warps * S::kAtOnce - 1) / (warps * S::kAtOnce);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * tiles_a_block * kTile;
  const std::int64_t rows_left = operands.m - first_row;
  const int tiles = rows_left < tiles_a_block * kTile ? static_cast<int>(rows_left + kTile - 1) / kTile : tiles_a_block;
  const auto first_segment = [=](int round) { return (round * warps + warp) * S::kAtOnce; };

  Held<T, kWeights> held;
  // Rows after the last one repeat it.
  const auto load = [&](int tile, int round) {
    const std::int64_t row = first_row + tile * kTile + g, last = operands.m - 1;
    const std::int64_t upper = row < last ? row : last, lower = row + 8 < last ? row + 8 : last;
    const int segment = first_segment(round), byte = segment * S::kBytes + t * 16;
    const auto* upper_from = reinterpret_cast<const Vector*>(operands.w + upper * row_bytes + byte);
    const auto* lower_from = reinterpret_cast<const Vector*>(operands.w + lower * row_bytes + byte);
    const int left = row_bytes - byte;
#pragma unroll
    for (int i = 0; i < S::kAtOnce; ++i) {
#pragma unroll
      for (int j = 0; j < S::kLoads; ++j) {
        const int offset = i * S::kBytes + j * 64;
        held.upper[i][j] = offset < left ? load_once(upper_from + offset / 16) : Vector{};
        held.lower[i][j] = offset < left ? load_once(lower_from + offset / 16) : Vector{};
      }
    }
    if constexpr (S::kScaled) {
      const T* upper_scale = operands.scales + upper * segments + segment;
      const T* lower_scale = operands.scales + lower * segments + segment;
#pragma unroll
      for (int i = 0; i < S::kAtOnce; ++i) {
        held.upper_scale[i] = segment + i < segments ? upper_scale[i] : T{};
        held.lower_scale[i] = segment + i < segments ? lower_scale[i] : T{};
      }
    }
  };
  load(0, 0);

  // Vectors of a quad's load in the order of their use, so that its lanes read adjacent memory.
  for (int i = static_cast<int>(threadIdx.x); i < segments * (S::kElements / 8); i += static_cast<int>(blockDim.x)) {
    const int nth = i % S::kVectors, to = i - nth + nth % S::kPairs * 4 + nth / S::kPairs;
    x[to] = 8 * i < operands.k ? in_pairs<kWeights>(same_bits<Vector>(__ldg(operands.x + i))) : Vector{};
  }
  __syncthreads();

  for (int tile = 0; tile < tiles; ++tile) {
    float upper_sum = 0, lower_sum = 0;
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int i = 0; i < S::kAtOnce; ++i) {
        const int segment = first_segment(round) + i;
        if (segment >= segments) break;
        float sums[2][4] = {};
#pragma unroll
        for (int j = 0; j < S::kLoads; ++j) {
#pragma unroll
          for (int v = 0; v < S::kPairs; ++v) {
            const Vector factor = x[segment * (S::kElements / 8) + j * S::kVectors + v * 4 + t];
            constexpr int kWords = 4 / S::kPairs;
            std::uint32_t upper[4], lower[4];
#pragma unroll
            for (int word = 0; word < kWords; ++word) {
              widen<T, kWeights>(held.upper[i][j].element[v * kWords + word], upper + word * S::kPairs);
              widen<T, kWeights>(held.lower[i][j].element[v * kWords + word], lower + word * S::kPairs);
            }
            mma_m16n8k16<kType>(sums[0], {upper[0], lower[0], upper[1], lower[1]}, factor.element[0], factor.element[1]);
            mma_m16n8k16<kType>(sums[1], {upper[2], lower[2], upper[3], lower[3]}, factor.element[2], factor.element[3]);
          }
        }
        const float upper = sums[0][0] + sums[1][0], lower = sums[0][2] + sums[1][2];
        if constexpr (S::kScaled) {
          upper_sum = fmaf(widened(held.upper_scale[i]), upper, upper_sum);
          lower_sum = fmaf(widened(held.lower_scale[i]), lower, lower_sum);
        } else {
          upper_sum += upper;
          lower_sum += lower;
        }
      }
      const bool last = round + 1 == rounds;
      if (!last || tile + 1 < tiles) load(last ? tile + 1 : tile, last ? 0 : round + 1);
    }
    if (t == 0) {
      partial[tile][warp][g] = upper_sum;
      partial[tile][warp][g + 8] = lower_sum;
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < tiles * kTile && i < rows_left; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int w = 0; w < warps; ++w) sum += partial[i / kTile][w][i % kTile];
    operands.y[first_row + i] = narrowed<T>(sum);
  }
}

constexpr int kRowWarps = 8;

/// One warp per row, element by element: for rows that are not whole, aligned vectors.
template <class T>
__global__ void __launch_bounds__(kRowWarps* kWarp)
    gemv_unaligned_kernel(const T* w, const T* x, T* y, std::int64_t m, std::int64_t k) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRowWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= m) return;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t c = lane; c < k; c += kWarp) sum = fmaf(widened(w[row * k + c]), widened(x[c]), sum);
  for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  if (lane == 0) y[row] = narrowed<T>(sum);
}

/// Returns false if x does not fit into the shared memory of a block.
template <class T, GemvWeights kWeights>
bool launch_tiles(const GemvProblem& p, const GemvArrays& arrays, Stream stream) {
  using S = Segment<kWeights>;
  constexpr std::int64_t kUnasked = 48 << 10, kPartials = sizeof(float) * kMostTiles * kMostWarps * kTile;
  const DeviceLimits& limits = device_limits();
  const std::int64_t segments = (p.k + S::kElements - 1) / S::kElements;
  const std::int64_t x_bytes = segments * S::kElements * static_cast<std::int64_t>(sizeof(T));
  if (x_bytes + kPartials > limits.shared_bytes_per_block) return false;
  const auto kernel = gemv_kernel<T, kWeights>;
  if (x_bytes + kPartials > kUnasked) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(x_bytes)));
  }
  // Each block reads x from L2. A tile of plain weights is sixteen times as large as x; blocks of narrower weights take several
  // tiles, if enough blocks remain to balance the SMs.
  constexpr std::int64_t kMost = kWeights == GemvWeights::plain ? 1 : kWeights == GemvWeights::int4 ? kMostTiles : 2;
  const std::int64_t tiles = (p.m + kTile - 1) / kTile;
  const std::int64_t tiles_a_block = std::clamp<std::int64_t>(tiles / (6 * limits.multiprocessors), 1, kMost);
  const std::int64_t blocks = (tiles + tiles_a_block - 1) / tiles_a_block;
  const std::int64_t warps = std::min<std::int64_t>(kMostWarps, (segments + S::kAtOnce - 1) / S::kAtOnce);
  const Operands<T> operands = {static_cast<const std::uint8_t*>(arrays.w),
                                static_cast<const T*>(arrays.scales),
                                static_cast<const uint4*>(arrays.x),
                                static_cast<T*>(arrays.y),
                                p.m,
                                static_cast<int>(p.k)};
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(warps * kWarp), static_cast<std::size_t>(x_bytes), stream>>>(
      operands, static_cast<int>(tiles_a_block));
  check(cudaGetLastError());
  return true;
}

template <class T>
void launch_unaligned(const GemvProblem& p, const GemvArrays& arrays, Stream stream) {
  const auto blocks = static_cast<unsigned>((p.m + kRowWarps - 1) / kRowWarps);
  gemv_unaligned_kernel<T><<<blocks, kRowWarps * kWarp, 0, stream>>>(
      static_cast<const T*>(arrays.w), static_cast<const T*>(arrays.x), static_cast<T*>(arrays.y), p.m, p.k);
  check(cudaGetLastError());
}

template <class T>
void launch_typed(const GemvProblem& p, const GemvArrays& arrays, Stream stream) {
  const auto whole_vectors = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % sizeof(Vector) == 0; };
  bool done = false;
  switch (p.weights) {
    case GemvWeights::plain:
      done = p.k % 8 == 0 && whole_vectors(arrays.w) && whole_vectors(arrays.x) &&
             launch_tiles<T, GemvWeights::plain>(p, arrays, stream);
      if (!done) launch_unaligned<T>(p, arrays, stream);
      return;
    case GemvWeights::fp8:
      done = launch_tiles<T, GemvWeights::fp8>(p, arrays, stream);
      break;
    case GemvWeights::int8:
      done = launch_tiles<T, GemvWeights::int8>(p, arrays, stream);
      break;
    case GemvWeights::int4:
      done = launch_tiles<T, GemvWeights::int4>(p, arrays, stream);
      break;
  }
  if (!done) throw Unsupported("a vector of " + std::to_string(p.k) + " elements does not fit in the shared memory of a block");
}

bool supports(const GemvProblem& p) {
  return (p.type == DataType::bf16 || p.type == DataType::fp16) && (p.weights == GemvWeights::plain || p.k % kGemvGroup == 0);
}

void launch(const GemvProblem& p, const GemvArrays& arrays, Stream stream) {
  return p.type == DataType::fp16 ? launch_typed<__half>(p, arrays, stream) : launch_typed<__nv_bfloat16>(p, arrays, stream);
}

}  // namespace

const GemvKernels gemv = {supports, launch};

}  // namespace roofmark::cuda
