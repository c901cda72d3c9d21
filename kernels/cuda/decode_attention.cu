// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one kernel, and a launcher that divides its work by the same constants.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/base/cuda.hpp"
#include "kernels/base/element.hpp"
#include "kernels/cuda/ptx/math.cuh"
#include "kernels/cuda/ptx/mma.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/decode_attention.hpp"

namespace roofmark::cuda {

namespace {

// Reading the KV cache is the limit. At 4.8 TB/s an SM of an H200 gets 18.4 bytes per clock, and each element is multiplied
// with the queries or weights of eight heads. For these 8 FLOPs per byte, FMAs and the conversions before them would take 2.6
// of the four instructions that an SM issues per clock. With tensor cores, counted in the machine code for sm_90a, the 4, 8 and
// 16 KB of a tile of keys and values (head dimension 64, 128, 256) take 231, 339 and 577 instructions, 1.0 to 0.65 per clock. A
// warp has one tile in flight, so an SM has 64 to 128 KB; Hopper needs 13 to 30 KB.
constexpr int kWarp = 32, kWarps = 4, kThreads = kWarps * kWarp;
constexpr int kHeads = 8;                       ///< query heads per block
constexpr int kTile = 16;                       ///< keys per step of a warp
constexpr int kLeastKeys = 2 * kTile * kWarps;  ///< minimum per part, except the last
constexpr int kMostParts = 256, kMostBlocks = 2048;
constexpr float kInfinity = INFINITY;

/// Eight 16-bit elements.
using Vector = Packet<std::uint32_t, 4>;

/// A block processes up to kHeads query heads that share a key-value head ("sharers"), for one part of the keys. The grid is
/// [sharers of all key-value heads, parts, batch]: consecutive blocks read adjacent memory.
struct Division {
  int head_tiles;  ///< sharers of a key-value head
  int parts, keys_a_part;
};

/// The workspace: a counter per sharers, then the results of the parts.
struct Workspace {
  unsigned* arrived;
  float2* found;   ///< [sharers, parts, kHeads]: the maximum score, in powers of 2, and the sum of the powers
  float4* values;  ///< [sharers, parts, kHeads, head_dim]: V weighted with the powers
};

struct Operands {
  const std::uint16_t *q, *k, *v;
  std::uint16_t* o;
  Workspace workspace;
  int keys, heads, kv_heads;
  Division division;
  float scale;  ///< of the scores: log2(e) / sqrt(head_dim)
};

/// Minimum number of blocks per SM.
template <int kDim>
inline constexpr int kBlocks = kDim == 64    ? 4
                               : kDim == 128 ? 3
                                             : 2;

/// The lower, or the upper, elements of two registers.
__device__ inline std::uint32_t lower_pair(std::uint32_t a, std::uint32_t b) { return __byte_perm(a, b, 0x5410); }
__device__ inline std::uint32_t upper_pair(std::uint32_t a, std::uint32_t b) { return __byte_perm(a, b, 0x7632); }

/// The running softmax over a warp's keys. Everything is transposed, so that the eight columns of an mma are eight heads:
/// scores^T [keys, heads] = K Q^T and O^T [d, heads] = V^T P^T. A lane has heads 2t and 2t + 1.
template <int kDim>
struct State {
  float greatest[2] = {-kInfinity, -kInfinity};
  float sum[2] = {0, 0};       ///< over this lane's keys
  float o[kDim / 16][4] = {};  ///< tile 4 h + j: rows g and g + 8 are elements 64 h + 8 g + 2 j and the next
};

/// A lane's part of a tile of keys: elements 32 i + 8 t and the next seven of keys g and g + 8.
template <int kDim>
struct Keys {
  Vector upper[kDim / 32], lower[kDim / 32];

