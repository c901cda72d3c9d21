// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cudaTypedefs.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/ptx/hopper.cuh"

// At global scope, where argument-dependent look-up finds it. The driver's own text would need a link to the driver.
static roofmark::StatusText describe_status(CUresult status) {
  if (status == CUDA_SUCCESS) return {};
  return {false, false, "CUDA driver error " + std::to_string(static_cast<int>(status))};
}

namespace roofmark::cuda {

// FlashAttention-3's plan (arXiv 2407.08608): one warpgroup feeds, the others compute. What a block of keys costs an SM, for
// all rows of a tile: 4 rows x keys x d FLOPs at 4096 a clock, rows x keys exponentials at 16 a clock, 4 keys x d bytes of K
// and V out of L2; and what ptxas 13.0 makes of it, without spills: registers at entry (feeder / compute groups), shared
// memory.
//
//   d    rows x keys  FLOP clocks  exp clocks  bytes a FLOP clock  registers        shared bytes
//   64   192 x 128    1536         1536        21                  128 (32 / 160)   156848
//   128  128 x 128    2048         1024        32                  168 (24 / 240)   230528   causal
//   128  128 x 176    2816         1408        32                  168 (24 / 240)   214112   not causal
//   256  128 x 80     2560         640         32                  168 (24 / 240)   230496
//
// Tensor cores bind at 128 and 256 if the exponentials hide under them; at 64 both bind. A masked probability is 0, but 0 x NaN
// is NaN: a NaN or infinity in V also reaches the rows of its own tile that a causal mask hides it from.

// Not unnamed: in builds for other architectures nothing refers to most of it.
namespace tiled_wgmma {

using namespace hopper;

inline constexpr int kWarp = 32;
inline constexpr int kGroupThreads = 128;
inline constexpr int kGroupWarps = kGroupThreads / kWarp;
inline constexpr int kGroupRows = 64;  // of Q, which one product takes
inline constexpr int kStep = 16;       // of k, which one product takes
inline constexpr int kSlabBytes = 128;
inline constexpr int kSlabColumns =
    kSlabBytes / 2;  // a row of the swizzle; wider rows of Q, K and V are slabs, one after the other
inline constexpr int kBarrierBytes = 8;

/// Tile sizes: a block has kGroups warpgroups of 64 queries each, and one that feeds them K and V, kKeys keys a stage.
template <DataType kTypeOf, int kDimOf, int kKeysOf, int kGroupsOf, int kStagesOf>
struct Tiling {
  static constexpr DataType kType = kTypeOf;
  static constexpr int kDim = kDimOf, kKeys = kKeysOf, kGroups = kGroupsOf, kStages = kStagesOf;
  static constexpr int kRows = kGroups * kGroupRows;
  static constexpr int kThreads = (kGroups + 1) * kGroupThreads;
  // 65536 registers an SM, in portions of 8 a thread: what the group that copies does without, the others take.
  static constexpr int kFeederRegisters = kGroups == 2 ? 24 : 32;
  static constexpr int kGroupRegisters = kGroups == 2 ? 240 : 160;

