// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "bench/families/ceiling_probes.hpp"
#include "bench/families/prepared_gemm.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/model_shapes.hpp"
#include "bench/support/product_check.hpp"
#include "harness/judge/theory.hpp"
#include "kernels/gemm.hpp"

namespace roofmark::gemm {
namespace {

constexpr const char *kBatch = "batch", *kOut = "out", *kEpilogue = "epilogue";
/// Those that D may have.
constexpr DataType kOutputTypes[] = {DataType::bf16, DataType::fp16, DataType::fp32,
                                     DataType::fp8,  DataType::fp64, DataType::int32};
/// Its products are checked one by one.
constexpr std::int64_t kMostBatch = 1 << 16;

const GemmKernels* kernels_for(Backend backend) { return select(backend, &cuda::gemm, &cpu::gemm); }

/// The pipe that executes the 2 m n k operations.
Resource pipe(const DeviceInfo& device, DataType type) {
  if (type == DataType::fp32 || type == DataType::int32) return resource::fp32_fma;
  if (type == DataType::fp64 && !operations_per_clock(device, resource::fp64_tensor)) return resource::fp64_fma;
  return ceilings::tensor_resource(type, DataType::fp32);
}

/// The first compute capability with tensor cores for the type; 0 where none are needed.
int first_capability(DataType type) {
  switch (type) {
    case DataType::mxfp8:
    case DataType::nvfp4:
      return 100;
    case DataType::fp8:
      return 89;
    case DataType::tf32:
    case DataType::bf16:
      return 80;
    case DataType::int8:
      return 75;
    case DataType::fp16:
      return 70;
    default:
      return 0;
  }
}

/// Whether the tables of cublasLtMatmul() have D in that type, of an operation as the plan has it.
bool has_output(DataType type, DataType output) {
  if (output == gemm_output_type(type)) return true;
  const bool is_narrow = type == DataType::fp8 || is_block_scaled(type);
  switch (output) {
    case DataType::fp32:
      return is_narrow || type == DataType::fp16 || type == DataType::bf16;
    case DataType::fp16:
      return is_narrow;
    case DataType::fp8:
      return type == DataType::fp8;
    default:
      return false;
  }
}

/// Why the device cannot run the product; empty if it can.
std::string reason_against(const Listing& listing, const GemmKernels* kernels, const GemmProblem& problem, bool tuned) {
  const DeviceInfo& device = listing.device;
  if (!kernels) return "this build has no matrix product for this kind of device";
  if (problem.type == DataType::int32) return "no library supports int32";
  if (device.backend == Backend::cpu) {
    if (problem.type != DataType::fp64 && problem.type != DataType::fp32) return "the BLAS supports only fp64 and fp32";
    if (tuned) return "the BLAS has no choice of algorithms";
    if (problem.epilogue != GemmEpilogue::none) return "the BLAS has no epilogue";
    if (problem.output != problem.type) return "the BLAS gives D the type of A and B";
  } else {
    if (!has_tensor_cores(device, problem.type)) {
      const int first = first_capability(problem.type);
      return fmt::format("{} needs compute capability {}.{}, the device has {}.{}", name(problem.type), first / 10, first % 10,
                         device.compute_capability / 10, device.compute_capability % 10);
    }
    if (!has_output(problem.type, problem.output)) {
      return fmt::format("cuBLASLt has no product of {} with D in {}", name(problem.type), name(problem.output));
    }
    if (problem.type == DataType::int8 && problem.epilogue != GemmEpilogue::none) return "cuBLASLt has no epilogue for int8";
    if (problem.type == DataType::fp8) {
      // "To use FP8 kernels" in the cuBLASLt documentation; n is no leading dimension of tn.
      if (problem.layout != GemmLayout::tn && device.compute_capability < 100) {
        return "fp8 needs layout tn below compute capability 10.0";
      }
      if (problem.m % 16 != 0 || problem.k % 16 != 0) return "fp8 needs m and k that are multiples of 16";
    }
    if (is_block_scaled(problem.type)) {
      // The library's documents do not say where the scales of a batch lie.
      if (problem.batch > 1) return fmt::format("no batch of {}", name(problem.type));
      // Blocks are along k, and the library takes nvfp4 in whole 16 bytes.
      if (problem.layout != GemmLayout::tn) return fmt::format("{} needs layout tn", name(problem.type));
      if (problem.k % 32 != 0) return fmt::format("{} needs k that is a multiple of 32", name(problem.type));
    }
  }
  return {};
}

/// `what`: the layer that has this shape, for the record.
Case make_case(const Listing& listing, const GemmProblem& problem, const std::string& algo, const std::string& what = {}) {
  if (algo != "default" && algo != "tuned") {
    throw std::invalid_argument("unknown algo '" + algo + "' (known: default, tuned)");
  }
  if (std::min({problem.m, problem.n, problem.k, problem.batch}) < 1) {
    throw std::invalid_argument("sizes of a matrix product start at 1");
  }
  const DeviceInfo& device = listing.device;
  const GemmKernels* kernels = kernels_for(device.backend);
  const bool tuned = algo == "tuned";

  Shape shape = {{"m", std::to_string(problem.m)},
                 {"n", std::to_string(problem.n)},
                 {"k", std::to_string(problem.k)},
                 {"impl", device.backend == Backend::cpu ? "blas" : "cublaslt"},
                 {"layout", std::string(name(problem.layout))},
                 {"algo", algo}};
  // What a name without them means needs no word.
  const Shape implied = {{kOut, std::string(name(gemm_output_type(problem.type)))},
                         {kEpilogue, std::string(name(GemmEpilogue::none))}};
  const Shape asked = {{kOut, std::string(name(problem.output))}, {kEpilogue, std::string(name(problem.epilogue))}};
  std::copy_if(asked.begin(), asked.end(), std::inserter(shape, shape.begin() + 3),
               [&](const auto& entry) { return value_of(implied, entry.first) != entry.second; });
  if (problem.batch > 1) shape.insert(shape.begin(), {kBatch, std::to_string(problem.batch)});
  Case made =
      memory_case(device, "gemm", "", problem.type, std::move(shape), listing.cache.value_or(Cache::cold), layout_of(problem));
  made.implied = implied;
  made.shared_bytes = kernels ? shared_bytes(problem, *kernels) : 0;
  demand_first(made, {{pipe(device, problem.type), flops(problem)}});
  made.unsupported = reason_against(listing, kernels, problem, tuned);
  if (made.unsupported.empty()) {
    made.prepare = [problem, kernels, tuned, what](const Setup& setup) {
      return prepare(setup, problem, *kernels, tuned, what);
    };
  }
  return made;
}

Case best(const CaseList& list, const GemmProblem& problem, const std::string& what = {}) {
  return make_case(list.listing(), problem, list.on_gpu() ? "tuned" : "default", what);
}

/// The tuned product, and on a GPU the library's first choice beside it.
Group with_default(const CaseList& list, const GemmProblem& problem, const std::string& what = {}) {
  const Case tuned = best(list, problem, what);
  if (!list.on_gpu()) return {{tuned}, {}};
  const Case first = make_case(list.listing(), problem, "default", what);
  return {{first, tuned}, {compare(tuned, first)}};
}

/// With alpha near 1 / sqrt(k), so that sums of N(0, 1) are about 1, as activations are: there they are neither all linear nor
/// beyond the range of fp8. Alpha is a power of two, which rounds nothing.
GemmProblem with_output(GemmProblem problem, DataType output, GemmEpilogue epilogue) {
  problem.output = output;
  problem.epilogue = epilogue;
  if (epilogue == GemmEpilogue::none && output != DataType::fp8) return problem;
  while (problem.alpha * problem.alpha * static_cast<double>(problem.k) > 2) problem.alpha /= 2;
  return problem;
}

GemmProblem square(DataType type, std::int64_t size, std::int64_t batch = 1) {
  return {size, size, size, type, GemmLayout::tn, batch};
}

/// The square of `base`, squares of nearby sizes, and the other layouts.
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
    for (const Mixture& model : {kMixtral8x7b, kQwen3_30b}) {
      for (const Projection& projection : model.projections()) {
        for (std::int64_t tokens : {16, 256}) {
          add_layer(list, over_experts(type, projection, model.experts, tokens), projection.what);
        }
      }
    }
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

/// Every epilogue, and every type of D that the library has.
void add_outputs(CaseList& list, const GemmProblem& plain) {
  for (DataType output : kOutputTypes) {
    for (GemmEpilogue epilogue : kGemmEpilogues) list.add(best(list, with_output(plain, output, epilogue)));
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
    for (const auto& [m, n, k] : {Sizes{17, 31, 61}, {48, 16, 160}}) add_outputs(list, {m, n, k, type, GemmLayout::tn});
    add_outputs(list, {48, 16, 32, type, GemmLayout::nt, 2});
  }
}

}  // namespace

bool has_tensor_cores(const DeviceInfo& device, DataType type) { return device.compute_capability >= first_capability(type); }

bool is_fp64_fast(const DeviceInfo& device) {
  constexpr double kLeast = 0.25;  // of the fp32 rate; there are halves, and sixty-fourths
  const Figure* const wide = operations_per_clock(device, pipe(device, DataType::fp64));
  const Figure* const narrow = operations_per_clock(device, resource::fp32_fma);
  return wide && narrow && wide->value >= kLeast * narrow->value;
}

std::int64_t largest_square(const DeviceInfo& device, DataType type) {
  return type == DataType::fp64 && !is_fp64_fast(device) ? 2048 : 16384;
}

Case gemm_case(const Listing& listing, DataType type, std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout,
               const std::string& algo) {
  return make_case(listing, {m, n, k, type, parse_gemm_layout(layout)}, algo);
}

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  const DataType type = asked.operand_type();
  const GemmProblem plain = {asked.number("m", 1, kMost),
                             asked.number("n", 1, kMost),
                             asked.number("k", 1, ProductCheck::most_terms(type)),
                             type,
                             asked.one_of("layout", kGemmLayouts, GemmLayout::tn),
                             asked.number_or(kBatch, 1, kMostBatch)};
  const GemmProblem problem = with_output(plain, asked.one_of(kOut, kOutputTypes, plain.output),
                                          asked.one_of(kEpilogue, kGemmEpilogues, GemmEpilogue::none));
  Case made = make_case(listing, problem, asked.word_or("algo", listing.device.backend == Backend::cuda ? "tuned" : "default"));
  // A sweep over batches may begin with one product.
  if (problem.batch == 1 && asked.has(kBatch)) made.shape.insert(made.shape.begin(), {kBatch, "1"});
  return made;
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu, list_smoke); }

}  // namespace roofmark::gemm
