// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bench/families/gemm.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/model_shapes.hpp"
#include "bench/support/reference_check.hpp"
#include "bench/support/rounding.hpp"
#include "bench/support/slots.hpp"
#include "kernels/gemv_reference.hpp"

namespace roofmark::gemv {
namespace {

constexpr std::size_t kW = 0, kX = 1, kScales = 2, kY = 3;

DataType stored_type(const GemvProblem& p) {
  switch (p.weights) {
    case GemvWeights::plain:
      return p.type;
    case GemvWeights::fp8:
      return DataType::fp8;
    default:
      return DataType::int8;  // uniform bytes are pairs of uniform int4
  }
}

SlotLayout layout_of(const GemvProblem& p) {
  const DataType stored = stored_type(p);
  return SlotLayout({SlotArray::input(stored, gemv_weight_bytes(p) / size_of(stored), kW),
                     SlotArray::input(p.type, static_cast<std::size_t>(p.k), kX),
                     SlotArray::input(p.type, gemv_scale_count(p), kScales),
                     SlotArray::output(p.type, static_cast<std::size_t>(p.m))});
}

/// The allowed error of the fp32 sum of k terms, in u(type) x the root of the sum of their squares, which partial sums of terms
/// of random signs rarely exceed. fp32: k independent roundings to nearest have a standard deviation of sqrt(k / 6); eight of
/// them are allowed.
double spread(const GemvProblem& p) {
  const auto k = static_cast<double>(p.k);
  return p.type == DataType::fp32 ? 2 + 8 * std::sqrt(k / 6) : tensor_core_error(p.type, k);
}

class PreparedGemv final : public Prepared {
 public:
  PreparedGemv(const Setup& setup, const GemvProblem& problem, const GemvKernels& kernels, const GemvReference& reference,
               std::string what)
      : device_(setup.device),
        problem_(problem),
        kernels_(kernels),
        reference_(reference),
        what_(std::move(what)),
        slots_(setup, layout_of(problem)) {}

  void launch(Stream stream, int slot) override { kernels_.launch(problem_, arrays(slot), stream); }

  // `scale` covers the fp32 roundings; 1.01 adds the final one.
  Verification verify(int slot) override {
    const auto reference = [&](std::int64_t /*first*/, std::int64_t /*count*/, double* expected, double* scale) {
      reference_.compute(problem_, arrays(slot), spread(problem_), expected, scale, device_.stream());
    };
    return check_outputs(device_, {{"y", slots_.output(slot, kY), problem_.m, 1.01, reference}});
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kY)}; }
  bool is_deterministic() const override { return true; }  // each row is summed by one thread, warp or block, without atomics

  std::vector<std::pair<std::string, std::string>> notes() const override {
    if (what_.empty()) return {};
    return {{"shape of", what_}};
  }

 private:
  GemvArrays arrays(int slot) const {
    return {slots_.at(slot, kW), slots_.at(slot, kScales), slots_.at(slot, kX), slots_.at(slot, kY)};
  }

  Device& device_;
  GemvProblem problem_;
  const GemvKernels& kernels_;
  const GemvReference& reference_;
  std::string what_;
  Slots slots_;
};

/// The case without its implementation.
Case described(const Listing& listing, const GemvProblem& p, const std::string& impl) {
  const DeviceInfo& device = listing.device;
  Case made = memory_case(device, "gemv", "", p.type,
                          {{"weights", std::string(name(p.weights, p.type))},
                           {"m", std::to_string(p.m)},
                           {"k", std::to_string(p.k)},
                           {"impl", impl}},
                          listing.cache.value_or(Cache::cold), layout_of(p));
  // One multiplication and one addition per weight; converting a weight is up to the implementation.
  const Resource& pipe = device.backend == Backend::cpu ? resource::fp32_fma
                         : p.type == DataType::fp16     ? resource::fp16_tensor
                                                        : resource::bf16_tensor;
  demand_first(made, {{pipe, 2.0 * static_cast<double>(p.m) * static_cast<double>(p.k)}});
  return made;
}

Case own_case(const Listing& listing, const GemvProblem& p, const std::string& what) {
  const DeviceInfo& device = listing.device;
  const GemvKernels* kernels = select(device.backend, &cuda::gemv, &cpu::gemv);
  const GemvReference* reference = select(device.backend, &cuda::gemv_reference, &cpu::gemv_reference);
  Case made = described(listing, p, "own");
  if (!kernels || !reference) {
    made.unsupported = "this build has no matrix-vector product for the device";
  } else if (!kernels->supports(p)) {
    made.unsupported =
        fmt::format("no matrix-vector product of {} weights and {} on the device", name(p.weights, p.type), name(p.type));
  } else {
    made.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
      return std::make_unique<PreparedGemv>(setup, p, *kernels, *reference, what);
    };
  }
  return made;
}

/// The library's matrix product with one column, by its fastest algorithm.
Case library_case(const Listing& listing, const GemvProblem& p) {
  const bool cpu = listing.device.backend == Backend::cpu;
  Case made = gemm::gemm_case(listing, p.type, p.m, 1, p.k, "tn", cpu ? "default" : "tuned");
  const Case as_own = described(listing, p, value_of(made.shape, "impl"));
  made.family = as_own.family;
  made.shape = as_own.shape;
  made.work = as_own.work;
  return made;
}

