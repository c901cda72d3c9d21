// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/gemm.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "bench/families/gemm_case.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/model_shapes.hpp"

namespace roofmark::gemm {
namespace {

Case best(const CaseList& list, const GemmProblem& problem, const std::string& what = {},
          Activation activation = Activation::fused) {
  return make_case(list.listing(), problem, list.on_gpu() ? "tuned" : "default", what, activation);
}

/// The tuned product, and on a GPU the library's first choice beside it.
Group with_default(const CaseList& list, const GemmProblem& problem, const std::string& what = {}) {
  const Case tuned = best(list, problem, what);
  if (!list.on_gpu()) return {{tuned}, {}};
  const Case first = make_case(list.listing(), problem, "default", what);
  return {{first, tuned}, {compare(tuned, first)}};
}

/// Types that our own product has.
constexpr DataType kOwnTypes[] = {DataType::bf16, DataType::fp16, DataType::tf32, DataType::fp8, DataType::int8};

Case own(const CaseList& list, const GemmProblem& problem, const std::string& algo, const std::string& what = {}) {
  return make_case(list.listing(), problem, algo, what, Activation::fused, kTiledWgmma);
}

GemmProblem with_imbalance(GemmProblem problem, std::int64_t imbalance) {
  problem.imbalance = imbalance;
  return problem;
}

GemmProblem square(DataType type, std::int64_t size, std::int64_t batch = 1) {
  return {size, size, size, type, GemmLayout::tn, batch};
}

/// The square of `base`, squares of nearby sizes, the other layouts, and in full other types of D and our own product.
void add_with_neighbours(CaseList& list, DataType type, std::int64_t base, const std::vector<std::int64_t>& sizes,
                         bool layouts) {
  Group group = with_default(list, square(type, base));
  const Case aligned = group.cases.back();
  for (std::int64_t size : sizes) group.cases.push_back(best(list, square(type, size)));
  for (GemmLayout layout : kGemmLayouts) {
    if (!layouts || layout == GemmLayout::tn) continue;
    group.cases.push_back(best(list, {base, base, base, type, layout}));
    group.comparisons.push_back(compare(aligned, group.cases.back()));
  }
  const bool full = list.listing().suite == SuiteName::full;
  if (full && list.on_gpu() && std::find(std::begin(kOwnTypes), std::end(kOwnTypes), type) != std::end(kOwnTypes)) {
    group.cases.push_back(own(list, square(type, base), "tuned"));
    group.comparisons.push_back(compare(group.cases.back(), aligned));
  }
  constexpr std::pair<DataType, DataType> kOutputs[] = {
      {DataType::bf16, DataType::fp32}, {DataType::fp8, DataType::fp8}, {DataType::fp8, DataType::fp32}};
  for (const auto& [of, output] : kOutputs) {
    if (of != type || !full) continue;
    group.cases.push_back(best(list, with_output(square(type, base), output, GemmEpilogue::none)));
    group.comparisons.push_back(compare(aligned, group.cases.back()));
  }
  list.add(std::move(group));
}

GemmProblem over_tokens(DataType type, const Projection& projection, std::int64_t tokens) {
  return {projection.outputs, tokens, projection.inputs, type, GemmLayout::tn};
}

/// Every expert has as many tokens.
GemmProblem over_experts(DataType type, const Projection& projection, std::int64_t experts, std::int64_t tokens) {
  GemmProblem problem = over_tokens(type, projection, tokens);
  problem.batch = experts;
  return problem;
}

constexpr DataType kGpuTypes[] = {DataType::bf16,  DataType::fp16, DataType::tf32, DataType::fp8, DataType::mxfp8,
                                  DataType::nvfp4, DataType::int8, DataType::fp32, DataType::fp64};
/// Those of which suites have the projections of models.
constexpr DataType kModelTypes[] = {DataType::bf16, DataType::fp8, DataType::nvfp4};

/// The product of a layer of a model; in full with the library's first choice beside it.
void add_layer(CaseList& list, const GemmProblem& problem, const std::string& what) {
  if (list.listing().suite == SuiteName::full) {
    list.add(with_default(list, problem, what));
  } else {
    list.add(best(list, problem, what));
  }
}

/// The products of the experts of a layer; in full also those of uneven numbers of tokens, by the library and by our own
/// kernel.
void add_experts(CaseList& list, const GemmProblem& even, const std::string& what, std::int64_t imbalance) {
  if (list.listing().suite != SuiteName::full) return add_layer(list, even, what);
  const GemmProblem uneven = with_imbalance(even, imbalance);
  Group group = with_default(list, even, what);
  const Case by_library = group.cases.front(), uneven_by_library = make_case(list.listing(), uneven, "default", what);
  const Case by_own = own(list, even, "default", what), uneven_by_own = own(list, uneven, "default", what);
  for (const Case& made : {uneven_by_library, by_own, uneven_by_own}) group.cases.push_back(made);
  for (const Comparison& one : {compare(by_library, uneven_by_library), compare(by_own, uneven_by_own),
                                compare(by_own, by_library), compare(uneven_by_own, uneven_by_library)}) {
    group.comparisons.push_back(one);
  }
  list.add(std::move(group));
}

/// A projection without and with a bias and a GELU in the product's kernel, with the GELU in a kernel of its own, and in fp8
/// with D in fp8 too, as the next product takes it.
void add_epilogues(CaseList& list, DataType type, std::int64_t tokens) {
  const Projection up = gpt3_175b_up();
  const GemmProblem problem = over_tokens(type, up, tokens);
  const GemmProblem with_bias_and_gelu = with_output(problem, problem.output, GemmEpilogue::bias_gelu);
  const Case plain = best(list, problem, up.what), fused = best(list, with_bias_and_gelu, up.what);
  const Case separate = best(list, with_bias_and_gelu, up.what, Activation::separate);
  Group group{{plain, fused, separate}, {compare(plain, fused), compare(fused, separate)}};
  if (type == DataType::fp8) {
    group.cases.push_back(best(list, with_output(problem, DataType::fp8, GemmEpilogue::bias_gelu), up.what));
    group.comparisons.push_back(compare(group.cases.back(), fused));
  }
  list.add(std::move(group));
}

/// The product of fp8 without and with scales of blocks.
void add_scaled(CaseList& list, GemmProblem problem, GemmScaling scaling, const std::string& what) {
  const Case plain = best(list, problem, what);
  problem.scaling = scaling;
  const Case scaled = best(list, problem, what);
  list.add(Group{{plain, scaled}, {compare(plain, scaled)}});
}

/// The layers of DeepSeek-V3 forward, and the gradient of the weights of each, a sum over tokens.
void add_deepseek_v3(CaseList& list) {
  constexpr std::int64_t kTokens = 4096;
  for (const Projection& projection : deepseek_v3_projections()) {
    for (std::int64_t tokens : {std::int64_t{128}, kTokens}) {
      add_scaled(list, over_tokens(DataType::fp8, projection, tokens), GemmScaling::blk128, projection.what);
    }
    add_scaled(list, {projection.outputs, projection.inputs, kTokens, DataType::fp8}, GemmScaling::vec128,
               projection.what + ", gradient of the weights");
  }
}

/// The product, added to D, which then is fp32 or fp64.
GemmProblem added(GemmProblem problem) {
  problem.accumulates = true;
  if (problem.output != DataType::fp64) problem.output = DataType::fp32;
  return problem;
}

/// The gradients of the weights of a model's layers, by themselves and added to those of the micro-batches before: sums over
/// tokens, of activations and gradients that both lie token by token.
void add_gradients(CaseList& list, const Transformer& model, std::int64_t tokens) {
  for (const Projection& projection : model.projections()) {
    GemmProblem problem = {projection.inputs, projection.outputs, tokens, DataType::bf16, GemmLayout::nt};
    const std::string what = projection.what + ", gradient of the weights";
    problem.output = DataType::fp32;
    const Case alone = best(list, problem, what), summed = best(list, added(problem), what);
    list.add(Group{{alone, summed}, {compare(alone, summed)}});
  }
}

/// Small products, with so many elements of D in all.
void add_batches_of_squares(CaseList& list, DataType type, std::int64_t elements) {
  for (std::int64_t size : {64, 256}) list.add(best(list, square(type, size, elements / (size * size))));
}

void list_gpu(CaseList& list) {
  constexpr std::int64_t kBase = 4096;
  const DeviceInfo& device = list.listing().device;
  if (list.listing().suite == SuiteName::quick) {
    list.add(best(list, square(DataType::bf16, 1024)));
    list.add(with_default(list, square(DataType::bf16, kBase)));
    list.add(best(list, square(DataType::bf16, 8192)));
    for (DataType type : kGpuTypes) {
      if (type != DataType::bf16) list.add(best(list, square(type, std::min(kBase, largest_square(device, type)))));
    }
    const Projection gate_and_up = kLlama3_8b.gate_and_up();
    for (std::int64_t tokens : {1, 1024}) {
      list.add(best(list, over_tokens(DataType::bf16, gate_and_up, tokens), gate_and_up.what));
    }
    return;
  }

  const bool full = list.listing().suite == SuiteName::full;
  for (DataType type : kGpuTypes) {
    const bool thorough = full || type == DataType::bf16;
    for (std::int64_t size = 256; size <= largest_square(device, type); size *= 2) {
      if (!thorough && size != 1024 && size != kBase && size != 8192) continue;
      if (size == kBase && thorough) {
        add_with_neighbours(list, type, size, {kBase - 1, kBase + 1, kBase + 8}, !is_block_scaled(type));
      } else {
        list.add(with_default(list, square(type, size)));
      }
    }
  }
  for (DataType type : kModelTypes) {
    if (type != DataType::bf16 && !full) continue;
    for (const Transformer& model : {kLlama3_8b, kLlama3_70b}) {
      for (const Projection& projection : model.projections()) {
        for (std::int64_t tokens : {1, 16, 128, 1024, 8192}) {
          add_layer(list, over_tokens(type, projection, tokens), projection.what);
        }
      }
    }
    if (is_block_scaled(type)) continue;
    for (const auto& [model, imbalance] : {std::pair{kMixtral8x7b, 2}, {kQwen3_30b, 4}}) {
      for (const Projection& projection : model.projections()) {
        for (std::int64_t tokens : {16, 256}) {
          add_experts(list, over_experts(type, projection, model.experts, tokens), projection.what, imbalance);
        }
      }
    }
  }
  if (full) {
    for (DataType type : {DataType::bf16, DataType::fp8}) {
      for (std::int64_t tokens : {16, 1024, 8192}) add_epilogues(list, type, tokens);
    }
    add_deepseek_v3(list);
    add_gradients(list, kLlama3_8b, 8192);
  }
  for (DataType type : kGpuTypes) {
    if (is_block_scaled(type) || (!full && type != DataType::bf16 && type != DataType::fp64)) continue;
    add_batches_of_squares(list, type, std::int64_t{1} << 24);
  }
}

void list_cpu(CaseList& list) {
  constexpr std::int64_t kBase = 1024;
  const SuiteName suite = list.listing().suite;
  const bool quick = suite == SuiteName::quick, full = suite == SuiteName::full;
  for (DataType type : {DataType::fp64, DataType::fp32}) {
    for (std::int64_t size = quick ? 512 : 256; size <= (full ? 4096 : 2048); size *= 2) {
      if (size == kBase && !quick) {
        add_with_neighbours(list, type, size, {kBase - 1, kBase + 1}, full || type == DataType::fp32);
      } else {
        list.add(best(list, square(type, size)));
      }
    }
  }
  if (!full) return;
  for (DataType type : {DataType::fp64, DataType::fp32}) add_batches_of_squares(list, type, std::int64_t{1} << 21);
  for (const Projection& projection : kLlama3_8b.projections()) {
    for (std::int64_t tokens : {1, 16}) {
      list.add(best(list, over_tokens(DataType::fp32, projection, tokens), projection.what));
    }
  }
}

void list_smoke(CaseList& list) {
  const bool gpu = list.on_gpu();
  // On a CPU with a large cache the copies that keep it cold would take longer than all else.
  Listing warm = list.listing();
  if (!gpu) warm.cache = warm.cache.value_or(Cache::warm);
  for (DataType type : gpu ? std::vector{DataType::bf16, DataType::fp8, DataType::tf32, DataType::fp64}
                           : std::vector{DataType::fp32, DataType::fp64}) {
    const std::int64_t size = gpu ? std::min<std::int64_t>(4096, largest_square(warm.device, type)) : 1024;
    list.add(make_case(warm, square(type, size), "default"));
  }
}

/// Every epilogue, of these types of D.
template <class Outputs>
void add_outputs(CaseList& list, const GemmProblem& plain, const Outputs& outputs) {
  for (DataType output : outputs) {
    for (GemmEpilogue epilogue : kGemmEpilogues) {
      const GemmProblem problem = with_output(plain, output, epilogue);
      list.add(best(list, problem));
      const bool is_own = output == gemm_output_type(plain.type);
      if (is_own && has_activation(epilogue)) list.add(best(list, problem, {}, Activation::separate));
    }
  }
}

// Sizes of one, primes, multiples of 16 and 32 for the types that need them, scales of several tiles; every layout.
void list_contract(CaseList& list) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (DataType type : kGpuTypes) {
    for (GemmLayout layout : kGemmLayouts) {
      for (const auto& [m, n, k] : {Sizes{1, 1, 1}, {17, 31, 61}, {300, 1, 257}, {48, 272, 32}, {144, 32, 160}}) {
        list.add(with_default(list, {m, n, k, type, layout}));
      }
      for (const auto& [m, n, k] : {Sizes{17, 31, 61}, {48, 16, 32}}) list.add(best(list, {m, n, k, type, layout, 3}));
    }
    for (const auto& [m, n, k] : {Sizes{17, 31, 61}, {48, 16, 160}}) add_outputs(list, {m, n, k, type}, kOutputTypes);
    add_outputs(list, {48, 16, 32, type, GemmLayout::nt, 2}, std::array{gemm_output_type(type)});
    for (std::int64_t batch : {1, 2}) list.add(best(list, added(GemmProblem{48, 16, 160, type, GemmLayout::tn, batch})));
    list.add(best(list, added(GemmProblem{17, 31, 61, type, GemmLayout::nt})));
  }
  for (DataType type : {DataType::bf16, DataType::fp8, DataType::int8, DataType::fp32, DataType::fp64}) {
    for (const auto& [m, n, k] : {Sizes{17, 31, 61}, {48, 16, 32}, {48, 1, 32}}) {
      for (const auto& [batch, imbalance] : {std::pair{3, 3}, {5, 2}}) {
        list.add(make_case(list.listing(), with_imbalance({m, n, k, type, GemmLayout::tn, batch}, imbalance), "default"));
      }
    }
  }
  for (DataType type : kOwnTypes) {
    if (!list.on_gpu()) break;
    for (const auto& [m, n, k] : {Sizes{16, 1, 16}, {272, 140, 80}}) {
      for (const std::string algo : {"default", "tuned"}) list.add(own(list, {m, n, k, type}, algo));
    }
    for (std::int64_t imbalance : {1, 2, 3}) {
      list.add(own(list, with_imbalance({48, 16, 160, type, GemmLayout::tn, 3}, imbalance), "default"));
    }
  }
  for (GemmScaling scaling : {GemmScaling::vec128, GemmScaling::blk128}) {
    for (GemmProblem problem : {GemmProblem{144, 32, 160, DataType::fp8}, {272, 40, 656, DataType::fp8}}) {
      problem.scaling = scaling;
      list.add(with_default(list, problem));
      list.add(best(list, added(problem)));
      add_outputs(list, problem, std::array{DataType::fp16, DataType::fp32, DataType::fp8});
    }
  }
}

}  // namespace

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu, list_smoke); }

}  // namespace roofmark::gemm
