// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/attention_tiled_wgmma_tiles.cuh"
#include "kernels/cuda/ptx/barrier.cuh"
#include "kernels/cuda/ptx/math.cuh"
#include "kernels/cuda/ptx/mbarrier.cuh"
#include "kernels/cuda/ptx/memory.cuh"
#include "kernels/cuda/ptx/registers.cuh"
#include "kernels/cuda/ptx/tma.cuh"
#include "kernels/cuda/ptx/wgmma.cuh"

// The plan of FlashAttention-3 (arXiv 2407.08608): one producer warpgroup loads, the consumer warpgroups compute. Per block of
// keys and tile of rows, an SM needs 4 x rows x keys x d FLOPs at 4096 per clock, rows x keys exponentials at 16 per clock and
// 4 x keys x d bytes of K and V from L2. Beside them: registers per thread at entry (producer / consumer after setmaxnreg) and
// shared memory, from ptxas 13.0, without spills.
//
//   d    rows x keys  FLOP clocks  exp clocks  bytes per FLOP clock  registers        shared bytes
//   64   192 x 128    1536         1536        21                    128 (32 / 160)   156848
//   128  128 x 128    2048         1024        32                    168 (24 / 240)   230528   causal
//   128  128 x 176    2816         1408        32                    168 (24 / 240)   214112   not causal
//   256  128 x 80     2560         640         32                    168 (24 / 240)   230496
//
// At d 128 and 256 the tensor cores bind if the exponentials overlap with them; at d 64 both bind. A masked probability is 0,
// but 0 x NaN is NaN: a NaN or infinity in V also reaches rows of its own tile from which a causal mask hides it.
namespace roofmark::cuda::tiled_wgmma {

/// Loads rows of one head, slab by slab.
template <int kSlabs, int kLoadBytes>
__device__ void load_rows(std::uint32_t to, const CUtensorMap* map, std::uint32_t full, int head, int row, int batch) {
  mbarrier_arrive_expect_tx(full, kSlabs * kLoadBytes);
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab)
    tma_load_4d(to + slab * kLoadBytes, map, full, slab * kSlabColumns, head, row, batch);
}

/// The producer: one thread issues all loads, in the order in which the consumers use them.
template <class Tiling>
__device__ void produce(SharedLayout<Tiling> shared, const CUtensorMap* q, const CUtensorMap* k, const CUtensorMap* v,
                        const Work& work) {
  PipelineState<Tiling::kStages> k_pipeline, v_pipeline;
  std::uint32_t q_parity = 0;
  prefetch_tensormap(q);
  prefetch_tensormap(k);
  prefetch_tensormap(v);
  for (TileScheduler scheduler; scheduler.tile() < work.tiles; ++scheduler.round) {
    const Tile at = tile_at<Tiling>(work, scheduler.tile());
    const int kv_head = at.head / (work.heads / work.kv_heads);
    const auto load_k = [&](int block) {
      mbarrier_try_wait_parity(shared.k_free(k_pipeline.stage), k_pipeline.parity ^ 1);
      load_rows<Tiling::kSlabs, Tiling::kKeySlabBytes>(shared.k(k_pipeline.stage), k, shared.k_full(k_pipeline.stage), kv_head,
                                                       block * Tiling::kKeys, at.batch);
      k_pipeline.advance();
    };
    const auto load_v = [&](int block) {
      mbarrier_try_wait_parity(shared.v_free(v_pipeline.stage), v_pipeline.parity ^ 1);
      load_rows<Tiling::kSlabs, Tiling::kKeySlabBytes>(shared.v(v_pipeline.stage), v, shared.v_full(v_pipeline.stage), kv_head,
                                                       block * Tiling::kKeys, at.batch);
      v_pipeline.advance();
    };
    if (at.blocks == 0) continue;
    load_k(at.blocks - 1);
    for (int group = 0; group < Tiling::kGroups; ++group) {
      mbarrier_try_wait_parity(shared.q_free(group), q_parity ^ 1);
      load_rows<Tiling::kSlabs, Tiling::kQuerySlabBytes>(shared.q(group), q, shared.q_full(group), at.head,
                                                         at.row + group * kGroupRows, at.batch);
    }
    q_parity ^= 1;
    for (int block = at.blocks - 2; block >= 0; --block) {
      load_k(block);
      load_v(block + 1);
    }
    load_v(0);
  }
}

/// Tells the producer that this warp has read a buffer.
inline __device__ void release(std::uint32_t free) {
  if (threadIdx.x % kWarp == 0) mbarrier_arrive(free);
}