/// The projections of a layer for one token, and the model's output.
std::vector<Projection> matrices(const Transformer& model) {
  std::vector<Projection> all = model.projections();
  all.push_back(model.output());
  return all;
}

/// The own kernel with plain weights against the library, and each quantised type against the plain weights.
void add(CaseList& list, DataType type, const Projection& matrix, const std::vector<GemvWeights>& quantised) {
  const Listing& listing = list.listing();
  const auto own = [&](GemvWeights weights) {
    return own_case(listing, {matrix.outputs, matrix.inputs, type, weights}, matrix.what);
  };
  const Case plain = own(GemvWeights::plain);
  Group group = {{plain}, {}};
  // A BLAS has no 16-bit types.
  if (list.on_gpu() || type == DataType::fp32) {
    const Case library = library_case(listing, {matrix.outputs, matrix.inputs, type, GemvWeights::plain});
    group.comparisons.push_back(compare(plain, library));
    group.cases.push_back(library);
  }
  for (const GemvWeights weights : quantised) {
    const Case narrow = own(weights);
    group.comparisons.push_back(compare(narrow, plain));
    group.cases.push_back(narrow);
  }
  list.add(std::move(group));
}

const std::vector<GemvWeights> kQuantised = {GemvWeights::fp8, GemvWeights::int8, GemvWeights::int4};

void list_gpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  constexpr auto kBf16 = DataType::bf16, kFp16 = DataType::fp16;
  if (suite == SuiteName::quick) return add(list, kBf16, kLlama3_70b.output(), {GemvWeights::int4});
  const bool full = suite == SuiteName::full;
  for (const Transformer& model : {kLlama3_8b, kLlama3_70b}) {
    for (const Projection& matrix : model.projections()) {
      const bool headline = matrix.what == model.gate_and_up().what;
      add(list, kBf16, matrix, full || headline ? kQuantised : std::vector<GemvWeights>{});
    }
    if (full || model.name == kLlama3_70b.name) add(list, kBf16, model.output(), kQuantised);
  }
  for (const auto& [m, k] : {std::pair{4096, 7168}, {7168, 16384}}) {
    add(list, kBf16, {"", m, k}, full ? kQuantised : std::vector<GemvWeights>{});
  }
  if (!full) return;
  for (const Projection& matrix : matrices(kLlama3_8b)) add(list, kFp16, matrix, kQuantised);
}

void list_cpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  const Projection matrix = kLlama3_8b.projections()[1];
  add(list, DataType::fp32, matrix, {});
  if (suite == SuiteName::quick) return;
  add(list, DataType::bf16, matrix, kQuantised);
  if (suite == SuiteName::baseline) return;
  for (const Projection& other : matrices(kLlama3_8b)) {
    if (other.inputs != matrix.inputs || other.outputs < 4 * matrix.outputs) add(list, DataType::bf16, other, kQuantised);
  }
  add(list, DataType::fp16, matrix, kQuantised);
}

/// One element, primes, rows that fill one and several passes of a block, with and without a remainder; on a GPU also enough
/// rows for several tiles per block.
void list_contract(CaseList& list) {
  std::vector<DataType> types = {DataType::bf16, DataType::fp16};
  if (!list.on_gpu()) types.push_back(DataType::fp32);
  for (const DataType type : types) {
    for (const std::int64_t m : {1, 7, 37}) {
      for (const std::int64_t k : {128, 384, 4352}) add(list, type, {"", m, k}, kQuantised);
      for (const std::int64_t k : {1, 1000, 1003, 2056}) add(list, type, {"", m, k}, {});
    }
    if (list.on_gpu()) add(list, type, {"", 400 * list.listing().device.multiprocessors + 1, 128}, kQuantised);
  }
}

}  // namespace

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  // Beyond so many terms, what the check allows a sum would hide a wrong element.
  constexpr std::int64_t kMost = std::int64_t{1} << 22, kMostTerms = std::int64_t{1} << 20;
  GemvProblem problem = {asked.number("m", 1, kMost), asked.number("k", 1, kMostTerms), asked.type(), GemvWeights::plain};
  const std::string weights = asked.word_or("weights", name(asked.type()));
  const auto found = std::find_if(std::begin(kGemvWeights), std::end(kGemvWeights),
                                  [&](GemvWeights one) { return name(one, problem.type) == weights; });
  if (found == std::end(kGemvWeights)) {
    throw std::invalid_argument(
        fmt::format("'{}' is not a known type of weights ({}, fp8, int8, int4)", weights, name(problem.type)));
  }
  problem.weights = *found;
  if (asked.is_or("impl", "own", "own")) return own_case(listing, problem, "");
  if (problem.weights != GemvWeights::plain) throw NotTogether("the library has no product of quantised weights");
  const bool gpu = listing.device.backend == Backend::cuda;
  if (gpu ? problem.type != DataType::bf16 && problem.type != DataType::fp16 : problem.type != DataType::fp32) {
    throw std::invalid_argument(gpu ? "compared with the library are bf16 and fp16" : "compared with the library is fp32");
  }
  return library_case(listing, problem);
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark::gemv