  static constexpr int kSlabs = kDim / kSlabColumns;
  static constexpr int kQuerySlabBytes = kGroupRows * kSlabBytes, kKeySlabBytes = kKeys * kSlabBytes;
  static constexpr int kQueryBytes = kSlabs * kQuerySlabBytes, kStageBytes = kSlabs * kKeySlabBytes;
  static constexpr int kKeyOffset = kGroups * kQueryBytes;
  static constexpr int kValueOffset = kKeyOffset + kStages * kStageBytes;
  static constexpr int kBarrierOffset = kValueOffset + kStages * kStageBytes;
  static constexpr int kBarriers = 2 * kGroups + 4 * kStages;
  static constexpr int kSharedBytes = kBarrierOffset + kBarriers * kBarrierBytes + kSwizzleAtomBytes;
  static_assert(kSharedBytes <= 232448 && kQuerySlabBytes % kSwizzleAtomBytes == 0 && kKeySlabBytes % kSwizzleAtomBytes == 0);
};

/// What a launch is about, and the order of its tiles.
struct Work {
  void* o;
  float scale_log2;  // scale / ln 2: the softmax is taken in powers of 2
  int queries, keys, heads, kv_heads;
  bool causal;
  int tiles, tiles_a_head, heads_a_turn, turns;
};

/// One tile: rows of Q of one head, and the keys that they see, in blocks.
struct Place {
  int batch, head, row;  // the tile's first row
  int blocks;            // of keys, up to the last that its last row sees
};

/// How many keys query `row` sees.
inline __device__ int visible_keys(const Work& work, int row) {
  return work.causal ? max(0, min(work.keys, row + 1 + work.keys - work.queries)) : work.keys;
}

/// The i-th tile of this block. Heads take turns, as many at a time as L2 can hold the K and V of; in a turn all have the same
/// number of tiles left. Under a causal mask, tiles differ in length: they go from the longest to the shortest in the last turn
/// and every second one before, the other way in the rest, and blocks take them from left to right and from right to left by
/// turns, so that every block has the same work to within a fraction of its last tile.
template <class Tiling>
__device__ Place place(const Work& work, int tile) {
  const int turn_tiles = work.heads_a_turn * work.tiles_a_head;
  const int turn = tile / turn_tiles, within = tile - turn * turn_tiles;
  const int all_heads = work.tiles / work.tiles_a_head;
  const int first = turn * work.heads_a_turn, heads = min(work.heads_a_turn, all_heads - first);
  const int level = within / heads, head = first + within - level * heads;
  const bool longest_first = (work.turns - 1 - turn) % 2 == 0;
  Place at;
  at.batch = head / work.heads;
  at.head = head - at.batch * work.heads;
  at.row = (longest_first ? work.tiles_a_head - 1 - level : level) * Tiling::kRows;
  at.blocks = (visible_keys(work, min(at.row + Tiling::kRows, work.queries) - 1) + Tiling::kKeys - 1) / Tiling::kKeys;
  return at;
}

/// A block's tiles, one after the other: every second row of the grid is dealt backwards.
struct Deal {
  int row = 0;
  __device__ int tile() const {
    const int column = static_cast<int>(row % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x);
    return row * static_cast<int>(gridDim.x) + column;
  }
};

/// The stage that is next in a ring of buffers, and the parity of its use.
template <int kStages>
struct Ring {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Where things stand in shared memory.
template <class Tiling>
struct Layout {
  std::uint32_t start;
  __device__ std::uint32_t q(int group) const { return start + group * Tiling::kQueryBytes; }
  __device__ std::uint32_t k(int stage) const { return start + Tiling::kKeyOffset + stage * Tiling::kStageBytes; }
  __device__ std::uint32_t v(int stage) const { return start + Tiling::kValueOffset + stage * Tiling::kStageBytes; }
  __device__ std::uint32_t q_full(int group) const { return barrier(group); }
  __device__ std::uint32_t q_free(int group) const { return barrier(Tiling::kGroups + group); }
  __device__ std::uint32_t k_full(int stage) const { return barrier(2 * Tiling::kGroups + stage); }
  __device__ std::uint32_t k_free(int stage) const { return barrier(2 * Tiling::kGroups + Tiling::kStages + stage); }
  __device__ std::uint32_t v_full(int stage) const { return barrier(2 * Tiling::kGroups + 2 * Tiling::kStages + stage); }
  __device__ std::uint32_t v_free(int stage) const { return barrier(2 * Tiling::kGroups + 3 * Tiling::kStages + stage); }

