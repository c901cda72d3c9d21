// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/gemm_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bench/families/ceiling_probes.hpp"
#include "bench/families/gemm.hpp"
#include "bench/families/separate_activation.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/product_check.hpp"
#include "harness/judge/theory.hpp"

namespace roofmark::gemm {
namespace {

constexpr const char *kBatch = "batch", *kImbalance = "imbalance", *kScale = "scale", *kOut = "out", *kBeta = "beta",
                     *kEpilogue = "epilogue", *kActivation = "act";
/// Its products are checked one by one.
constexpr std::int64_t kMostBatch = 1 << 16;
/// Calls of cuBLASLt in a launch: the launch queue holds them.
constexpr std::int64_t kMostCalls = 256;

/// Who multiplies: the device's library first.
struct Implementation {
  std::string_view name;
  const GemmKernels* kernels;
};
const std::vector<Implementation>& implementations(Backend backend) {
  static const std::vector<Implementation> on_gpu = {{"cublaslt", &cuda::gemm}, {kTiledWgmma, &cuda::gemm_tiled_wgmma}};
  static const std::vector<Implementation> on_cpu = {{"blas", &cpu::gemm}};
  return backend == Backend::cuda ? on_gpu : on_cpu;
}
/// The one of this name, or the library where it is empty.
Implementation implementation(Backend backend, std::string_view impl) {
  const std::vector<Implementation>& all = implementations(backend);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Implementation& one) { return one.name == impl; });
  return found == all.end() ? all.front() : *found;
}

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

/// Why cuBLASLt has no product of fp8 with fp32 scales of blocks; empty if it has. As far as its documentation is silent, what
/// NVIDIA's Transformer Engine calls "available and tested" counts (cublaslt_gemm.cu).
std::string reason_against_fp32_scales(const GemmProblem& problem, Activation activation) {
  const std::string what = fmt::format("scale:{}", name(problem.scaling));
  if (problem.output == DataType::fp8) return fmt::format("cuBLASLt has no product with {} and D in fp8", what);
  if (activation == Activation::fused && has_activation(problem.epilogue)) {
    return fmt::format("cuBLASLt is not known to fuse an activation with {}", what);
  }
  if (problem.batch > 1) return fmt::format("no batch with {}", what);
  if (problem.n % 8 != 0) return fmt::format("{} needs n that is a multiple of 8", what);
  return {};
}

/// Why there are no products with different numbers of columns; empty if there are.
std::string reason_against_imbalance(const GemmProblem& problem) {
  if (problem.layout != GemmLayout::tn) return "an imbalance needs layout tn";
  if (problem.epilogue != GemmEpilogue::none) return "no epilogue with an imbalance";
  if (problem.accumulates) return "no beta:1 with an imbalance";
  if (const DataType own = gemm_output_type(problem.type); problem.output != own) {
    return fmt::format("an imbalance needs D of {} in {}", name(problem.type), name(own));
  }
  if (const GemmScaling own = gemm_scaling(problem.type); problem.scaling != own) {
    return fmt::format("an imbalance needs scale:{} of {}", name(own), name(problem.type));
  }
  return {};
}