/// The running maximum and sum of a thread's two rows, r and r + 8 of its warp's 16. Sums are over this thread's columns.
struct Softmax {
  // The maximum is updated only when a score exceeds it by more than this. Probabilities then reach 2^8, which costs no
  // precision, and the sums and O are seldom rescaled.
  static constexpr float kSlackLog2 = 8;

  float maximum[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
  float rescale[2] = {1, 1};

  /// Turns scores into probabilities, not yet divided by the row's sum. Returns, the same for a whole warp, whether O must be
  /// multiplied by `rescale`.
  template <int kScores>
  __device__ bool update(float (&s)[kScores], float scale_log2) {
    float now[2] = {maximum[0], maximum[1]}, odd[2] = {maximum[0], maximum[1]};
#pragma unroll
    for (int i = 0; i < kScores; i += 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        now[half] = fmaxf(now[half], s[i + 2 * half]);
        odd[half] = fmaxf(odd[half], s[i + 2 * half + 1]);
      }
    }
    bool exceeds = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      now[half] = fmaxf(now[half], odd[half]);
      now[half] = fmaxf(now[half], __shfl_xor_sync(0xFFFFFFFF, now[half], 1));
      now[half] = fmaxf(now[half], __shfl_xor_sync(0xFFFFFFFF, now[half], 2));
      exceeds |= (now[half] - maximum[half]) * scale_log2 > kSlackLog2;
    }
    const bool rescales = __any_sync(0xFFFFFFFF, exceeds);
    if (rescales) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        rescale[half] = now[half] == maximum[half] ? 1 : ex2_approx_ftz((maximum[half] - now[half]) * scale_log2);
        maximum[half] = now[half];
        sum[half] *= rescale[half];
      }
    }
    // A row that has seen no key yet has only scores of -inf; any finite offset turns them into probabilities of 0.
    const float offset[2] = {maximum[0] == -INFINITY ? 0 : -maximum[0] * scale_log2,
                             maximum[1] == -INFINITY ? 0 : -maximum[1] * scale_log2};
    float odd_sum[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kScores; i += 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& even = s[i + 2 * half];
        float& other = s[i + 2 * half + 1];
        even = ex2_approx_ftz(fmaf(even, scale_log2, offset[half]));
        other = ex2_approx_ftz(fmaf(other, scale_log2, offset[half]));
        sum[half] += even;
        odd_sum[half] += other;
      }
    }
    sum[0] += odd_sum[0];
    sum[1] += odd_sum[1];
    return rescales;
  }
};

/// Sets the scores of keys that a row does not see to -inf; first_key is the block's first key.
template <int kScores>
__device__ void mask(float (&s)[kScores], const int (&visible)[2], int first_key) {
  const int column = first_key + static_cast<int>(threadIdx.x % 4) * 2;
  const int left[2] = {visible[0] - column, visible[1] - column};
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    if (i / 4 * 8 + i % 2 >= left[i % 4 / 2]) s[i] = -INFINITY;
  }
}

/// Probabilities of S = Q K^T as operand A of P V: both fragments hold columns 2c and 2c + 1 side by side.
template <DataType kType, int kScores>
__device__ void round_scores(std::uint32_t (&p)[kScores / 2], const float (&s)[kScores]) {
#pragma unroll
  for (int i = 0; i < kScores / 2; ++i) p[i] = cvt_rn_x2<kType>(s[2 * i], s[2 * i + 1]);
}

template <class Tiling>
__device__ void issue_qk(float (&s)[Tiling::kKeys / 2], std::uint64_t q, std::uint64_t k) {
#pragma unroll
  for (int step = 0; step < Tiling::kDim / kStep; ++step) {
    constexpr int steps_per_slab = kSlabColumns / kStep;
    const int slab = step / steps_per_slab, along = step % steps_per_slab * kStep * 2;
    wgmma_mma_async<Tiling::kType>(s, q + (slab * Tiling::kQuerySlabBytes + along) / 16,
                                   k + (slab * Tiling::kKeySlabBytes + along) / 16, step != 0);
  }
  wgmma_commit_group();
}

template <class Tiling>
__device__ void issue_pv(float (&o)[Tiling::kDim / 2], const std::uint32_t (&p)[Tiling::kKeys / 4], std::uint64_t v) {
#pragma unroll
  for (int step = 0; step < Tiling::kKeys / kStep; ++step) {
    wgmma_mma_async_trans_b<Tiling::kType>(o, p + 4 * step, v + step * kStep * kSlabBytes / 16, 1);
  }
  wgmma_commit_group();
}

/// Stores two rows of O. The four threads of a row exchange pairs of columns until each has 8 adjacent ones, so that a warp's
/// store fills whole sectors.
template <class Tiling>
__device__ void store_rows(const Work& work, const Tile& at, int first_row, const float (&o)[Tiling::kDim / 2],
                           const float (&factor)[2]) {
  const int lane = static_cast<int>(threadIdx.x % 4);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + 8 * half;
    const std::int64_t index = (static_cast<std::int64_t>(at.batch) * work.queries + row) * work.heads + at.head;
    auto* out = static_cast<std::uint16_t*>(work.o) + index * Tiling::kDim + 8 * lane;
#pragma unroll
    for (int columns = 0; columns < Tiling::kDim; columns += 32) {
      std::uint32_t pair[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at_o = columns / 2 + 4 * i + 2 * half;
        pair[i] = cvt_rn_x2<Tiling::kType>(o[at_o] * factor[half], o[at_o + 1] * factor[half]);
      }
      // A 4 x 4 transpose: pair i of lane l becomes pair l of lane i.
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const std::uint32_t received = __shfl_xor_sync(0xFFFFFFFF, lane & 1 ? pair[i] : pair[i + 1], 1);
        if (lane & 1) {
          pair[i] = received;
        } else {
          pair[i + 1] = received;
        }
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const std::uint32_t received = __shfl_xor_sync(0xFFFFFFFF, lane & 2 ? pair[i] : pair[i + 2], 2);
        if (lane & 2) {
          pair[i] = received;
        } else {
          pair[i + 2] = received;
        }
      }
      if (row < work.queries) *reinterpret_cast<uint4*>(out + columns) = make_uint4(pair[0], pair[1], pair[2], pair[3]);
    }
  }
}