 private:
  __device__ std::uint32_t barrier(int i) const { return start + Tiling::kBarrierOffset + i * kBarrierBytes; }
};

/// Rows of one head, slab by slab.
template <int kSlabs, int kLoadBytes>
__device__ void load_rows(std::uint32_t to, const CUtensorMap* map, std::uint32_t full, int head, int row, int batch) {
  arrive_expecting(full, kSlabs * kLoadBytes);
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab) load_box(to + slab * kLoadBytes, map, full, slab * kSlabColumns, head, row, batch);
}

/// One thread asks for all that the others compute with, in the order in which they use it.
template <class Tiling>
__device__ void feed(Layout<Tiling> shared, const CUtensorMap* q, const CUtensorMap* k, const CUtensorMap* v,
                     const Work& work) {
  Ring<Tiling::kStages> k_ring, v_ring;
  std::uint32_t q_parity = 0;
  prefetch_map(q);
  prefetch_map(k);
  prefetch_map(v);
  for (Deal deal; deal.tile() < work.tiles; ++deal.row) {
    const Place at = place<Tiling>(work, deal.tile());
    const int kv_head = at.head / (work.heads / work.kv_heads);
    const auto load_k = [&](int block) {
      wait(shared.k_free(k_ring.stage), k_ring.parity ^ 1);
      load_rows<Tiling::kSlabs, Tiling::kKeySlabBytes>(shared.k(k_ring.stage), k, shared.k_full(k_ring.stage), kv_head,
                                                       block * Tiling::kKeys, at.batch);
      k_ring.advance();
    };
    const auto load_v = [&](int block) {
      wait(shared.v_free(v_ring.stage), v_ring.parity ^ 1);
      load_rows<Tiling::kSlabs, Tiling::kKeySlabBytes>(shared.v(v_ring.stage), v, shared.v_full(v_ring.stage), kv_head,
                                                       block * Tiling::kKeys, at.batch);
      v_ring.advance();
    };
    if (at.blocks == 0) continue;
    load_k(at.blocks - 1);
    for (int group = 0; group < Tiling::kGroups; ++group) {
      wait(shared.q_free(group), q_parity ^ 1);
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

/// Tells the feeder that this warp has read a buffer.
inline __device__ void release(std::uint32_t free) {
  if (threadIdx.x % kWarp == 0) arrive(free);
}

/// The running maximum and sum of a thread's two rows, r and r + 8 of its warp's 16; sums are of this thread's columns.
struct Softmax {
  // An old maximum is kept until a score exceeds it by this much: probabilities then reach 2^8, which costs no precision, and
  // the sums and O are seldom scaled again.
  static constexpr float kSlackLog2 = 8;

  float top[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
  float rescale[2] = {1, 1};

  /// Scores become probabilities x 2^(something that the rows' sums share). Returns, to all of a warp, whether what was summed
  /// before is to be multiplied by `rescale`.
  template <int kScores>
  __device__ bool update(float (&s)[kScores], float scale_log2) {
    float now[2] = {top[0], top[1]}, odd[2] = {top[0], top[1]};
#pragma unroll
    for (int i = 0; i < kScores; i += 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        now[half] = fmaxf(now[half], s[i + 2 * half]);
        odd[half] = fmaxf(odd[half], s[i + 2 * half + 1]);
      }
    }
    bool rises = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      now[half] = fmaxf(now[half], odd[half]);
      now[half] = fmaxf(now[half], __shfl_xor_sync(0xFFFFFFFF, now[half], 1));
      now[half] = fmaxf(now[half], __shfl_xor_sync(0xFFFFFFFF, now[half], 2));
      rises |= (now[half] - top[half]) * scale_log2 > kSlackLog2;
    }
    const bool changes = __any_sync(0xFFFFFFFF, rises);
    if (changes) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        rescale[half] = now[half] == top[half] ? 1 : exp2_approximate((top[half] - now[half]) * scale_log2);
        top[half] = now[half];
        sum[half] *= rescale[half];
      }
    }
    // A row that has seen no key yet has only scores of -inf, which any finite offset makes 0.
    const float offset[2] = {top[0] == -INFINITY ? 0 : -top[0] * scale_log2, top[1] == -INFINITY ? 0 : -top[1] * scale_log2};
    float odd_sum[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kScores; i += 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& even = s[i + 2 * half];
        float& other = s[i + 2 * half + 1];
        even = exp2_approximate(fmaf(even, scale_log2, offset[half]));
        other = exp2_approximate(fmaf(other, scale_log2, offset[half]));
        sum[half] += even;
        odd_sum[half] += other;
      }
    }
    sum[0] += odd_sum[0];
    sum[1] += odd_sum[1];
    return changes;
  }
};

/// -inf for the keys that a row does not see; first_key is the block's.
template <int kScores>
__device__ void mask(float (&s)[kScores], const int (&visible)[2], int first_key) {
  const int column = first_key + static_cast<int>(threadIdx.x % 4) * 2;
  const int left[2] = {visible[0] - column, visible[1] - column};
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    if (i / 4 * 8 + i % 2 >= left[i % 4 / 2]) s[i] = -INFINITY;
  }
}