/// Why the device cannot run the product; empty if it can.
std::string reason_against(const Listing& listing, const GemmKernels* kernels, const GemmProblem& problem,
                           Activation activation, bool tuned) {
  const DeviceInfo& device = listing.device;
  if (!kernels) return "this build has no matrix product for this kind of device";
  if (problem.type == DataType::int32) return "no library supports int32";
  if (problem.accumulates && problem.output != DataType::fp32 && problem.output != DataType::fp64) {
    return fmt::format("beta:1 needs D in fp32 or fp64, here it is {} (out:fp32)", name(problem.output));
  }
  if (problem.accumulates && problem.epilogue != GemmEpilogue::none) return "no epilogue with beta:1";
  if (problem.scaling != gemm_scaling(problem.type) && !problem.has_fp32_scales()) {
    return fmt::format("{} has no scale:{}", name(problem.type), name(problem.scaling));
  }
  if (problem.imbalance > 1) {
    if (std::string why = reason_against_imbalance(problem); !why.empty()) return why;
  }
  if (kernels->unsupported) return kernels->unsupported(problem, device.compute_capability);
  if (problem.imbalance > 1 && tuned) {
    return "each number of columns has the library's own algorithms: an imbalance needs algo:default";
  }
  if (device.backend == Backend::cpu) {
    if (problem.type != DataType::fp64 && problem.type != DataType::fp32) return "the BLAS supports only fp64 and fp32";
    if (tuned) return "the BLAS has no choice of algorithms";
    if (problem.epilogue != GemmEpilogue::none) return "the BLAS has no epilogue";
    if (problem.output != problem.type) return "the BLAS gives D the type of A and B";
  } else {
    if (const int capability = device.compute_capability; problem.has_fp32_scales() && capability != 90) {
      return fmt::format("scale:{} needs compute capability 9.0, the device has {}.{}", name(problem.scaling), capability / 10,
                         capability % 10);
    }
    if (!has_tensor_cores(device, problem.type)) {
      const int first = first_capability(problem.type);
      return fmt::format("{} needs compute capability {}.{}, the device has {}.{}", name(problem.type), first / 10, first % 10,
                         device.compute_capability / 10, device.compute_capability % 10);
    }
    if (!has_output(problem.type, problem.output)) {
      return fmt::format("cuBLASLt has no product of {} with D in {}", name(problem.type), name(problem.output));
    }
    if (problem.imbalance > 1 && problem.products() > kMostCalls) {
      return fmt::format("each product of an imbalance is a call of cuBLASLt, {} at most", kMostCalls);
    }
    if (problem.type == DataType::int8 && problem.epilogue != GemmEpilogue::none) return "cuBLASLt has no epilogue for int8";
    if (problem.type == DataType::fp8) {
      // "To use FP8 kernels" in the cuBLASLt documentation; n is no leading dimension of tn.
      if (problem.layout != GemmLayout::tn && (device.compute_capability < 100 || device.compute_capability >= 120)) {
        return "fp8 needs layout tn on compute capabilities 8.9, 9.0 and 12.x";
      }
      if (problem.m % 16 != 0 || problem.k % 16 != 0) return "fp8 needs m and k that are multiples of 16";
      if (problem.has_fp32_scales()) return reason_against_fp32_scales(problem, activation);
    }
    if (is_block_scaled(problem.type)) {
      // The library's documents do not say where the scales of a batch lie.
      if (problem.batch > 1) return fmt::format("no batch of {}", name(problem.type));
      // Blocks are along k, and the library takes nvfp4 in whole 16 bytes. Of mxfp8, cuBLASLt 13 has other layouts on some
      // GPUs.
      if (problem.layout != GemmLayout::tn) return fmt::format("roofmark has {} in layout tn alone", name(problem.type));
      if (problem.k % 32 != 0) return fmt::format("{} needs k that is a multiple of 32", name(problem.type));
    }
  }
  return {};
}

}  // namespace

