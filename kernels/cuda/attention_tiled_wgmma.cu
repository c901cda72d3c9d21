// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/attention_tiled_wgmma_kernel.cuh"
#include "kernels/cuda/tensor_map.hpp"

namespace roofmark::cuda {

namespace {

using namespace tiled_wgmma;

/// Bytes of K and V of the heads of one turn: they stay in L2 between the tiles of a head.
constexpr std::int64_t kTurnBytes = 32 << 20;

template <class Tiling>
class TiledWgmmaPlan final : public AttentionPlan {
 public:
  TiledWgmmaPlan(const AttentionProblem& problem, int processors) : problem_(problem), encode_(encode_tiled("tiled_wgmma")) {
    allow(attention_tiled_wgmma_kernel<Tiling>, Tiling::kSharedBytes, Tiling::kDim / 2);
    const AttentionProblem& p = problem_;
    const std::int64_t tiles_per_head = (p.queries + Tiling::kRows - 1) / Tiling::kRows, heads = p.batch * p.heads;
    const std::int64_t tiles = tiles_per_head * heads;
    if (tiles >= std::int64_t{1} << 30) throw Unsupported("tiled_wgmma: more than 2^30 tiles");
    std::int64_t turns = heads;
    if (p.causal) {
      const std::int64_t head_bytes = std::max<std::int64_t>(1, p.keys * Tiling::kDim * 4 * p.kv_heads / p.heads);
      const std::int64_t most = std::clamp<std::int64_t>(kTurnBytes / head_bytes, 1, heads);
      turns = (heads + most - 1) / most;
    }
    const std::int64_t heads_per_turn = (heads + turns - 1) / turns;
    work_.scale_log2 = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(p.head_dim)));
    work_.queries = static_cast<int>(p.queries);
    work_.keys = static_cast<int>(p.keys);
    work_.heads = static_cast<int>(p.heads);
    work_.kv_heads = static_cast<int>(p.kv_heads);
    work_.causal = p.causal;
    work_.tiles = static_cast<int>(tiles);
    work_.tiles_per_head = static_cast<int>(tiles_per_head);
    work_.heads_per_turn = static_cast<int>(heads_per_turn);
    work_.turns = static_cast<int>((heads + heads_per_turn - 1) / heads_per_turn);
    blocks_ = static_cast<unsigned>(std::min<std::int64_t>(tiles, processors));
  }

  std::size_t workspace_bytes() const override { return 0; }

  void launch(const AttentionArrays& arrays, void*, Stream stream) const override {
    const AttentionProblem& p = problem_;
    // Of [batch, length, heads, dim], some rows of one slab of one head.
    const auto map = [&](const void* data, std::int64_t length, std::int64_t heads, int rows) {
      return make_tensor_map<4>(encode_, Tiling::kType, data, {Tiling::kDim, heads, length, p.batch},
                                {kSlabColumns, 1, rows, 1});
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
           std::to_string(Tiling::kStages) + ", heads per turn " + std::to_string(work_.heads_per_turn);
  }

 private:
  AttentionProblem problem_;
  EncodeTiled encode_;
  Work work_ = {};
  unsigned blocks_ = 1;
};

std::string unsupported(int compute_capability) {
  if (compute_capability == 90) return {};
  return "tiled_wgmma needs compute capability 9.0: no other has wgmma";
}

template <DataType kType>
std::unique_ptr<AttentionPlan> plan_as(const AttentionProblem& problem, int processors) {
  switch (problem.head_dim) {
    case 64:
      return std::make_unique<TiledWgmmaPlan<Tiling<kType, 64, 128, 3, 4>>>(problem, processors);
    case 128:
      // Wider blocks are faster, but waste more work at the edge of a causal mask.
      if (problem.causal) return std::make_unique<TiledWgmmaPlan<Tiling<kType, 128, 128, 2, 3>>>(problem, processors);
      return std::make_unique<TiledWgmmaPlan<Tiling<kType, 128, 176, 2, 2>>>(problem, processors);
    case 256:
      return std::make_unique<TiledWgmmaPlan<Tiling<kType, 256, 80, 2, 2>>>(problem, processors);
    default:
      throw Unsupported("tiled_wgmma: head dimensions are 64, 128 and 256, not " + std::to_string(problem.head_dim));
  }
}

std::unique_ptr<AttentionPlan> plan(const AttentionProblem& problem) {
  const DeviceLimits& limits = device_limits();
  if (const std::string why = unsupported(limits.compute_capability); !why.empty()) throw Unsupported(why);
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  for (std::int64_t size : {problem.batch, problem.heads, problem.kv_heads, problem.queries, problem.keys}) {
    if (size < 1 || size > kMost) throw Unsupported("tiled_wgmma: sizes are from 1 to 2^30");
  }
  if (problem.heads % problem.kv_heads != 0) throw Unsupported("tiled_wgmma: query heads share key-value heads evenly");
  switch (problem.type) {
    case DataType::fp16:
      return plan_as<DataType::fp16>(problem, limits.multiprocessors);
    case DataType::bf16:
      return plan_as<DataType::bf16>(problem, limits.multiprocessors);
    default:
      throw Unsupported("tiled_wgmma: fp16 and bf16, not " + std::string(name(problem.type)));
  }
}

}  // namespace

const AttentionKernels attention_tiled_wgmma = {"tiled_wgmma", plan, nullptr, unsupported};

}  // namespace roofmark::cuda