/// A product's result in registers is what the next takes as its A: columns 2c and 2c + 1 are neighbours in both.
template <DataType kType, int kScores>
__device__ void pack_scores(std::uint32_t (&p)[kScores / 2], const float (&s)[kScores]) {
#pragma unroll
  for (int i = 0; i < kScores / 2; ++i) p[i] = pack<kType>(s[2 * i], s[2 * i + 1]);
}

template <int kCount>
__device__ void settle_all(float (&r)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) settle(r[i]);
}

template <class Tiling>
__device__ void issue_qk(float (&s)[Tiling::kKeys / 2], std::uint64_t q, std::uint64_t k) {
#pragma unroll
  for (int step = 0; step < Tiling::kDim / kStep; ++step) {
    constexpr int steps_a_slab = kSlabColumns / kStep;
    const int slab = step / steps_a_slab, along = step % steps_a_slab * kStep * 2;
    Product<Tiling::kType, Tiling::kKeys>::multiply(s, q + (slab * Tiling::kQuerySlabBytes + along) / 16,
                                                    k + (slab * Tiling::kKeySlabBytes + along) / 16, step != 0);
  }
  commit_products();
}

template <class Tiling>
__device__ void issue_pv(float (&o)[Tiling::kDim / 2], const std::uint32_t (&p)[Tiling::kKeys / 4], std::uint64_t v) {
#pragma unroll
  for (int step = 0; step < Tiling::kKeys / kStep; ++step) {
    Product<Tiling::kType, Tiling::kDim>::multiply_transposed(o, p + 4 * step, v + step * kStep * kSlabBytes / 16, 1);
  }
  commit_products();
}

/// Two rows of O. The four threads of a row exchange pairs of columns until each has 8 neighbours, so that a store of a warp
/// fills whole sectors.
template <class Tiling>
__device__ void store_rows(const Work& work, const Place& at, int first_row, const float (&o)[Tiling::kDim / 2],
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
        pair[i] = pack<Tiling::kType>(o[at_o] * factor[half], o[at_o + 1] * factor[half]);
      }
      // A transposition of 4 x 4: pair i of lane l goes to pair l of lane i.
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const std::uint32_t came = __shfl_xor_sync(0xFFFFFFFF, lane & 1 ? pair[i] : pair[i + 1], 1);
        if (lane & 1) {
          pair[i] = came;
        } else {
          pair[i + 1] = came;
        }
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const std::uint32_t came = __shfl_xor_sync(0xFFFFFFFF, lane & 2 ? pair[i] : pair[i + 2], 2);
        if (lane & 2) {
          pair[i] = came;
        } else {
          pair[i + 2] = came;
        }
      }
      if (row < work.queries) *reinterpret_cast<uint4*>(out + columns) = make_uint4(pair[0], pair[1], pair[2], pair[3]);
    }
  }
}

