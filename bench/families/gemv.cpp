// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemv.hpp"

#include <fmt/format.h>

#include <cmath>

#include "bench/families/gemm.hpp"
#include "bench/support/groups.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/reference_check.hpp"
#include "harness/model/traffic.hpp"
#include "kernels/gemv_reference.hpp"

namespace roofmark {
namespace {

struct SlotBytes {
  std::size_t w, scales, x, y;

  explicit SlotBytes(const GemvProblem& p)
      : w(gemv_weight_bytes(p)),
        scales(gemv_scale_count(p) * size_of(p.type)),
        x(static_cast<std::size_t>(p.k) * size_of(p.type)),
        y(static_cast<std::size_t>(p.m) * size_of(p.type)) {}
  std::size_t touched() const { return w + scales + x + y; }
  std::size_t allocated() const { return aligned(w) + aligned(scales) + aligned(x) + aligned(y); }
};

/// How far fp32 may carry a sum off, in units of u(type) x the root of the sum of the squares of its k terms: the partial sums
/// of terms of random signs are about that or less.
///   fp32    k roundings to nearest, either way as often: a standard deviation of sqrt(k / 6) of them, of which eight
///   16-bit  the tensor cores align the products and the sum they are added to and truncate them at 24 bits or more, in groups
///           of at least eight (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ CS, 2021):
///           unit 2^-23, and these errors add up; a few for the sums of sums
double spread(const GemvProblem& p) {
  const auto k = static_cast<double>(p.k);
  if (p.type == DataType::fp32) return 2 + 8 * std::sqrt(k / 6);
  return 0x1p-23 / unit_roundoff(p.type) * (8 + k / 8);
}

class PreparedGemv final : public Prepared {
 public:
  PreparedGemv(const Setup& setup, const GemvProblem& problem, const GemvKernels& kernels, const GemvReference& reference,
               std::string what)
      : device_(setup.device),
        problem_(problem),
        bytes_(problem),
        kernels_(kernels),
        reference_(reference),
        what_(std::move(what)) {
    slots_ = device_.allocate(static_cast<std::size_t>(setup.slots) * bytes_.allocated());
    for (int slot = 0; slot < setup.slots; ++slot) {
      const Arrays arrays = at(slot);
      const auto fill = [&](void* to, DataType type, std::size_t bytes, std::uint64_t array) {
        device_.fill(to, type, bytes / size_of(type), {setup.data, setup.seed, array});
      };
      // Uniform bytes are pairs of uniform int4.
      const DataType stored = problem.weights == GemvWeights::plain ? problem.type
                              : problem.weights == GemvWeights::fp8 ? DataType::fp8
                                                                    : DataType::int8;
      fill(arrays.w, stored, bytes_.w, 0);
      fill(arrays.x, problem.type, bytes_.x, 1);
      if (bytes_.scales > 0) fill(arrays.scales, problem.type, bytes_.scales, 2);
      device_.poison(arrays.y, bytes_.y);
    }
  }

  void launch(Stream stream, int slot) override { kernels_.launch(problem_, at(slot).of_kernel(), stream); }

  // The scale holds the spread of the fp32 roundings; then there are the last, and that it is of what the sum came to.
  Verification verify(int slot) override {
    const auto reference = [&](std::int64_t /*all*/, std::int64_t, double* expected, double* scale) {
      reference_.compute(problem_, at(slot).of_kernel(), spread(problem_), expected, scale, device_.stream());
    };
    return check_outputs(device_, {{"y", outputs(slot).front(), problem_.m, 1.01, reference}});
  }

  std::vector<Output> outputs(int slot) override { return {{at(slot).y, problem_.type, static_cast<std::size_t>(problem_.m)}}; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    if (what_.empty()) return {};
    return {{"shape of", what_}};
  }

 private:
  struct Arrays {
    std::byte *w, *scales, *x, *y;
    GemvArrays of_kernel() const { return {w, scales, x, y}; }
  };
  Arrays at(int slot) const {
    auto* w = static_cast<std::byte*>(slots_.get()) + static_cast<std::size_t>(slot) * bytes_.allocated();
    auto* scales = w + aligned(bytes_.w);
    auto* x = scales + aligned(bytes_.scales);
    return {w, scales, x, x + aligned(bytes_.x)};
  }

