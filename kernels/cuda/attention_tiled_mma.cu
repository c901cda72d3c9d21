// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/attention.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ptx/cp_async.cuh"
#include "kernels/cuda/ptx/math.cuh"
#include "kernels/cuda/ptx/memory.cuh"
#include "kernels/cuda/ptx/mma.cuh"
#include "kernels/cuda/ptx/registers.cuh"

namespace roofmark::cuda {

namespace {

struct Arguments {
  const std::uint16_t* q;
  const std::uint16_t* k;
  const std::uint16_t* v;
  std::uint16_t* o;
  int batches, heads, kv_heads, queries, keys;
  bool causal;
  float scale;  ///< of the scores, with log2(e)
};

/// Tile sizes. A warp has kTall x 16 queries, which share what it reads of K and V. A block keeps its queries and a ring of
/// kSlots blocks of kKeys keys or values in shared memory; kBlocks blocks run on an SM.
template <DataType kType_, int kDim_, int kWarps_, int kTall_, int kKeys_, int kSlots_, int kBlocks_, bool kQueriesInRegisters_>
struct Tiling {
  static constexpr DataType kType = kType_;
  static constexpr int kDim = kDim_, kWarps = kWarps_, kTall = kTall_, kKeys = kKeys_, kSlots = kSlots_, kBlocks = kBlocks_;
  static constexpr bool kQueriesInRegisters = kQueriesInRegisters_;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kQueries = 16 * kTall * kWarps;
  static constexpr int kRowBytes = 2 * kDim;
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr int kQueryBytes = kQueries * kRowBytes, kSlotBytes = kKeys * kRowBytes;
  static constexpr int kSharedBytes = kQueryBytes + kSlots * kSlotBytes;
};

/// The offset of a row's 16-byte chunk, swizzled: rows that ldmatrix reads together differ in their last three bits, so their
/// chunks are in different banks.
template <class T>
__device__ int chunk_offset(int row, int chunk) {
  return row * T::kRowBytes + (chunk ^ (row & 7)) * 16;
}

/// Starts to copy kRows rows; those after the first `there` (at least one) become zeros.
template <class T, int kRows>
__device__ void copy_rows(std::uint32_t to, const std::uint16_t* from, int stride, int there) {
  constexpr int kStep = T::kThreads / T::kChunks;
  static_assert(T::kThreads % T::kChunks == 0 && kStep % 8 == 0 && kRows % kStep == 0);
  const int row = static_cast<int>(threadIdx.x) / T::kChunks, chunk = static_cast<int>(threadIdx.x) % T::kChunks;
  const std::uint32_t first = to + chunk_offset<T>(row, chunk);
  const std::uint16_t* const column = from + 8 * chunk;
  // Not unrolled completely: the addresses would take registers that the products need.
#pragma unroll 4
  for (int step = 0; step < kRows; step += kStep) {
    const bool is_there = row + step < there;
    cp_async_cg_16(first + step * T::kRowBytes, column + std::int64_t{is_there ? row + step : 0} * stride, is_there);
  }
}

/// The address that this lane passes to ldmatrix for four 8 x 8 matrices, the first 16 rows and columns of the tile (aligned to
/// 128 bytes): down and then right for Q and V, right and then down for K. This yields A's four registers in order, and B's,
/// K's rows or V's columns, in pairs.
template <class T>
__device__ std::uint32_t matrices_down(std::uint32_t tile) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return tile + chunk_offset<T>(lane % 16, lane / 16);
}
template <class T>
__device__ std::uint32_t matrices_right(std::uint32_t tile) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return tile + chunk_offset<T>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
}
/// The same for `row`, a multiple of 16, and column 16 d.
template <class T>
__device__ std::uint32_t matrices_at(std::uint32_t first, int row, int d) {
  return (first ^ 2 * d % 8 * 16) + 2 * d / 8 * 128 + row * T::kRowBytes;
}

/// The block's queries, all of one head, and the keys that they see.
template <class T>
struct Place {
  std::int64_t query_offset, key_offset;  ///< of the first query and key in the arrays, in elements
  int queries;
  int keys, seen_by_first, more_by_each;

