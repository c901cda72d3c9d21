// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/gemm_tiled_wgmma_kernel.cuh"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/gemm.hpp"

namespace roofmark::cuda {

namespace {

using namespace tiled_wgmma;

constexpr std::string_view kHow = "tiled_wgmma";

constexpr std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// The kernel with blocks of their own, or in clusters of two.
template <class Tiling>
class Kernel {
 public:
  Kernel(const GemmProblem& problem, int processors) : kernel_(gemm_tiled_wgmma_kernel<Tiling>) {
    allow(kernel_, Tiling::kSharedBytes, Tiling::kRows / 2);
    const std::int64_t row_tiles = divided_up(problem.m, Tiling::kRows);
    std::int64_t tiles = 0;
    for (std::int64_t i = 0; i < problem.products(); ++i) {
      tiles += row_tiles * divided_up(problem.columns(i), Tiling::kCluster * Tiling::kColumns);
    }
    if (tiles >= std::int64_t{1} << 30) throw Unsupported(std::string(kHow) + ": more than 2^30 tiles");
    const std::int64_t most = std::max(1, processors / Tiling::kCluster);
    clusters_ = static_cast<unsigned>(std::clamp<std::int64_t>(tiles, 1, most));
    work_.alpha = static_cast<float>(problem.alpha);
    work_.products = static_cast<int>(problem.products());
    work_.rows = static_cast<int>(problem.m);
    work_.columns = static_cast<int>(problem.n);
    work_.steps = static_cast<int>(divided_up(problem.k, Tiling::kTerms));
    work_.row_tiles = static_cast<int>(row_tiles);
  }

  void launch(const GemmProblem& p, EncodeTiled encode, const GemmOperands& operands, void* d, Stream stream) const {
    // Of rows of k terms, a step of some rows.
    const auto map = [&](const void* data, std::int64_t rows, int of_a_load) {
      return make_tensor_map<2>(encode, p.type, data, {p.k, rows}, {Tiling::kTerms, of_a_load});
    };
    const CUtensorMap a = map(operands.a, p.products() * p.m, Tiling::kLoadRows);
    const CUtensorMap b = map(operands.b, p.batch * p.n, Tiling::kColumns);
    GemmWork work = work_;
    work.d = d;
    work.first_columns = operands.first_columns;
    LaunchConfig config(clusters_ * Tiling::kCluster, Tiling::kThreads, stream, Tiling::kSharedBytes);
    if (Tiling::kCluster > 1) config.set_clusters(Tiling::kCluster);
    check(cudaLaunchKernelEx(config.get(), kernel_, a, b, work));
  }

  static std::string text() {
    return "tile " + std::to_string(Tiling::kRows) + "x" + std::to_string(Tiling::kColumns) + "x" +
           std::to_string(Tiling::kTerms) + ", stages " + std::to_string(Tiling::kStages) + ", cluster " +
           std::to_string(Tiling::kCluster);
  }

 private:
  void (*kernel_)(CUtensorMap, CUtensorMap, GemmWork);
  GemmWork work_ = {};
  unsigned clusters_ = 1;
};

/// Clusters of two share the loads of A, but their tiles have twice the columns, which few columns do not fill: the other
/// algorithm has blocks of their own.
template <DataType kType>
class TiledWgmmaPlan final : public GemmPlan {
 public:
  TiledWgmmaPlan(const GemmProblem& problem, int processors, int most)
      : problem_(problem), encode_(encode_tiled(std::string(kHow))), alone_(problem, processors), paired_(problem, processors) {
    const bool has_pairs = processors > 1;
    pairs_first_ = has_pairs && problem.n > Alone::kColumns;
    algorithms_ = {pairs_first_ ? paired_.text() : alone_.text(), pairs_first_ ? alone_.text() : paired_.text()};
    algorithms_.resize(static_cast<std::size_t>(std::clamp(most, 1, has_pairs ? 2 : 1)));
  }

  const std::vector<std::string>& algorithms() const override { return algorithms_; }
  int output_roundings(int /*algorithm*/) const override { return 1; }

  void launch(int algorithm, const GemmOperands& operands, void* d, void* /*workspace*/, Stream stream) const override {
    if ((algorithm == 0) == pairs_first_) {
      paired_.launch(problem_, encode_, operands, d, stream);
    } else {
      alone_.launch(problem_, encode_, operands, d, stream);
    }
  }

 private:
  using Alone = GemmTiling<kType, 1>;
  GemmProblem problem_;
  EncodeTiled encode_;
  Kernel<Alone> alone_;
  Kernel<GemmTiling<kType, 2>> paired_;
  bool pairs_first_ = false;
  std::vector<std::string> algorithms_;
};

std::string version() { return "roofmark"; }

std::string unsupported(const GemmProblem& p, int compute_capability) {
  const std::string how(kHow);
  if (compute_capability != 90) return how + " needs compute capability 9.0: no other has wgmma";
  switch (p.type) {
    case DataType::tf32:
    case DataType::fp16:
    case DataType::bf16:
    case DataType::fp8:
    case DataType::int8:
      break;
    default:
      return how + " multiplies tf32, fp16, bf16, fp8 and int8, not " + std::string(name(p.type));
  }
  if (p.layout != GemmLayout::tn) return how + " has layout tn alone";
  if (p.scaling != gemm_scaling(p.type)) return how + " has no scale:" + std::string(name(p.scaling));
  if (p.output != gemm_output_type(p.type)) return how + " has no other type of D";
  if (p.epilogue != GemmEpilogue::none) return how + " has no epilogue";
  if (p.accumulates) return how + " has no beta:1";
  // A tensor map has rows of whole 16 bytes, and so are the stores to D.
  constexpr std::int64_t kBytes = 16;
  const auto terms = kBytes / static_cast<std::int64_t>(size_of(p.type));
  const auto rows = kBytes / static_cast<std::int64_t>(size_of(p.output));
  if (p.k % terms != 0 || p.m % rows != 0) {
    return how + " needs k that is a multiple of " + std::to_string(terms) + ", and m of " + std::to_string(rows);
  }
  // The ends of tiles are numbers of 32 bits.
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 256;
  if (p.batch * std::max(p.m, p.n) > kMost || p.k > kMost) return how + " has at most 2^31 - 256 rows, columns and terms";
  return {};
}

std::unique_ptr<GemmPlan> plan(const GemmProblem& problem, int most, const GemmOperands& /*operands*/) {
  const DeviceLimits& limits = device_limits();
  if (const std::string why = unsupported(problem, limits.compute_capability); !why.empty()) throw Unsupported(why);
  const auto made = [&]<DataType kType>() -> std::unique_ptr<GemmPlan> {
    return std::make_unique<TiledWgmmaPlan<kType>>(problem, limits.multiprocessors, most);
  };
  switch (problem.type) {
    case DataType::tf32:
      return made.template operator()<DataType::tf32>();
    case DataType::fp16:
      return made.template operator()<DataType::fp16>();
    case DataType::fp8:
      return made.template operator()<DataType::fp8>();
    case DataType::int8:
      return made.template operator()<DataType::int8>();
    default:
      return made.template operator()<DataType::bf16>();
  }
}

}  // namespace

const GemmKernels gemm_tiled_wgmma = {kHow, 0, version, plan, unsupported};

}  // namespace roofmark::cuda