  /// `left` keys remain in the part from `key` on; zeros after them.
  __device__ void load(const std::uint16_t* key, std::int64_t stride, int left, int g, int t) {
    const auto* from = reinterpret_cast<const Vector*>(key + g * stride + 8 * t);
    const auto* below = reinterpret_cast<const Vector*>(key + (g + 8) * stride + 8 * t);
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) upper[i] = g < left ? load_once(from + 4 * i) : Vector{};
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) lower[i] = g + 8 < left ? load_once(below + 4 * i) : Vector{};
  }
};

/// A lane's part of a tile of values: elements 64 h + 8 g and the next seven of keys 2t, 2t + 1, 2t + 8 and 2t + 9.
template <int kDim>
struct Values {
  Vector of_key[4][kDim / 64];

  __device__ void load(const std::uint16_t* value, std::int64_t stride, int left, int g, int t) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int key = 2 * t + c % 2 + c / 2 * 8;
      const auto* from = reinterpret_cast<const Vector*>(value + key * stride + 8 * g);
#pragma unroll
      for (int h = 0; h < kDim / 64; ++h) of_key[c][h] = key < left ? load_once(from + 8 * h) : Vector{};
    }
  }
};

/// The scores of a tile, for powers of 2: keys g and g + 8, heads 2t and 2t + 1.
template <DataType kType, int kDim>
__device__ void score(const Keys<kDim>& keys, const Vector (&q)[kDim / 32][kWarp], float scale, int left, int lane,
                      float (&s)[4]) {
  float even[4] = {}, odd[4] = {};
#pragma unroll
  for (int i = 0; i < kDim / 32; ++i) {
    const auto& upper = keys.upper[i].element;
    const auto& lower = keys.lower[i].element;
    const Vector query = q[i][lane];
    mma_m16n8k16<kType>(even, {upper[0], lower[0], upper[1], lower[1]}, query.element[0], query.element[1]);
    mma_m16n8k16<kType>(odd, {upper[2], lower[2], upper[3], lower[3]}, query.element[2], query.element[3]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) s[i] = lane / 4 + i / 2 * 8 < left ? scale * (even[i] + odd[i]) : -kInfinity;
}

/// Adds a tile to the running softmax, and replaces its scores by their powers.
template <int kDim>
__device__ void exponentiate(State<kDim>& state, float (&s)[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float greatest = fmaxf(state.greatest[i], fmaxf(s[i], s[i + 2]));
#pragma unroll
    for (int distance = 4; distance < kWarp; distance *= 2) {
      greatest = fmaxf(greatest, __shfl_xor_sync(~0u, greatest, distance));
    }
    const float shrink = ex2_approx_ftz(state.greatest[i] - greatest);
    state.greatest[i] = greatest;
    s[i] = ex2_approx_ftz(s[i] - greatest);
    s[i + 2] = ex2_approx_ftz(s[i + 2] - greatest);
    state.sum[i] = fmaf(state.sum[i], shrink, s[i] + s[i + 2]);
#pragma unroll
    for (auto& tile : state.o) {
      tile[i] *= shrink;
      tile[i + 2] *= shrink;
    }
  }
}

template <DataType kType, int kDim>
__device__ void weigh(State<kDim>& state, const Values<kDim>& values, const float (&p)[4]) {
  const std::uint32_t b0 = movmatrix_trans(cvt_rn_x2<kType>(p[0], p[1])), b1 = movmatrix_trans(cvt_rn_x2<kType>(p[2], p[3]));
#pragma unroll
  for (int h = 0; h < kDim / 64; ++h) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t v0 = values.of_key[0][h].element[j], v1 = values.of_key[1][h].element[j];
      const std::uint32_t v8 = values.of_key[2][h].element[j], v9 = values.of_key[3][h].element[j];
      mma_m16n8k16<kType>(state.o[4 * h + j], {lower_pair(v0, v1), upper_pair(v0, v1), lower_pair(v8, v9), upper_pair(v8, v9)},
                          b0, b1);
    }
  }
}