/// What one warpgroup does. Groups issue their products in turn, handing a token on: while one works on its softmax, the tensor
/// cores have the products of another. Within a group, the scores of the next block are under way before the probabilities of
/// this one are used.
template <class Tiling>
__device__ void compute(Layout<Tiling> shared, const Work& work, int group) {
  constexpr int kTokenThreads = 2 * kGroupThreads;
  const auto take_token = [&] { wait_named_barrier(1 + group, kTokenThreads); };
  const auto pass_token = [&] { arrive_at_named_barrier(1 + (group + 1) % Tiling::kGroups, kTokenThreads); };
  if (group == Tiling::kGroups - 1) pass_token();

  const int thread = static_cast<int>(threadIdx.x % kGroupThreads);
  const int row_in_tile = group * kGroupRows + thread / kWarp * 16 + thread % kWarp / 4;
  const std::uint64_t q = describe_matrix(shared.q(group));
  const std::uint64_t k = describe_matrix(shared.k(0)), v = describe_matrix(shared.v(0), Tiling::kKeySlabBytes);
  const auto k_at = [&](int stage) { return k + static_cast<std::uint32_t>(stage * Tiling::kStageBytes / 16); };
  const auto v_at = [&](int stage) { return v + static_cast<std::uint32_t>(stage * Tiling::kStageBytes / 16); };
  Ring<Tiling::kStages> k_ring, v_ring;
  std::uint32_t q_parity = 0;

  for (Deal deal; deal.tile() < work.tiles; ++deal.row) {
    const Place at = place<Tiling>(work, deal.tile());
    const int row = at.row + row_in_tile;
    Softmax softmax;
    float o[Tiling::kDim / 2];
#pragma unroll
    for (int i = 0; i < Tiling::kDim / 2; ++i) o[i] = 0;

    if (at.blocks > 0) {
      float s[Tiling::kKeys / 2];
      std::uint32_t p[Tiling::kKeys / 4];
      const int visible[2] = {visible_keys(work, row), visible_keys(work, row + 8)};
      // Blocks before this one are seen whole by all rows of the tile.
      const int whole = visible_keys(work, at.row) / Tiling::kKeys;

      wait(shared.q_full(group), q_parity);
      q_parity ^= 1;
      wait(shared.k_full(k_ring.stage), k_ring.parity);
      take_token();
      fence_registers();
      issue_qk<Tiling>(s, q, k_at(k_ring.stage));
      pass_token();
      wait_products<0>();
      settle_all(s);
      release(shared.k_free(k_ring.stage));
      k_ring.advance();
      if (at.blocks == 1) release(shared.q_free(group));
      if (at.blocks - 1 >= whole) mask(s, visible, (at.blocks - 1) * Tiling::kKeys);
      softmax.update(s, work.scale_log2);
      if (at.blocks > 1) wait(shared.k_full(k_ring.stage), k_ring.parity);
      pack_scores<Tiling::kType>(p, s);

#pragma unroll 1
      for (int block = at.blocks - 2; block >= 0; --block) {
        take_token();
        fence_registers();
        issue_qk<Tiling>(s, q, k_at(k_ring.stage));
        wait(shared.v_full(v_ring.stage), v_ring.parity);
        fence_registers();
        issue_pv<Tiling>(o, p, v_at(v_ring.stage));
        pass_token();
        wait_products<1>();
        settle_all(s);
        release(shared.k_free(k_ring.stage));
        k_ring.advance();
        if (block == 0) release(shared.q_free(group));
        if (block >= whole) mask(s, visible, block * Tiling::kKeys);
        const bool changes = softmax.update(s, work.scale_log2);
        settle_all(s);
        // Waited for here, because ptxas would move the exponentials behind the wait for PV; past this branch it does not.
        if (block > 0) wait(shared.k_full(k_ring.stage), k_ring.parity);
        wait_products<0>();
        settle_all(o);
        settle_all(s);
        release(shared.v_free(v_ring.stage));
        v_ring.advance();
        if (changes) {
#pragma unroll
          for (int i = 0; i < Tiling::kDim / 2; ++i) o[i] *= softmax.rescale[i % 4 / 2];
        }
        pack_scores<Tiling::kType>(p, s);
      }

      wait(shared.v_full(v_ring.stage), v_ring.parity);
      fence_registers();
      issue_pv<Tiling>(o, p, v_at(v_ring.stage));
      wait_products<0>();
      settle_all(o);
      release(shared.v_free(v_ring.stage));
      v_ring.advance();
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
  const Layout<Tiling> shared{(address + kSwizzleAtomBytes - 1) / kSwizzleAtomBytes * kSwizzleAtomBytes};
  if (threadIdx.x == 0) {
    for (int group = 0; group < Tiling::kGroups; ++group) {
      start_barrier(shared.q_full(group), 1);
      start_barrier(shared.q_free(group), kGroupWarps);
    }
    for (int stage = 0; stage < Tiling::kStages; ++stage) {
      start_barrier(shared.k_full(stage), 1);
      start_barrier(shared.v_full(stage), 1);
      start_barrier(shared.k_free(stage), Tiling::kGroups * kGroupWarps);
      start_barrier(shared.v_free(stage), Tiling::kGroups * kGroupWarps);
    }
    publish_barriers();
  }
  __syncthreads();

  // From lane 0, so that the compiler knows it to be the same in a whole warp.
  const int warpgroup = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (warpgroup == 0) {
    keep_registers<Tiling::kFeederRegisters>();
    if (threadIdx.x == 0) feed<Tiling>(shared, &q, &k, &v, work);
  } else {
    take_registers<Tiling::kGroupRegisters>();
    compute<Tiling>(shared, work, warpgroup - 1);
  }
#endif
}

}  // namespace tiled_wgmma

namespace {

using namespace tiled_wgmma;

using EncodeTiled = PFN_cuTensorMapEncodeTiled_v12000;

/// The driver's function, which the runtime finds: no link to the driver.
EncodeTiled encode_tiled() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
#else
  check(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result));
#endif
  if (result != cudaDriverEntryPointSuccess || !found)
    throw Unsupported("tiled_wgmma: the driver has no cuTensorMapEncodeTiled");
  return reinterpret_cast<EncodeTiled>(found);
}