  // Causal: a block's work grows with its index, so the longest blocks of all heads run first. Otherwise the blocks of a head
  // run together and find its keys in L2.
  __device__ Place(const Arguments& a, int nth) {
    const int places = (a.queries + T::kQueries - 1) / T::kQueries, head_batches = a.batches * a.heads;
    const int first = T::kQueries * (a.causal ? places - 1 - nth / head_batches : nth % places);
    const int head_batch = a.causal ? nth % head_batches : nth / places;
    const int batch = head_batch / a.heads, head = head_batch % a.heads, kv_head = head / (a.heads / a.kv_heads);
    query_offset = ((std::int64_t{batch} * a.queries + first) * a.heads + head) * T::kDim;
    key_offset = (std::int64_t{batch} * a.keys * a.kv_heads + kv_head) * T::kDim;
    queries = min(T::kQueries, a.queries - first);
    keys = a.keys;
    seen_by_first = a.causal ? first + 1 + a.keys - a.queries : a.keys;
    more_by_each = a.causal ? 1 : 0;
  }

  /// The number of keys that a query of the block sees.
  __device__ int visible(int query) const { return max(0, min(keys, seen_by_first + more_by_each * query)); }
};

template <class T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks) attention_mma_kernel(Arguments arguments) {
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr int kTall = T::kTall, kKeys = T::kKeys, kDim = T::kDim, kSlots = T::kSlots;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;

  const Place<T> place(arguments, ctaid_x());
  const int key_stride = kDim * arguments.kv_heads;
  const std::uint16_t* const k = arguments.k + place.key_offset;
  const std::uint16_t* const v = arguments.v + place.key_offset;
  const int blocks = (place.visible(place.queries - 1) + kKeys - 1) / kKeys, unmasked = place.visible(0) / kKeys;

  // The ring holds K and V of the blocks alternately. Every turn commits one group of copies, an empty one after the last
  // block, so that the number of groups is known.
  const std::uint32_t query_tile = shared_address(shared), ring = query_tile + T::kQueryBytes;
  const auto slot = [&](int turn) { return ring + turn % kSlots * T::kSlotBytes; };
  const auto copy_turn = [&](int turn) {
    const int begin = turn / 2 * kKeys;
    if (turn < 2 * blocks) {
      copy_rows<T, kKeys>(slot(turn), (turn % 2 ? v : k) + std::int64_t{begin} * key_stride, key_stride,
                          arguments.keys - begin);
    }
    cp_async_commit_group();
  };
  // Turn + kSlots - 1 overwrites the slot of the previous turn, which all threads have finished.
  const auto begin_turn = [&](int turn) {
    cp_async_wait_group<kSlots - 2>();
    __syncthreads();
    copy_turn(turn + kSlots - 1);
  };

  copy_rows<T, T::kQueries>(query_tile, arguments.q + place.query_offset, kDim * arguments.heads, place.queries);
#pragma unroll
  for (int turn = 0; turn < kSlots - 1; ++turn) copy_turn(turn);

  const int warp_row = warp * 16 * kTall;
  const std::uint32_t q_rows = matrices_down<T>(query_tile + warp_row * T::kRowBytes);
  float o[kTall][kDim / 8][4] = {};
  // What is subtracted from the scaled scores of this lane's rows (lane / 4 and lane / 4 + 8 of every 16), and the sum over
  // this lane's columns.
  float base[kTall][2], sum[kTall][2] = {};
#pragma unroll
  for (int t = 0; t < kTall; ++t) base[t][0] = base[t][1] = -kInfinity;
  std::uint32_t kept[T::kQueriesInRegisters ? kTall : 1][T::kQueriesInRegisters ? kDim / 16 : 1][4];

#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    begin_turn(2 * block);
    if constexpr (T::kQueriesInRegisters) {
      if (block == 0) {
#pragma unroll
        for (int t = 0; t < kTall; ++t) {
#pragma unroll
          for (int d = 0; d < kDim / 16; ++d) ldmatrix_x4(kept[t][d], matrices_at<T>(q_rows, 16 * t, d));
        }
      }
    }
    float s[kTall][kKeys / 8][4] = {};
    const std::uint32_t k_rows = matrices_right<T>(slot(2 * block));
#pragma unroll
    for (int d = 0; d < kDim / 16; ++d) {
      std::uint32_t q[kTall][4];
#pragma unroll
      for (int t = 0; t < kTall; ++t) {
        if constexpr (T::kQueriesInRegisters) {
#pragma unroll
          for (int i = 0; i < 4; ++i) q[t][i] = kept[t][d][i];
        } else {
          ldmatrix_x4(q[t], matrices_at<T>(q_rows, 16 * t, d));
        }
      }
#pragma unroll
      for (int n = 0; n < kKeys / 16; ++n) {
        std::uint32_t b[4];
        ldmatrix_x4(b, matrices_at<T>(k_rows, 16 * n, d));
#pragma unroll
        for (int t = 0; t < kTall; ++t) {
          mma_m16n8k16<T::kType>(s[t][2 * n], q[t], b[0], b[1]);
          mma_m16n8k16<T::kType>(s[t][2 * n + 1], q[t], b[2], b[3]);
        }
      }
    }

    begin_turn(2 * block + 1);
    if (block >= unmasked) {
      const Place<T> edge(arguments, ctaid_x());
#pragma unroll
      for (int t = 0; t < kTall; ++t) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int seen = edge.visible(warp_row + 16 * t + 8 * r + lane / 4) - block * kKeys - 2 * (lane % 4);
#pragma unroll
          for (int n = 0; n < kKeys / 8; ++n) {
            if (8 * n >= seen) s[t][n][2 * r] = -kInfinity;
            if (8 * n + 1 >= seen) s[t][n][2 * r + 1] = -kInfinity;
          }
        }
      }
    }

    // The exponents are the scores minus a base, which need not be their maximum: while they stay below kRoom, the sums are not
    // rescaled. (2^kRoom is in the range of fp16, and its sums are in that of fp32.)
    constexpr float kRoom = 8;
    float greatest[kTall][2];
    bool exceeds = false;