/// Computes the weights of the results of `count` parts for a head, and returns their sum. By one warp.
__device__ inline float weights_of(const float2* found, std::int64_t stride, int count, int lane, float* weights) {
  float greatest = -kInfinity;
  for (int part = lane; part < count; part += kWarp) greatest = fmaxf(greatest, __ldcg(found + part * stride).x);
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    greatest = fmaxf(greatest, __shfl_xor_sync(~0u, greatest, distance));
  }
  float sum = 0;
  for (int part = lane; part < count; part += kWarp) {
    const float2 of_part = __ldcg(found + part * stride);
    weights[part] = ex2_approx_ftz(of_part.x - greatest);
    sum = fmaf(weights[part], of_part.y, sum);
  }
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  return sum;
}

/// The results of a block's warps.
template <int kDim>
struct Merged {
  float2 found[kWarps][kHeads];
  float values[kWarps][kHeads][kDim];
};
/// For the block that finishes last and merges the parts.
struct Last {
  float weights[kHeads][kMostParts];
  float sums[kHeads];
};
template <int kDim>
union Shared {
  Vector q[kDim / 32][kWarp];
  Merged<kDim> merged;
  Last last;
};

/// A block processes one part of the keys for up to kHeads heads that share them; each warp takes every fourth tile. The block
/// that finishes last merges all parts.
template <DataType kType, int kDim>
__global__ void __launch_bounds__(kThreads, kBlocks<kDim>) decode_attention_kernel(Operands operands) {
  __shared__ Shared<kDim> shared;
  __shared__ bool is_last;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp, g = lane / 4, t = lane % 4;
  const Division& division = operands.division;
  const int part = static_cast<int>(blockIdx.y), kv_head = static_cast<int>(blockIdx.x) / division.head_tiles;
  const std::int64_t batch = blockIdx.z, sharer = batch * gridDim.x + blockIdx.x;
  const int group = operands.heads / operands.kv_heads;
  const int first = static_cast<int>(blockIdx.x) % division.head_tiles * kHeads;
  const int heads = group - first < kHeads ? group - first : kHeads;
  // The offset of the block's first head in Q and O.
  const std::int64_t query = ((batch * operands.kv_heads + kv_head) * group + first) * kDim;

  const std::int64_t stride = static_cast<std::int64_t>(operands.kv_heads) * kDim;
  const int begin = part * division.keys_a_part;
  const int end = division.keys_a_part < operands.keys - begin ? begin + division.keys_a_part : operands.keys;
  const auto at = [&](const std::uint16_t* cache, int key) {
    return cache + (batch * operands.keys + key) * stride + kv_head * kDim;
  };

  int key = begin + warp * kTile;
  Keys<kDim> keys;
  Values<kDim> values;
  keys.load(at(operands.k, key), stride, end - key, g, t);
  values.load(at(operands.v, key), stride, end - key, g, t);
  // In the order of the mma fragments: elements 32 i + 8 t of head g. Missing heads are zeros.
  for (int i = warp; i < kDim / 32; i += kWarps) {
    const auto* from = reinterpret_cast<const uint4*>(operands.q + query + g * kDim + 32 * i + 8 * t);
    shared.q[i][lane] = g < heads ? same_bits<Vector>(__ldg(from)) : Vector{};
  }
  __syncthreads();

  State<kDim> state;
  while (key < end) {
    const int left = end - key, next = key + kWarps * kTile;
    float s[4];
    score<kType, kDim>(keys, shared.q, operands.scale, left, lane, s);
    if (next < end) keys.load(at(operands.k, next), stride, end - next, g, t);
    exponentiate(state, s);
    weigh<kType, kDim>(state, values, s);
    if (next < end) values.load(at(operands.v, next), stride, end - next, g, t);
    key = next;
  }

  // Merges the warps' results.
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int distance = 4; distance < kWarp; distance *= 2) state.sum[i] += __shfl_xor_sync(~0u, state.sum[i], distance);
  }
  __syncthreads();
  auto& merged = shared.merged;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int head = 2 * t + i;
    if (g == 0) merged.found[warp][head] = {state.greatest[i], state.sum[i]};