/// Boxes of `rows` rows and one slab of one head of a dense [batch, length, heads, dim] array.
CUtensorMap make_map(EncodeTiled encode, DataType type, const void* data, std::int64_t batch, std::int64_t length,
                     std::int64_t heads, int dim, int rows) {
  const CUtensorMapDataType stored =
      type == DataType::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const auto size = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  const cuuint64_t sizes[] = {size(dim), size(heads), size(length), size(batch)};
  const cuuint64_t strides[] = {size(2 * dim), size(2 * dim * heads), size(2 * dim * heads * length)};
  const cuuint32_t box[] = {kSlabColumns, 1, static_cast<cuuint32_t>(rows), 1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  CUtensorMap map;
  check(encode(&map, stored, 4, const_cast<void*>(data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

/// K and V of the heads that take turns together: they stay in L2 while the blocks come back to them.
constexpr std::int64_t kTurnBytes = 32 << 20;

template <class Tiling>
class TiledWgmmaPlan final : public AttentionPlan {
 public:
  TiledWgmmaPlan(const AttentionProblem& problem, int processors) : problem_(problem), encode_(encode_tiled()) {
    const auto kernel = attention_tiled_wgmma_kernel<Tiling>;
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel));
    // The kernel with a body has the accumulator of O in registers.
    if (attributes.numRegs < Tiling::kDim / 2) throw Unsupported("tiled_wgmma: roofmark was built without sm_90a");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tiling::kSharedBytes));

    const AttentionProblem& p = problem_;
    const std::int64_t tiles_a_head = (p.queries + Tiling::kRows - 1) / Tiling::kRows, heads = p.batch * p.heads;
    const std::int64_t tiles = tiles_a_head * heads;
    if (tiles >= std::int64_t{1} << 30) throw Unsupported("tiled_wgmma: more than 2^30 tiles");
    std::int64_t turns = heads;
    if (p.causal) {
      const std::int64_t head_bytes = std::max<std::int64_t>(1, p.keys * Tiling::kDim * 4 * p.kv_heads / p.heads);
      const std::int64_t most = std::clamp<std::int64_t>(kTurnBytes / head_bytes, 1, heads);
      turns = (heads + most - 1) / most;
    }
    const std::int64_t heads_a_turn = (heads + turns - 1) / turns;
    work_.scale_log2 = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(p.head_dim)));
    work_.queries = static_cast<int>(p.queries);
    work_.keys = static_cast<int>(p.keys);
    work_.heads = static_cast<int>(p.heads);
    work_.kv_heads = static_cast<int>(p.kv_heads);
    work_.causal = p.causal;
    work_.tiles = static_cast<int>(tiles);
    work_.tiles_a_head = static_cast<int>(tiles_a_head);
    work_.heads_a_turn = static_cast<int>(heads_a_turn);
    work_.turns = static_cast<int>((heads + heads_a_turn - 1) / heads_a_turn);
    blocks_ = static_cast<unsigned>(std::min<std::int64_t>(tiles, processors));
  }

  std::size_t workspace_bytes() const override { return 0; }

  void launch(const AttentionArrays& arrays, void*, Stream stream) const override {
    const AttentionProblem& p = problem_;
    const auto map = [&](const void* data, std::int64_t length, std::int64_t heads, int rows) {
      return make_map(encode_, Tiling::kType, data, p.batch, length, heads, Tiling::kDim, rows);
    };
    const CUtensorMap q = map(arrays.q, p.queries, p.heads, kGroupRows);
    const CUtensorMap k = map(arrays.k, p.keys, p.kv_heads, Tiling::kKeys);
    const CUtensorMap v = map(arrays.v, p.keys, p.kv_heads, Tiling::kKeys);
    Work work = work_;
    work.o = arrays.o;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks_);
    config.blockDim = dim3(Tiling::kThreads);
    config.dynamicSmemBytes = Tiling::kSharedBytes;
    config.stream = stream;
    check(cudaLaunchKernelEx(&config, attention_tiled_wgmma_kernel<Tiling>, q, k, v, work));
  }

  std::string algorithm() const override {
    return "tile " + std::to_string(Tiling::kRows) + "x" + std::to_string(Tiling::kKeys) + ", stages " +
           std::to_string(Tiling::kStages) + ", heads a turn " + std::to_string(work_.heads_a_turn);
  }

 private:
  AttentionProblem problem_;
  EncodeTiled encode_;
  Work work_ = {};
  unsigned blocks_ = 1;
};