Case make_case(const Listing& listing, const GemmProblem& problem, const std::string& algo, const std::string& what,
               Activation activation, std::string_view impl) {
  if (algo != "default" && algo != "tuned") {
    throw std::invalid_argument("unknown algo '" + algo + "' (known: default, tuned)");
  }
  if (std::min({problem.m, problem.n, problem.k, problem.batch}) < 1) {
    throw std::invalid_argument("sizes of a matrix product start at 1");
  }
  if (problem.imbalance < 1 || problem.imbalance > problem.batch) {
    throw std::invalid_argument("the imbalance of a batch is from 1 to its size");
  }
  const DeviceInfo& device = listing.device;
  const auto [how, kernels] = implementation(device.backend, impl);
  const bool tuned = algo == "tuned";

  Shape shape = {{"m", std::to_string(problem.m)},
                 {"n", std::to_string(problem.n)},
                 {"k", std::to_string(problem.k)},
                 {"impl", std::string(how)},
                 {"layout", std::string(name(problem.layout))},
                 {"algo", algo}};
  // What a name without them means needs no word.
  const Shape implied = {{kImbalance, "1"},
                         {kScale, std::string(name(gemm_scaling(problem.type)))},
                         {kOut, std::string(name(gemm_output_type(problem.type)))},
                         {kBeta, "0"},
                         {kEpilogue, std::string(name(GemmEpilogue::none))},
                         {kActivation, std::string(name(Activation::fused))}};
  const Shape asked = {{kImbalance, std::to_string(problem.imbalance)},  {kScale, std::string(name(problem.scaling))},
                       {kOut, std::string(name(problem.output))},        {kBeta, problem.accumulates ? "1" : "0"},
                       {kEpilogue, std::string(name(problem.epilogue))}, {kActivation, std::string(name(activation))}};
  std::copy_if(asked.begin(), asked.end(), std::inserter(shape, shape.begin() + 3),
               [&](const auto& entry) { return value_of(implied, entry.first) != entry.second; });
  if (problem.batch > 1) shape.insert(shape.begin(), {kBatch, std::to_string(problem.batch)});
  const SlotLayout layout = layout_of(problem);
  const std::size_t touched = layout.touched_bytes(), updated = updated_bytes(problem);
  Case made = memory_case(device, "gemm", "", problem.type, std::move(shape), listing.cache.value_or(Cache::cold), layout,
                          LaunchBytes{touched, touched + updated, updated});
  made.implied = implied;
  made.shared_bytes = kernels ? shared_bytes(problem, activation, *kernels) : 0;
  demand_first(made, {{pipe(device, problem.type), flops(problem)}});
  made.unsupported = reason_against(listing, kernels, problem, activation, tuned);
  if (made.unsupported.empty() && activation == Activation::separate) {
    made.unsupported = reason_against_separate_activation(device.backend, problem);
  }
  if (made.unsupported.empty()) {
    made.prepare = [problem, activation, kernels = kernels, tuned, what](const Setup& setup) {
      return prepare(setup, problem, activation, *kernels, tuned, what);
    };
  }
  return made;
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
  GemmProblem plain = {asked.number("m", 1, kMost),
                       asked.number("n", 1, kMost),
                       asked.number("k", 1, ProductCheck::most_terms(type)),
                       type,
                       asked.one_of("layout", kGemmLayouts, GemmLayout::tn),
                       asked.number_or(kBatch, 1, kMostBatch)};
  if (plain.batch == 1 && !asked.is_or(kImbalance, "1", "1")) {
    constexpr const char* kWhy = "an imbalance needs several products (batch:8)";
    if (asked.has(kBatch)) throw NotTogether(kWhy);
    throw std::invalid_argument(kWhy);
  }
  if (asked.has(kImbalance)) plain.imbalance = asked.number_within(kImbalance, 1, plain.batch, kMostBatch);
  plain.scaling = asked.one_of(kScale, kGemmScalings, plain.scaling);
  plain.accumulates = asked.word_of(kBeta, std::array<std::string_view, 2>{"0", "1"}, "0") == "1";
  const GemmProblem problem = with_output(plain, asked.one_of(kOut, kOutputTypes, plain.output),
                                          asked.one_of(kEpilogue, kGemmEpilogues, GemmEpilogue::none));
  // Of several imbalances each has the same algo, and only 1 has a choice.
  const bool tunes = listing.device.backend == Backend::cuda && !asked.has(kImbalance);
  std::vector<std::string_view> impls;
  for (const Implementation& one : implementations(listing.device.backend)) impls.push_back(one.name);
  Case made =
      make_case(listing, problem, asked.word_or("algo", tunes ? "tuned" : "default"), {},
                asked.one_of(kActivation, kActivations, Activation::fused), asked.word_of("impl", impls, impls.front()));
  // A sweep over batches may begin with one product, and one over imbalances with even products.
  if (problem.batch == 1 && asked.has(kBatch)) made.shape.insert(made.shape.begin(), {kBatch, "1"});
  if (problem.imbalance == 1 && asked.has(kImbalance)) {
    const auto k = std::find_if(made.shape.begin(), made.shape.end(), [](const auto& entry) { return entry.first == "k"; });
    made.shape.insert(std::next(k), {kImbalance, "1"});
  }
  return made;
}

}  // namespace roofmark::gemm