#pragma unroll
    for (int tile = 0; tile < kDim / 16; ++tile) {
      const int element = tile / 4 * 64 + 8 * g + tile % 4 * 2;
      merged.values[warp][head][element] = state.o[tile][i];
      merged.values[warp][head][element + 1] = state.o[tile][i + 2];
    }
  }
  __syncthreads();
  const std::int64_t slot = (sharer * division.parts + part) * kHeads;
  for (int i = thread; i < heads * (kDim / 4); i += kThreads) {
    const int head = i / (kDim / 4), element = i % (kDim / 4) * 4;
    float greatest = -kInfinity;
    for (int w = 0; w < kWarps; ++w) greatest = fmaxf(greatest, merged.found[w][head].x);
    float sum = 0;
    float4 total = {0, 0, 0, 0};
    for (int w = 0; w < kWarps; ++w) {
      const float weight = ex2_approx_ftz(merged.found[w][head].x - greatest);
      const float* value = &merged.values[w][head][element];
      sum = fmaf(weight, merged.found[w][head].y, sum);
      total = {fmaf(weight, value[0], total.x), fmaf(weight, value[1], total.y), fmaf(weight, value[2], total.z),
               fmaf(weight, value[3], total.w)};
    }
    operands.workspace.values[(slot + head) * (kDim / 4) + i % (kDim / 4)] = total;
    if (element == 0) operands.workspace.found[slot + head] = {greatest, sum};
  }

  __threadfence();
  __syncthreads();
  if (thread == 0) {
    const auto last = static_cast<unsigned>(division.parts) - 1;
    is_last = atomicInc(operands.workspace.arrived + sharer, last) == last;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  const int parts = division.parts;
  const std::int64_t first_slot = sharer * parts * kHeads;
  for (int head = warp; head < heads; head += kWarps) {
    const float sum = weights_of(operands.workspace.found + first_slot + head, kHeads, parts, lane, shared.last.weights[head]);
    if (lane == 0) shared.last.sums[head] = sum;
  }
  __syncthreads();
  for (int i = thread; i < heads * (kDim / 4); i += kThreads) {
    const int head = i / (kDim / 4);
    const float4* from = operands.workspace.values + first_slot * (kDim / 4) + i;
    float4 total = {0, 0, 0, 0};
#pragma unroll 8
    for (int p = 0; p < parts; ++p) {
      const float4 value = __ldcg(from + static_cast<std::int64_t>(p) * kHeads * (kDim / 4));
      const float weight = shared.last.weights[head][p];
      total = {fmaf(weight, value.x, total.x), fmaf(weight, value.y, total.y), fmaf(weight, value.z, total.z),
               fmaf(weight, value.w, total.w)};
    }
    const float sum = shared.last.sums[head];
    const uint2 packed = {cvt_rn_x2<kType>(total.x / sum, total.y / sum), cvt_rn_x2<kType>(total.z / sum, total.w / sum)};
    reinterpret_cast<uint2*>(operands.o + query)[i] = packed;
  }
}

std::int64_t head_tiles(const AttentionProblem& p) { return (p.heads / p.kv_heads + kHeads - 1) / kHeads; }
std::int64_t sharers(const AttentionProblem& p) { return p.batch * p.kv_heads * head_tiles(p); }

/// The maximum number of parts on any device.
std::int64_t most_parts(const AttentionProblem& p) {
  return std::clamp<std::int64_t>(std::min<std::int64_t>(kMostBlocks / sharers(p), p.keys / kLeastKeys), 1, kMostParts);
}