  Device& device_;
  GemvProblem problem_;
  SlotBytes bytes_;
  const GemvKernels& kernels_;
  const GemvReference& reference_;
  std::string what_;
  Memory slots_;
};

/// The case without its implementation.
Case described(const Listing& listing, const GemvProblem& p, const std::string& impl) {
  const DeviceInfo& device = listing.device;
  Case made;
  made.family = "gemv";
  made.type = p.type;
  made.protocol.cache = listing.cache.value_or(Cache::cold);
  made.shape = {{"weights", std::string(name(p.weights, p.type))},
                {"m", std::to_string(p.m)},
                {"k", std::to_string(p.k)},
                {"impl", impl},
                shape_entry(made.protocol.cache)};
  // A multiplication and an addition a weight; what it takes to widen a weight is the implementation's.
  const Resource& pipe = device.backend == Backend::cpu ? resource::fp32_fma
                         : p.type == DataType::fp16     ? resource::fp16_tensor
                                                        : resource::bf16_tensor;
  const auto touched = static_cast<double>(SlotBytes(p).touched());
  Phase demands = memory_demands(device, touched, touched, made.protocol.cache);
  demands.insert(demands.begin(), {pipe, 2.0 * static_cast<double>(p.m) * static_cast<double>(p.k)});
  made.work.phases = {std::move(demands)};
  return made;
}

Case own_case(const Listing& listing, const GemvProblem& p, const std::string& what) {
  const DeviceInfo& device = listing.device;
  const GemvKernels* kernels = select(device.backend, &cuda::gemv, &cpu::gemv);
  const GemvReference* reference = select(device.backend, &cuda::gemv_reference, &cpu::gemv_reference);
  Case made = described(listing, p, "own");
  made.slot_bytes = SlotBytes(p).allocated();
  made.touched_bytes = SlotBytes(p).touched();
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

/// The library's matrix product with one column, the fastest of what it proposes.
Case library_case(const Listing& listing, const GemvProblem& p) {
  const bool cpu = listing.device.backend == Backend::cpu;
  Case made = gemm_case(listing, p.type, p.m, 1, p.k, "tn", cpu ? "default" : "tuned");
  const Case as_own = described(listing, p, value_of(made.shape, "impl"));
  made.family = as_own.family;
  made.shape = as_own.shape;
  made.work = as_own.work;
  return made;
}

struct Matrix {
  std::int64_t m, k;
  std::string what = {};
};

/// The projections of a model's layer for one token, from its published configuration: hidden size, heads, key-value heads of
/// dimension 128 and the feed-forward size, whose gate and up projections are one product; and its output over the vocabulary.
std::vector<Matrix> projections(const std::string& model, std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads,
                                std::int64_t feed_forward) {
  constexpr std::int64_t kHead = 128;
  return {{(heads + 2 * kv_heads) * kHead, hidden, model + ", query, key and value"},
          {hidden, heads * kHead, model + ", attention output"},
          {2 * feed_forward, hidden, model + ", gate and up"},
          {hidden, feed_forward, model + ", down"},
          {128256, hidden, model + ", output over the vocabulary"}};
}
std::vector<Matrix> llama3_8b() { return projections("Llama 3 8B", 4096, 32, 8, 14336); }
std::vector<Matrix> llama3_70b() { return projections("Llama 3 70B", 8192, 64, 8, 28672); }

/// The own kernel with plain weights beside the library's, and each kind of quantised ones beside the plain.
void add(Groups& groups, DataType type, const Matrix& matrix, const std::vector<GemvWeights>& quantised) {
  const Listing& listing = groups.listing();
  const auto own = [&](GemvWeights weights) { return own_case(listing, {matrix.m, matrix.k, type, weights}, matrix.what); };
  const Case plain = own(GemvWeights::plain);
  Group group = {{plain}, {}};
  // A BLAS has no 16-bit types.
  if (groups.on_gpu() || type == DataType::fp32) {
    const Case library = library_case(listing, {matrix.m, matrix.k, type, GemvWeights::plain});
    group.comparisons.push_back(compare(plain, library));
    group.cases.push_back(library);
  }
  for (const GemvWeights weights : quantised) {
    const Case narrow = own(weights);
    group.comparisons.push_back(compare(narrow, plain));
    group.cases.push_back(narrow);
  }
  groups.add(std::move(group));
}

const std::vector<GemvWeights> kQuantised = {GemvWeights::fp8, GemvWeights::int8, GemvWeights::int4};

void list_gpu(Groups& groups) {
  const SuiteName suite = groups.listing().suite;
  constexpr auto kBf16 = DataType::bf16, kFp16 = DataType::fp16;
  const std::vector<Matrix> small = llama3_8b(), large = llama3_70b();
  const Matrix& head = large.back();  // 2.1 GB of 16-bit weights
  if (suite == SuiteName::quick) return add(groups, kBf16, head, {GemvWeights::int4});
  const bool full = suite == SuiteName::full;
  for (const auto& model : {small, large}) {
    for (const Matrix& matrix : model) {
      const bool headline = matrix.what == model[2].what || matrix.what == head.what;
      if (full || headline || matrix.what != small.back().what)
        add(groups, kBf16, matrix, full || headline ? kQuantised : std::vector<GemvWeights>{});
    }
  }
  for (const Matrix& matrix : {Matrix{4096, 7168}, Matrix{7168, 16384}})
    add(groups, kBf16, matrix, full ? kQuantised : std::vector<GemvWeights>{});
  if (!full) return;
  for (const Matrix& matrix : small) add(groups, kFp16, matrix, kQuantised);
}

void list_cpu(Groups& groups) {
  const SuiteName suite = groups.listing().suite;
  const Matrix matrix = llama3_8b()[1];
  add(groups, DataType::fp32, matrix, {});
  if (suite == SuiteName::quick) return;
  add(groups, DataType::bf16, matrix, kQuantised);
  if (suite == SuiteName::baseline) return;
  for (const Matrix& other : llama3_8b()) {
    if (other.k != matrix.k || other.m < 4 * matrix.m) add(groups, DataType::bf16, other, kQuantised);
  }
  add(groups, DataType::fp16, matrix, kQuantised);
}

/// One element, primes, rows that a block goes over once and several times, to their end and short of it; on a GPU also enough
/// rows for a block to take several tiles of them.
void list_contract(Groups& groups) {
  std::vector<DataType> types = {DataType::bf16, DataType::fp16};
  if (!groups.on_gpu()) types.push_back(DataType::fp32);
  for (const DataType type : types) {
    for (const std::int64_t m : {1, 7, 37}) {
      for (const std::int64_t k : {128, 384, 4352}) add(groups, type, {m, k}, kQuantised);
      for (const std::int64_t k : {1, 1000, 1003, 2056}) add(groups, type, {m, k}, {});
    }
    if (groups.on_gpu()) add(groups, type, {400 * groups.listing().device.multiprocessors + 1, 128}, kQuantised);
  }
}

}  // namespace

std::vector<Group> gemv(const Listing& listing) { return list_groups(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark
