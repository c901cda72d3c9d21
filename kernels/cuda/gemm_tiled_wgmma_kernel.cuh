// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/ptx/barrier.cuh"
#include "kernels/cuda/ptx/cluster.cuh"
#include "kernels/cuda/ptx/math.cuh"
#include "kernels/cuda/ptx/mbarrier.cuh"
#include "kernels/cuda/ptx/memory.cuh"
#include "kernels/cuda/ptx/tma.cuh"
#include "kernels/cuda/ptx/wgmma.cuh"
#include "kernels/cuda/tiled_wgmma.cuh"
#include "kernels/gemm.hpp"

// D [m, n] = alpha A [m, k] x B [k, n] in layout tn, for every product of a batch, whose numbers of columns may differ. Each
// block keeps computing tiles of 256 rows x 128 columns: one producer warp loads, two consumer warpgroups multiply, one half of
// the columns each. D is column-major, so the rows of wgmma are columns of D: an instruction covers 64 columns x 256 rows.
//
// A step is 128 bytes along k, and takes (256 + 128) x 128 = 48 KiB of shared memory and 1024 clocks of an SM's tensor cores in
// every type. Loaded by one block, these are 48 bytes per clock and SM from L2. Two blocks of a cluster share the 256 rows of
// A: each loads one half and sends it to both, which makes 32 bytes per clock, as much as tiled attention takes (d 128). With
// 132 SMs the 66 clusters have about 8 x 8 tiles in flight, of which neighbours share lines in L2.
//
// The epilogue of a tile writes 64 KiB (16-bit D) in 128-byte lines and is not hidden behind the products of the next tile,
// only its loads are: at k 4096, 64 steps, it is a few percent. Registers per thread at entry 168 (producer 40, consumers 232
// after setmaxnreg), shared memory 209 KiB; no spills (ptxas 13.0). It has not been timed on a GPU yet.
namespace roofmark::cuda::tiled_wgmma {

template <DataType kTypeOf, int kClusterOf>
struct GemmTiling {
  static constexpr DataType kType = kTypeOf, kOutput = gemm_output_type(kTypeOf);
  static constexpr int kCluster = kClusterOf;
  using Register = std::conditional_t<kOutput == DataType::int32, int, float>;

  static constexpr int kGroups = 2, kStages = 4, kRows = 256, kColumns = kGroups * kGroupRows;
  static constexpr int kThreads = (kGroups + 1) * kGroupThreads;
  // An SM has 65536 registers, allocated in units of 8 per thread: the producer releases what the consumers acquire.
  static constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;

  static constexpr int kTerms = kSlabBytes / static_cast<int>(size_of(kType));  // of a step
  static constexpr int kLoadRows = kRows / 2;                                   // of A, by one load
  static constexpr int kLoadBytes = kLoadRows * kSlabBytes;
  static constexpr int kABytes = kRows * kSlabBytes, kStageBytes = kABytes + kColumns * kSlabBytes;

  // A warp's 16 columns of D leave through shared memory, one line of kSlabBytes of each at a time.
  static constexpr int kOutputBytes = static_cast<int>(size_of(kOutput));
  static constexpr int kLineRows = kSlabBytes / kOutputBytes;
  static constexpr int kWarpColumns = 16, kWarpBytes = kWarpColumns * kSlabBytes;
  static constexpr int kLinesOffset = kStages * kStageBytes;
  static constexpr int kBarrierOffset = kLinesOffset + kGroups * kGroupWarps * kWarpBytes;
  static constexpr int kSharedBytes = kBarrierOffset + 2 * kStages * kBarrierBytes + kSwizzleAtomBytes;
  static_assert(kSharedBytes <= kMostSharedBytes && kLoadBytes % kSwizzleAtomBytes == 0);
};

struct GemmWork {
  void* d;
  /// Columns before each product, and of all: products + 1 numbers. Null where every product has `columns`.
  const std::int32_t* first_columns;
  float alpha;
  int products, rows, columns;
  int steps;      // of a tile
  int row_tiles;  // of a product
};

/// A tile of a cluster: the blocks' columns follow one another.
struct GemmTile {
  int product;
  int row, column;            // the first ones, in the product
  int first_column, columns;  // of the product
};

/// Finds the tiles of a launch, which are numbered product by product. All threads of a warp call it together.
template <class Tiling>
class GemmTiles {
 public:
  __device__ explicit GemmTiles(const GemmWork& work) : work_(work) {}

  /// The next tile of this cluster; false where there is none.
  __device__ bool next() {
    const int clusters = static_cast<int>(gridDim.x) / Tiling::kCluster;
    const int tile = round_++ * clusters + static_cast<int>(blockIdx.x) / Tiling::kCluster;
    return work_.first_columns ? find_uneven(tile) : find_even(tile);
  }
  __device__ const GemmTile& tile() const { return at_; }

 private:
  static constexpr int kClusterColumns = Tiling::kCluster * Tiling::kColumns;
  static __device__ int column_tiles(int columns) { return (columns + kClusterColumns - 1) / kClusterColumns; }

  __device__ bool find_even(int tile) {
    const int tiles = column_tiles(work_.columns) * work_.row_tiles;
    at_.product = tile / tiles;
    at_.first_column = at_.product * work_.columns;
    at_.columns = work_.columns;
    place(tile - at_.product * tiles);
    return at_.product < work_.products;
  }

  /// Lane i holds product window_ + i: its columns, and the tiles of the window up to its last one.
  __device__ bool find_uneven(int tile) {
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    while (tile >= before_ + in_window_) {
      before_ += in_window_;
      window_ += kWarp;
      if (window_ >= work_.products) return false;
      const int product = window_ + lane;
      first_ = product < work_.products ? work_.first_columns[product] : 0;
      columns_ = product < work_.products ? work_.first_columns[product + 1] - first_ : 0;
      upto_ = column_tiles(columns_) * work_.row_tiles;
#pragma unroll
      for (int distance = 1; distance < kWarp; distance *= 2) {
        const int other = __shfl_up_sync(0xFFFFFFFF, upto_, distance);
        if (lane >= distance) upto_ += other;
      }
      in_window_ = __shfl_sync(0xFFFFFFFF, upto_, kWarp - 1);
    }
    const int within = tile - before_;
    const int holder = __ffs(static_cast<int>(__ballot_sync(0xFFFFFFFF, upto_ > within))) - 1;
    at_.product = window_ + holder;
    at_.first_column = __shfl_sync(0xFFFFFFFF, first_, holder);
    at_.columns = __shfl_sync(0xFFFFFFFF, columns_, holder);
    const int upto = __shfl_sync(0xFFFFFFFF, upto_, holder);
    place(within - (upto - column_tiles(at_.columns) * work_.row_tiles));
    return true;
  }

  /// Bands of eight tiles along the columns, so that the tiles in flight share the lines of A and B in L2.
  __device__ void place(int index) {
    constexpr int kBand = 8;
    const int band = index / (kBand * work_.row_tiles), within = index - band * kBand * work_.row_tiles;
    const int width = min(kBand, column_tiles(at_.columns) - band * kBand);
    at_.row = within / width * Tiling::kRows;
    at_.column = (band * kBand + within % width) * kClusterColumns;
  }

  const GemmWork& work_;
  GemmTile at_ = {};
  int round_ = 0;
  int window_ = -kWarp, before_ = 0, in_window_ = 0;
  int first_ = 0, columns_ = 0, upto_ = 0;
};

/// Addresses in shared memory.
template <class Tiling>
struct GemmShared {
  std::uint32_t start;
  __device__ std::uint32_t a(int stage) const { return start + stage * Tiling::kStageBytes; }
  __device__ std::uint32_t b(int stage) const { return a(stage) + Tiling::kABytes; }
  __device__ std::uint32_t lines(int warp) const { return start + Tiling::kLinesOffset + warp * Tiling::kWarpBytes; }
  __device__ std::uint32_t full(int stage) const { return barrier(stage); }
  __device__ std::uint32_t free(int stage) const { return barrier(Tiling::kStages + stage); }

 private:
  __device__ std::uint32_t barrier(int i) const { return start + Tiling::kBarrierOffset + i * kBarrierBytes; }
};

/// The producer warp. A buffer is free once the consumers of both blocks have read it, because each block writes to both.
template <class Tiling>
__device__ void produce(GemmShared<Tiling> shared, const CUtensorMap* a, const CUtensorMap* b, const GemmWork& work) {
  const auto rank = blockIdx.x % Tiling::kCluster;
  const bool issues = threadIdx.x % kWarp == 0;
  PipelineState<Tiling::kStages> pipeline;
  if (issues) {
    prefetch_tensormap(a);
    prefetch_tensormap(b);
  }
  for (GemmTiles<Tiling> tiles(work); tiles.next();) {
    const GemmTile& at = tiles.tile();
    if (issues) {
      const int row = at.product * work.rows + at.row;
      const int column = at.first_column + at.column + static_cast<int>(rank) * Tiling::kColumns;
#pragma unroll 1
      for (int step = 0; step < work.steps; ++step, pipeline.advance()) {
        const std::uint32_t full = shared.full(pipeline.stage);
        const int term = step * Tiling::kTerms;
        mbarrier_try_wait_parity(shared.free(pipeline.stage), pipeline.parity ^ 1);
        mbarrier_arrive_expect_tx(full, Tiling::kStageBytes);
        tma_load_2d(shared.b(pipeline.stage), b, full, term, column);
        if constexpr (Tiling::kCluster == 1) {
          tma_load_2d(shared.a(pipeline.stage), a, full, term, row);
          tma_load_2d(shared.a(pipeline.stage) + Tiling::kLoadBytes, a, full, term, row + Tiling::kLoadRows);
        } else {
          tma_load_2d_multicast(shared.a(pipeline.stage) + rank * Tiling::kLoadBytes, a, full, term,
                                row + static_cast<int>(rank) * Tiling::kLoadRows, 0b11);
        }
      }
    }
    __syncwarp();
  }
}

/// Tells the producers that write to a buffer that this warp has read it. No fence for the other block: wgmma alone reads it,
/// and has ended.
template <class Tiling>
__device__ void release(std::uint32_t free) {
  const unsigned lane = threadIdx.x % kWarp;
  if constexpr (Tiling::kCluster == 1) {
    if (lane == 0) mbarrier_arrive(free);
  } else {
    if (lane < Tiling::kCluster) mbarrier_arrive_cluster(mapa(free, lane));
  }
}

/// The words in which a lane stores two adjacent rows of D: one of 16-bit elements, else two.
template <class Tiling>
__device__ void store_pair(std::uint32_t to, typename Tiling::Register first, typename Tiling::Register second, float alpha) {
  if constexpr (Tiling::kOutput == DataType::int32) {
    st_shared_v2(to, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second));
  } else if constexpr (Tiling::kOutput == DataType::fp32) {
    st_shared_v2(to, __float_as_uint(first * alpha), __float_as_uint(second * alpha));
  } else {
    st_shared_u32(to, cvt_rn_x2<Tiling::kOutput>(first * alpha, second * alpha));
  }
}

/// A warp's 16 columns x 256 rows of D, line by line. In a line, chunk c of 16 bytes of column i is stored at c ^ s, with s 0,
/// 2, 4, 6, 1, 3, 5, 7 for the columns in turn: neither 32 lanes that store 4 bytes each, nor 16 that store 8, nor 8 that load
/// 16 use a bank twice.
template <class Tiling>
__device__ void store_tile(std::uint32_t lines, const typename Tiling::Register (&sum)[Tiling::kRows / 2], const GemmWork& work,
                           const GemmTile& at, int column) {
  constexpr int kChunkBytes = 16, kChunkRows = kChunkBytes / Tiling::kOutputBytes, kPairBytes = 2 * Tiling::kOutputBytes;
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const auto address = [&](int i, int chunk) {
    return lines + i * kSlabBytes + ((chunk ^ (2 * i + i / 4 % 2) % 8) * kChunkBytes);
  };
#pragma unroll
  for (int line = 0; line < Tiling::kRows / Tiling::kLineRows; ++line) {
#pragma unroll
    for (int eight = 0; eight < Tiling::kLineRows / 8; ++eight) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int from = (line * (Tiling::kLineRows / 8) + eight) * 4 + 2 * half;
        const int offset = eight * 8 * Tiling::kOutputBytes + lane % 4 * kPairBytes;
        store_pair<Tiling>(address(lane / 4 + 8 * half, offset / kChunkBytes) + offset % kChunkBytes, sum[from], sum[from + 1],
                           work.alpha);
      }
    }
    __syncwarp();
    const int chunk = lane % 8, row = at.row + line * Tiling::kLineRows + chunk * kChunkRows;
#pragma unroll
    for (int i = lane / 8; i < Tiling::kWarpColumns; i += kWarp / 8) {
      const uint4 words = ld_shared_v4(address(i, chunk));
      const std::int64_t to = static_cast<std::int64_t>(at.first_column + column + i) * work.rows + row;
      if (column + i < at.columns && row < work.rows) {
        *reinterpret_cast<uint4*>(static_cast<unsigned char*>(work.d) + to * Tiling::kOutputBytes) = words;
      }
    }
    __syncwarp();
  }
}

/// A consumer warpgroup. The products of one step run while those of the next are issued.
template <class Tiling>
__device__ void consume(GemmShared<Tiling> shared, const GemmWork& work, int group) {
  constexpr int kStepBytes = 32;  // of k, by one wgmma
  const int warp = static_cast<int>(threadIdx.x / kWarp) % kGroupWarps;
  const int column_in_tile =
      static_cast<int>(blockIdx.x % Tiling::kCluster) * Tiling::kColumns + group * kGroupRows + warp * Tiling::kWarpColumns;
  const std::uint64_t a = wgmma_descriptor(shared.a(0));
  const std::uint64_t b = wgmma_descriptor(shared.b(0) + group * kGroupRows * kSlabBytes);
  PipelineState<Tiling::kStages> pipeline;

  for (GemmTiles<Tiling> tiles(work); tiles.next();) {
    typename Tiling::Register sum[Tiling::kRows / 2];
    int in_flight = 0;
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      const auto at = static_cast<std::uint32_t>(pipeline.stage * Tiling::kStageBytes / 16);
      mbarrier_try_wait_parity(shared.full(pipeline.stage), pipeline.parity);
      wgmma_fence();
#pragma unroll
      for (int along = 0; along < kSlabBytes; along += kStepBytes) {
        wgmma_mma_async<Tiling::kType>(sum, b + at + along / 16, a + at + along / 16, step > 0 || along > 0);
      }
      wgmma_commit_group();
      if (step > 0) {
        wgmma_wait_group<1>();
        release<Tiling>(shared.free(in_flight));
      }
      in_flight = pipeline.stage;
      pipeline.advance();
    }
    wgmma_wait_group<0>();
    opaque_all(sum);
    release<Tiling>(shared.free(in_flight));
    store_tile<Tiling>(shared.lines(group * kGroupWarps + warp), sum, work, tiles.tile(), tiles.tile().column + column_in_tile);
  }
}

/// Empty unless compiled for sm_90a: wgmma exists nowhere else.
template <class Tiling>
__global__ void __launch_bounds__(Tiling::kThreads, 1)
    gemm_tiled_wgmma_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                            const __grid_constant__ GemmWork work) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char dynamic[];
  // At the same address in both blocks of a cluster.
  const std::uint32_t address = shared_address(dynamic);
  const GemmShared<Tiling> shared{(address + kSwizzleAtomBytes - 1) / kSwizzleAtomBytes * kSwizzleAtomBytes};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Tiling::kStages; ++stage) {
      mbarrier_init(shared.full(stage), 1);
      mbarrier_init(shared.free(stage), Tiling::kCluster * Tiling::kGroups * kGroupWarps);
    }
    fence_mbarrier_init();
  }
  if constexpr (Tiling::kCluster == 1) {
    __syncthreads();
  } else {
    barrier_cluster_arrive_relaxed();
    barrier_cluster_wait_acquire();
  }

  // From lane 0, so that the compiler knows that it is the same for a whole warp.
  const int warp = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / kWarp, 0), warpgroup = warp / kGroupWarps;
  if (warpgroup == 0) {
    setmaxnreg_dec<Tiling::kProducerRegisters>();
    if (warp == 0) produce<Tiling>(shared, &a, &b, work);
  } else {
    setmaxnreg_inc<Tiling::kConsumerRegisters>();
    consume<Tiling>(shared, work, warpgroup - 1);
  }
  // The other block may still arrive at a barrier here.
  if constexpr (Tiling::kCluster > 1) {
    barrier_cluster_arrive_release();
    barrier_cluster_wait_acquire();
  }
#endif
}

}  // namespace roofmark::cuda::tiled_wgmma