/// A consumer warpgroup. The groups pass a token and issue their products in turn: while one group computes its softmax, the
/// tensor cores run the products of another. Within a group, the scores of the next block are in flight before the
/// probabilities of this one are used.
template <class Tiling>
__device__ void consume(SharedLayout<Tiling> shared, const Work& work, int group) {
  constexpr int kTokenThreads = 2 * kGroupThreads;
  const auto take_token = [&] { bar_sync(1 + group, kTokenThreads); };
  const auto pass_token = [&] { bar_arrive(1 + (group + 1) % Tiling::kGroups, kTokenThreads); };
  if (group == Tiling::kGroups - 1) pass_token();

  const int thread = static_cast<int>(threadIdx.x % kGroupThreads);
  const int row_in_tile = group * kGroupRows + thread / kWarp * 16 + thread % kWarp / 4;
  const std::uint64_t q = wgmma_descriptor(shared.q(group));
  const std::uint64_t k = wgmma_descriptor(shared.k(0)), v = wgmma_descriptor(shared.v(0), Tiling::kKeySlabBytes);
  const auto k_at = [&](int stage) { return k + static_cast<std::uint32_t>(stage * Tiling::kStageBytes / 16); };
  const auto v_at = [&](int stage) { return v + static_cast<std::uint32_t>(stage * Tiling::kStageBytes / 16); };
  PipelineState<Tiling::kStages> k_pipeline, v_pipeline;
  std::uint32_t q_parity = 0;

  for (TileScheduler scheduler; scheduler.tile() < work.tiles; ++scheduler.round) {
    const Tile at = tile_at<Tiling>(work, scheduler.tile());
    const int row = at.row + row_in_tile;
    Softmax softmax;
    float o[Tiling::kDim / 2];
#pragma unroll
    for (int i = 0; i < Tiling::kDim / 2; ++i) o[i] = 0;

    if (at.blocks > 0) {
      float s[Tiling::kKeys / 2];
      std::uint32_t p[Tiling::kKeys / 4];
      const int visible[2] = {visible_keys(work, row), visible_keys(work, row + 8)};
      // All rows of the tile see all keys of the blocks before this one.
      const int whole = visible_keys(work, at.row) / Tiling::kKeys;

      mbarrier_try_wait_parity(shared.q_full(group), q_parity);
      q_parity ^= 1;
      mbarrier_try_wait_parity(shared.k_full(k_pipeline.stage), k_pipeline.parity);
      take_token();
      wgmma_fence();
      issue_qk<Tiling>(s, q, k_at(k_pipeline.stage));
      pass_token();
      wgmma_wait_group<0>();
      opaque_all(s);
      release(shared.k_free(k_pipeline.stage));
      k_pipeline.advance();
      if (at.blocks == 1) release(shared.q_free(group));
      if (at.blocks - 1 >= whole) mask(s, visible, (at.blocks - 1) * Tiling::kKeys);
      softmax.update(s, work.scale_log2);
      if (at.blocks > 1) mbarrier_try_wait_parity(shared.k_full(k_pipeline.stage), k_pipeline.parity);
      round_scores<Tiling::kType>(p, s);

#pragma unroll 1
      for (int block = at.blocks - 2; block >= 0; --block) {
        take_token();
        wgmma_fence();
        issue_qk<Tiling>(s, q, k_at(k_pipeline.stage));
        mbarrier_try_wait_parity(shared.v_full(v_pipeline.stage), v_pipeline.parity);
        wgmma_fence();
        issue_pv<Tiling>(o, p, v_at(v_pipeline.stage));
        pass_token();
        wgmma_wait_group<1>();
        opaque_all(s);
        release(shared.k_free(k_pipeline.stage));
        k_pipeline.advance();
        if (block == 0) release(shared.q_free(group));
        if (block >= whole) mask(s, visible, block * Tiling::kKeys);
        const bool rescales = softmax.update(s, work.scale_log2);
        // The sums are not negative: this is the parity. That it depends on them keeps ptxas from moving the exponentials
        // behind the wait for PV.
        const std::uint32_t parity = k_pipeline.parity ^ (softmax.sum[0] + softmax.sum[1] < 0 ? 1 : 0);
        if (block > 0) mbarrier_try_wait_parity(shared.k_full(k_pipeline.stage), parity);
        wgmma_wait_group<0>();
        opaque_all(o);
        opaque_all(s);
        release(shared.v_free(v_pipeline.stage));
        v_pipeline.advance();
        if (rescales) {
#pragma unroll
          for (int i = 0; i < Tiling::kDim / 2; ++i) o[i] *= softmax.rescale[i % 4 / 2];
        }
        round_scores<Tiling::kType>(p, s);
      }

      mbarrier_try_wait_parity(shared.v_full(v_pipeline.stage), v_pipeline.parity);
      wgmma_fence();
      issue_pv<Tiling>(o, p, v_at(v_pipeline.stage));
      wgmma_wait_group<0>();
      opaque_all(o);
      release(shared.v_free(v_pipeline.stage));
      v_pipeline.advance();
    }

    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = softmax.sum[half];
      sum += __shfl_xor_sync(0xFFFFFFFF, sum, 1);
      sum += __shfl_xor_sync(0xFFFFFFFF, sum, 2);
      factor[half] = sum == 0 ? 0 : 1 / sum;  // a row that sees no key
    }
    store_rows<Tiling>(work, at, row, o, factor);
  }
  if (group == 0) take_token();
}

/// Empty unless compiled for sm_90a: wgmma exists nowhere else.
template <class Tiling>
__global__ void __launch_bounds__(Tiling::kThreads, 1)
    attention_tiled_wgmma_kernel(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
                                 const __grid_constant__ CUtensorMap v, const __grid_constant__ Work work) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char dynamic[];
  const std::uint32_t address = shared_address(dynamic);
  const SharedLayout<Tiling> shared{(address + kSwizzleAtomBytes - 1) / kSwizzleAtomBytes * kSwizzleAtomBytes};
  if (threadIdx.x == 0) {
    for (int group = 0; group < Tiling::kGroups; ++group) {
      mbarrier_init(shared.q_full(group), 1);
      mbarrier_init(shared.q_free(group), kGroupWarps);
    }
    for (int stage = 0; stage < Tiling::kStages; ++stage) {
      mbarrier_init(shared.k_full(stage), 1);
      mbarrier_init(shared.v_full(stage), 1);
      mbarrier_init(shared.k_free(stage), Tiling::kGroups * kGroupWarps);
      mbarrier_init(shared.v_free(stage), Tiling::kGroups * kGroupWarps);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  // From lane 0, so that the compiler knows that it is the same for a whole warp.
  const int warpgroup = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (warpgroup == 0) {
    setmaxnreg_dec<Tiling::kProducerRegisters>();
    if (threadIdx.x == 0) produce<Tiling>(shared, &q, &k, &v, work);
  } else {
    setmaxnreg_inc<Tiling::kConsumerRegisters>();
    consume<Tiling>(shared, work, warpgroup - 1);
  }
#endif
}

}  // namespace roofmark::cuda::tiled_wgmma