#pragma unroll
    for (int t = 0; t < kTall; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float most = s[t][0][2 * r];
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) most = fmaxf(most, fmaxf(s[t][n][2 * r], s[t][n][2 * r + 1]));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        greatest[t][r] = most * arguments.scale;
        exceeds = exceeds || greatest[t][r] - base[t][r] > kRoom;
      }
    }
    if (__any_sync(~0u, exceeds)) {
#pragma unroll
      for (int t = 0; t < kTall; ++t) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float raised = fmaxf(base[t][r], greatest[t][r]);
          // In a row that has seen no key yet both are -inf.
          const float shrink = ex2_approx_ftz(raised == -kInfinity ? 0 : base[t][r] - raised);
          base[t][r] = raised;
          sum[t][r] *= shrink;
#pragma unroll
          for (int n = 0; n < kDim / 8; ++n) {
            o[t][n][2 * r] *= shrink;
            o[t][n][2 * r + 1] *= shrink;
          }
        }
      }
    }

    const std::uint32_t v_rows = matrices_down<T>(slot(2 * block + 1));
#pragma unroll
    for (int n = 0; n < kKeys / 16; ++n) {
      std::uint32_t p[kTall][4];
#pragma unroll
      for (int t = 0; t < kTall; ++t) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float origin = base[t][r] == -kInfinity ? 0 : base[t][r];
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const float low = ex2_approx_ftz(fmaf(s[t][2 * n + half][2 * r], arguments.scale, -origin));
            const float high = ex2_approx_ftz(fmaf(s[t][2 * n + half][2 * r + 1], arguments.scale, -origin));
            sum[t][r] += low + high;
            p[t][2 * half + r] = cvt_rn_x2<T::kType>(low, high);
          }
        }
      }
#pragma unroll
      for (int d = 0; d < kDim / 16; ++d) {
        std::uint32_t b[4];
        ldmatrix_x4_trans(b, matrices_at<T>(v_rows, 16 * n, d));
#pragma unroll
        for (int t = 0; t < kTall; ++t) {
          mma_m16n8k16<T::kType>(o[t][2 * d], p[t], b[0], b[1]);
          mma_m16n8k16<T::kType>(o[t][2 * d + 1], p[t], b[2], b[3]);
        }
      }
    }
  }

  // The output is stored in whole rows by way of the warp's queries in shared memory, after their copies have completed.
  cp_async_wait_group<0>();
  __syncthreads();
  const Place<T> out(arguments, ctaid_x());
#pragma unroll
  for (int t = 0; t < kTall; ++t) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + 16 * t + 8 * r + lane / 4;
      float total = sum[t][r];
      total += __shfl_xor_sync(~0u, total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      const float inverse = out.visible(row) > 0 ? 1 / total : 0;
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n) {
        *reinterpret_cast<std::uint32_t*>(shared + chunk_offset<T>(row, n) + 4 * (lane % 4)) =
            cvt_rn_x2<T::kType>(o[t][n][2 * r] * inverse, o[t][n][2 * r + 1] * inverse);
      }
    }
  }
  __syncwarp();
  for (int i = lane; i < 16 * kTall * T::kChunks; i += 32) {
    const int row = warp_row + i / T::kChunks, chunk = i % T::kChunks;
    if (row >= out.queries) break;
    *reinterpret_cast<uint4*>(arguments.o + out.query_offset + std::int64_t{row} * kDim * arguments.heads + 8 * chunk) =
        *reinterpret_cast<const uint4*>(shared + chunk_offset<T>(row, chunk));
  }
}