/// The smallest number of parts whose blocks nearly fill a whole number of waves; if there is none, the one that comes closest.
Division divide(const AttentionProblem& p, std::int64_t resident) {
  constexpr double kNearlyFull = 0.95;
  const std::int64_t most = most_parts(p);
  const auto fullness = [&](std::int64_t parts) {
    const std::int64_t blocks = parts * sharers(p), waves = (blocks + resident - 1) / resident;
    return static_cast<double>(blocks) / static_cast<double>(waves * resident);
  };
  std::int64_t best = 1;
  for (std::int64_t parts = 2; parts <= most && fullness(best) < kNearlyFull; ++parts) {
    if (fullness(parts) > fullness(best)) best = parts;
  }
  constexpr std::int64_t kStep = kTile * kWarps;
  const std::int64_t keys_a_part = ((p.keys + best - 1) / best + kStep - 1) / kStep * kStep;
  return {static_cast<int>(head_tiles(p)), static_cast<int>((p.keys + keys_a_part - 1) / keys_a_part),
          static_cast<int>(keys_a_part)};
}

/// Byte offsets of the workspace's arrays, and its size.
struct Layout {
  std::size_t found, values, end;

  explicit Layout(const AttentionProblem& p) {
    const auto count = static_cast<std::size_t>(sharers(p)),
               found_count = count * static_cast<std::size_t>(most_parts(p)) * kHeads;
    found = (count * sizeof(unsigned) + 255) / 256 * 256;
    values = found + (found_count * sizeof(float2) + 255) / 256 * 256;
    end = values + found_count * static_cast<std::size_t>(p.head_dim) * sizeof(float);
  }
};

template <DataType kType, int kDim>
void launch_kernel(const AttentionProblem& p, const AttentionArrays& arrays, void* workspace, Stream stream) {
  const Layout layout(p);
  auto* const base = static_cast<std::byte*>(workspace);
  Operands operands;
  operands.q = static_cast<const std::uint16_t*>(arrays.q);
  operands.k = static_cast<const std::uint16_t*>(arrays.k);
  operands.v = static_cast<const std::uint16_t*>(arrays.v);
  operands.o = static_cast<std::uint16_t*>(arrays.o);
  operands.workspace = {static_cast<unsigned*>(workspace), reinterpret_cast<float2*>(base + layout.found),
                        reinterpret_cast<float4*>(base + layout.values)};
  operands.keys = static_cast<int>(p.keys);
  operands.heads = static_cast<int>(p.heads);
  operands.kv_heads = static_cast<int>(p.kv_heads);
  operands.division = divide(p, device_limits().multiprocessors * kBlocks<kDim>);
  operands.scale = std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(kDim));
  const dim3 blocks(static_cast<unsigned>(p.kv_heads * head_tiles(p)), static_cast<unsigned>(operands.division.parts),
                    static_cast<unsigned>(p.batch));
  decode_attention_kernel<kType, kDim><<<blocks, kThreads, 0, stream>>>(operands);
  check(cudaGetLastError());
}

template <DataType kType>
void launch_typed(const AttentionProblem& p, const AttentionArrays& arrays, void* workspace, Stream stream) {
  if (p.head_dim == 64) return launch_kernel<kType, 64>(p, arrays, workspace, stream);
  if (p.head_dim == 128) return launch_kernel<kType, 128>(p, arrays, workspace, stream);
  return launch_kernel<kType, 256>(p, arrays, workspace, stream);
}

bool supports(const AttentionProblem& p) {
  const bool type = p.type == DataType::bf16 || p.type == DataType::fp16;
  const bool head_dim = p.head_dim == 64 || p.head_dim == 128 || p.head_dim == 256;
  // Key indices are ints, even those past the end.
  return type && head_dim && p.queries == 1 && !p.causal && p.keys < (1 << 30) && p.batch < (1 << 16);
}

std::size_t workspace_bytes(const AttentionProblem& p) { return Layout(p).end; }

void launch(const AttentionProblem& p, const AttentionArrays& arrays, void* workspace, Stream stream) {
  if (p.type == DataType::fp16) return launch_typed<DataType::fp16>(p, arrays, workspace, stream);
  return launch_typed<DataType::bf16>(p, arrays, workspace, stream);
}

}  // namespace

const DecodeAttentionKernels decode_attention = {supports, workspace_bytes, launch};

}  // namespace roofmark::cuda