std::string unsupported(int compute_capability) {
  if (compute_capability == 90) return {};
  return "tiled_wgmma needs compute capability 9.0: wgmma exists nowhere else";
}

template <DataType kType>
std::unique_ptr<AttentionPlan> plan_as(const AttentionProblem& problem, int processors) {
  switch (problem.head_dim) {
    case 64:
      return std::make_unique<TiledWgmmaPlan<Tiling<kType, 64, 128, 3, 4>>>(problem, processors);
    case 128:
      // Wide blocks are the faster, but waste more at the edge of a causal mask.
      if (problem.causal) return std::make_unique<TiledWgmmaPlan<Tiling<kType, 128, 128, 2, 3>>>(problem, processors);
      return std::make_unique<TiledWgmmaPlan<Tiling<kType, 128, 176, 2, 2>>>(problem, processors);
    case 256:
      return std::make_unique<TiledWgmmaPlan<Tiling<kType, 256, 80, 2, 2>>>(problem, processors);
    default:
      throw Unsupported("tiled_wgmma: head dimensions are 64, 128 and 256, not " + std::to_string(problem.head_dim));
  }
}

std::unique_ptr<AttentionPlan> plan(const AttentionProblem& problem) {
  int device = 0, major = 0, minor = 0, processors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  if (const std::string why = unsupported(10 * major + minor); !why.empty()) throw Unsupported(why);
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  for (std::int64_t size : {problem.batch, problem.heads, problem.kv_heads, problem.queries, problem.keys}) {
    if (size < 1 || size > kMost) throw Unsupported("tiled_wgmma: sizes are from 1 to 2^30");
  }
  if (problem.heads % problem.kv_heads != 0) throw Unsupported("tiled_wgmma: query heads share key-value heads evenly");
  switch (problem.type) {
    case DataType::fp16:
      return plan_as<DataType::fp16>(problem, processors);
    case DataType::bf16:
      return plan_as<DataType::bf16>(problem, processors);
    default:
      throw Unsupported("tiled_wgmma: fp16 and bf16, not " + std::string(name(problem.type)));
  }
}

}  // namespace

const AttentionKernels attention_tiled_wgmma = {"tiled_wgmma", plan, unsupported};

}  // namespace roofmark::cuda
