// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/data_type.hpp"
#include "kernels/cuda/ptx/wgmma.cuh"
#include "kernels/cuda/tiled_wgmma.cuh"

// How attention_tiled_wgmma divides its work into tiles, and their place in shared memory.
namespace roofmark::cuda::tiled_wgmma {

inline constexpr int kStep = 16;  // k of one wgmma
inline constexpr int kSlabColumns = kSlabBytes / 2;

/// Tile sizes. A block has kGroups consumer warpgroups of 64 queries each and one producer, which loads K and V in kStages
/// stages of kKeys keys.
template <DataType kTypeOf, int kDimOf, int kKeysOf, int kGroupsOf, int kStagesOf>
struct Tiling {
  static constexpr DataType kType = kTypeOf;
  static constexpr int kDim = kDimOf, kKeys = kKeysOf, kGroups = kGroupsOf, kStages = kStagesOf;
  static constexpr int kRows = kGroups * kGroupRows;
  static constexpr int kThreads = (kGroups + 1) * kGroupThreads;
  // An SM has 65536 registers, allocated in units of 8 per thread: the producer releases what the consumers acquire.
  static constexpr int kProducerRegisters = kGroups == 2 ? 24 : 32;
  static constexpr int kConsumerRegisters = kGroups == 2 ? 240 : 160;

  static constexpr int kSlabs = kDim / kSlabColumns;
  static constexpr int kQuerySlabBytes = kGroupRows * kSlabBytes, kKeySlabBytes = kKeys * kSlabBytes;
  static constexpr int kQueryBytes = kSlabs * kQuerySlabBytes, kStageBytes = kSlabs * kKeySlabBytes;
  static constexpr int kKeyOffset = kGroups * kQueryBytes;
  static constexpr int kValueOffset = kKeyOffset + kStages * kStageBytes;
  static constexpr int kBarrierOffset = kValueOffset + kStages * kStageBytes;
  static constexpr int kBarriers = 2 * kGroups + 4 * kStages;
  static constexpr int kSharedBytes = kBarrierOffset + kBarriers * kBarrierBytes + kSwizzleAtomBytes;
  static_assert(kSharedBytes <= kMostSharedBytes && kQuerySlabBytes % kSwizzleAtomBytes == 0 &&
                kKeySlabBytes % kSwizzleAtomBytes == 0);
};

/// The problem of a launch and the order of its tiles.
struct Work {
  void* o;
  float scale_log2;  // scale / ln 2: the softmax uses powers of 2
  int queries, keys, heads, kv_heads;
  bool causal;
  int tiles, tiles_per_head, heads_per_turn, turns;
};

/// Rows of Q of one head, and the blocks of keys that they see.
struct Tile {
  int batch, head, row;  // `row`: the first one
  int blocks;            // of keys, up to the last one that the last row sees
};

/// The number of keys that query `row` sees.
inline __device__ int visible_keys(const Work& work, int row) {
  return work.causal ? max(0, min(work.keys, row + 1 + work.keys - work.queries)) : work.keys;
}

/// The tile with index `tile` of the launch. Heads are processed in turns of heads_per_turn heads, whose K and V fit into L2;
/// within a turn, all heads advance together. Under a causal mask the tiles differ in length. The last turn, and every second
/// one before it, runs from the longest tile to the shortest, the others from the shortest to the longest. Together with
/// TileScheduler, this gives every block the same work to within a fraction of its last tile.
template <class Tiling>
__device__ Tile tile_at(const Work& work, int tile) {
  const int turn_tiles = work.heads_per_turn * work.tiles_per_head;
  const int turn = tile / turn_tiles, within = tile - turn * turn_tiles;
  const int all_heads = work.tiles / work.tiles_per_head;
  const int first = turn * work.heads_per_turn, heads = min(work.heads_per_turn, all_heads - first);
  const int level = within / heads, head = first + within - level * heads;
  const bool longest_first = (work.turns - 1 - turn) % 2 == 0;
  Tile at;
  at.batch = head / work.heads;
  at.head = head - at.batch * work.heads;
  at.row = (longest_first ? work.tiles_per_head - 1 - level : level) * Tiling::kRows;
  at.blocks = (visible_keys(work, min(at.row + Tiling::kRows, work.queries) - 1) + Tiling::kKeys - 1) / Tiling::kKeys;
  return at;
}

/// The indices of a block's tiles: one per round of the grid, every second round in reverse order of the blocks.
struct TileScheduler {
  int round = 0;
  __device__ int tile() const {
    const int column = static_cast<int>(round % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x);
    return round * static_cast<int>(gridDim.x) + column;
  }
};

/// Addresses in shared memory.
template <class Tiling>
struct SharedLayout {
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

}  // namespace roofmark::cuda::tiled_wgmma