template <class T>
void launch_tiling(const Arguments& arguments, Stream stream) {
  const std::int64_t blocks =
      std::int64_t{(arguments.queries + T::kQueries - 1) / T::kQueries} * arguments.batches * arguments.heads;
  check(cudaFuncSetAttribute(attention_mma_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::kSharedBytes));
  attention_mma_kernel<T><<<static_cast<unsigned>(blocks), T::kThreads, T::kSharedBytes, stream>>>(arguments);
  check(cudaGetLastError());
}

struct Choice {
  void (*launch)(const Arguments&, Stream);
  int queries, keys, slots;
  std::size_t shared_bytes;
};

template <class T>
constexpr Choice choice() {
  return {launch_tiling<T>, T::kQueries, T::kKeys, T::kSlots, T::kSharedBytes};
}

// Two blocks per SM, so that the softmax of one runs beside the products of the other. 32 queries per warp, so that one
// ldmatrix feeds four products; at head dimension 256 their accumulators would not fit into the registers. The first choices
// need more than the 99 KB of compute capability 8.6, 8.9 and 12.0.
template <DataType kType>
Choice choose(std::int64_t head_dim, std::size_t room) {
  using Dim128 = Tiling<kType, 128, 4, 2, 64, 3, 2, false>;
  using Dim256 = Tiling<kType, 256, 8, 1, 64, 3, 1, false>;
  if (head_dim == 64) return choice<Tiling<kType, 64, 4, 2, 64, 3, 2, true>>();
  if (head_dim == 128) {
    return room >= 2 * (Dim128::kSharedBytes + 1024) ? choice<Dim128>() : choice<Tiling<kType, 128, 4, 2, 32, 2, 2, false>>();
  }
  return room >= Dim256::kSharedBytes ? choice<Dim256>() : choice<Tiling<kType, 256, 8, 1, 32, 2, 1, false>>();
}

class MmaPlan final : public AttentionPlan {
 public:
  explicit MmaPlan(const AttentionProblem& problem) : problem_(problem) {
    if (problem.type != DataType::fp16 && problem.type != DataType::bf16) {
      throw Unsupported("tiled_mma attention supports fp16 and bf16, not " + std::string(name(problem.type)));
    }
    if (problem.head_dim != 64 && problem.head_dim != 128 && problem.head_dim != 256) {
      throw Unsupported("a head dimension that is not 64, 128 or 256");
    }
    constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
    if (problem.queries > kMost || problem.keys > kMost || problem.batch * problem.heads > kMost / (problem.queries / 64 + 1)) {
      throw Unsupported("a length or a number of heads beyond 32-bit indices");
    }
    const auto room = static_cast<std::size_t>(device_limits().shared_bytes_per_block);
    choice_ = problem.type == DataType::fp16 ? choose<DataType::fp16>(problem.head_dim, room)
                                             : choose<DataType::bf16>(problem.head_dim, room);
  }

  std::size_t workspace_bytes() const override { return 0; }

  void launch(const AttentionArrays& arrays, void* /*workspace*/, Stream stream) const override {
    const AttentionProblem& p = problem_;
    choice_.launch(
        {static_cast<const std::uint16_t*>(arrays.q), static_cast<const std::uint16_t*>(arrays.k),
         static_cast<const std::uint16_t*>(arrays.v), static_cast<std::uint16_t*>(arrays.o), static_cast<int>(p.batch),
         static_cast<int>(p.heads), static_cast<int>(p.kv_heads), static_cast<int>(p.queries), static_cast<int>(p.keys),
         p.causal, std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(p.head_dim))},
        stream);
  }

  std::string algorithm() const override {
    return std::to_string(choice_.queries) + " queries x " + std::to_string(choice_.keys) + " keys, " +
           std::to_string(choice_.slots) + " slots, " + std::to_string(choice_.shared_bytes) + " bytes of shared memory";
  }

 private:
  AttentionProblem problem_;
  Choice choice_;
};

std::unique_ptr<AttentionPlan> plan(const AttentionProblem& problem) { return std::make_unique<MmaPlan>(problem); }

}  // namespace

const AttentionKernels attention_tiled_mma = {"tiled_mma", plan};

}  // namespace roofmark::cuda
