// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <set>
#include <stdexcept>

#include "bench/support/groups.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/product_check.hpp"
#include "harness/model/traffic.hpp"
#include "kernels/base/check.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {
namespace {

constexpr int kMostAlgorithms = 8;

const GemmKernels* kernels_for(Backend backend) { return select(backend, &cuda::gemm, &cpu::gemm); }

struct Sizes {
  std::size_t a, b, d;  ///< elements

  explicit Sizes(const GemmProblem& p)
      : a(static_cast<std::size_t>(p.m * p.k)),
        b(static_cast<std::size_t>(p.k * p.n)),
        d(static_cast<std::size_t>(p.m * p.n)) {}
};

struct SlotBytes {
  std::size_t a, b, d;

  explicit SlotBytes(const GemmProblem& p)
      : a(Sizes(p).a * size_of(p.type)), b(Sizes(p).b * size_of(p.type)), d(Sizes(p).d * size_of(gemm_output_type(p.type))) {}
  std::size_t touched() const { return a + b + d; }
  std::size_t allocated() const { return aligned(a) + aligned(b) + aligned(d); }
};

/// Every slot holds the same bits, so each must give the same ones.
class PreparedGemm final : public Prepared {
 public:
  PreparedGemm(const Setup& setup, const GemmProblem& problem, const GemmKernels& kernels, bool tuned, std::string what)
      : device_(setup.device),
        problem_(problem),
        bytes_(problem),
        kernels_(kernels),
        what_(std::move(what)),
        plan_(kernels.plan(problem, tuned ? kMostAlgorithms : 1)) {
    const Fill a{setup.data, setup.seed, 0}, b{setup.data, setup.seed, 1};
    arrays_ = device_.allocate(static_cast<std::size_t>(setup.slots) * bytes_.allocated());
    if (kernels_.workspace_bytes > 0) workspace_ = device_.allocate(kernels_.workspace_bytes);
    for (int slot = 0; slot < setup.slots; ++slot) {
      device_.fill(at(slot).a, problem.type, Sizes(problem).a, a);
      device_.fill(at(slot).b, problem.type, Sizes(problem).b, b);
    }
    if (tuned) tune(setup);
    for (int slot = 0; slot < setup.slots; ++slot) device_.poison(at(slot).d, bytes_.d);
    check_.emplace(problem, a, b, plan_->output_roundings(algorithm_));
  }

  void launch(Stream stream, int slot) override { run(algorithm_, stream, slot); }

  Verification verify(int slot) override { return check_->verify(device_, at(slot).a, at(slot).b, at(slot).d); }

  std::vector<Output> outputs(int slot) override { return {{at(slot).d, gemm_output_type(problem_.type), Sizes(problem_).d}}; }

  std::string fingerprint_key() const override { return kernels_.version() + "; " + algorithm(); }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> all = {{"library", kernels_.version()}, {"algorithm", algorithm()}};
    if (kernels_.workspace_bytes > 0) all.emplace_back("workspace offered", std::to_string(kernels_.workspace_bytes));
    if (!tuning_.empty()) all.emplace_back("tuning", tuning_);
    if (!what_.empty()) all.emplace_back("shape of", what_);
    return all;
  }

 private:
  struct Operands {
    std::byte *a, *b, *d;
  };
  Operands at(int slot) const {
    auto* a = static_cast<std::byte*>(arrays_.get()) + static_cast<std::size_t>(slot) * bytes_.allocated();
    return {a, a + aligned(bytes_.a), a + aligned(bytes_.a) + aligned(bytes_.b)};
  }

  void run(int algorithm, Stream stream, int slot) const {
    const Operands operands = at(slot);
    plan_->launch(algorithm, operands.a, operands.b, operands.d, workspace_.get(), stream);
  }

  void tune(const Setup& setup) {
    const auto count = static_cast<int>(plan_->algorithms().size());
    std::vector<Launch> launches;
    for (int i = 0; i < count; ++i) launches.emplace_back([this, i](Stream stream, int slot) { run(i, stream, slot); });
    // A library may propose what it then cannot run; the others still can.
    const std::vector<double> seconds = setup.time(launches);
    algorithm_ = static_cast<int>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
    const double best = seconds[static_cast<std::size_t>(algorithm_)];
    tuning_ = fmt::format("number {} of {} proposed", algorithm_ + 1, count);
    if (std::isfinite(seconds.front())) {
      tuning_ += fmt::format("; when chosen {:.3f} times as fast as the first", seconds.front() / best);
    }
    const auto failed = std::count(seconds.begin(), seconds.end(), std::numeric_limits<double>::infinity());
    if (failed > 0) tuning_ += fmt::format("; {} unusable", failed);
  }

  const std::string& algorithm() const { return plan_->algorithms()[static_cast<std::size_t>(algorithm_)]; }

  Device& device_;
  GemmProblem problem_;
  SlotBytes bytes_;
  const GemmKernels& kernels_;
  std::string what_;
  std::unique_ptr<GemmPlan> plan_;
  Memory arrays_, workspace_;
  int algorithm_ = 0;
  std::string tuning_;
  std::optional<ProductCheck> check_;
};

bool has_fp64_tensor_cores(const DeviceInfo& device) {
  const int capability = device.compute_capability;
  return capability == 80 || capability == 90 || capability == 100;
}

/// The pipe that 2 m n k operations of a type need.
Resource pipe(const DeviceInfo& device, DataType type) {
  switch (type) {
    case DataType::fp64:
      return has_fp64_tensor_cores(device) ? resource::fp64_tensor : resource::fp64_fma;
    case DataType::tf32:
      return resource::tf32_tensor;
    case DataType::fp16:
      return resource::fp16_tensor;
    case DataType::bf16:
      return resource::bf16_tensor;
    case DataType::fp8:
      return resource::fp8_tensor;
    case DataType::int8:
      return resource::int8_tensor;
    default:
      return resource::fp32_fma;
  }
}

/// The first compute capability whose tensor cores multiply a type; 0 where none are needed.
int first_capability(DataType type) {
  switch (type) {
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

/// Why the device cannot do it; empty when nothing is known against it.
std::string reason_against(const Listing& listing, const GemmKernels* kernels, const GemmProblem& problem, bool tuned) {
  const DeviceInfo& device = listing.device;
  if (!kernels) return "this build has no matrix product for this kind of device";
  if (problem.type == DataType::int32) return "no library multiplies int32";
  if (device.backend == Backend::cpu) {
    if (problem.type != DataType::fp64 && problem.type != DataType::fp32) return "the BLAS multiplies fp64 and fp32 alone";
    if (tuned) return "the BLAS proposes no algorithms to choose among";
  } else {
    if (const int first = first_capability(problem.type); device.compute_capability < first) {
      return fmt::format("{} takes compute capability {}.{}, this device has {}.{}", name(problem.type), first / 10, first % 10,
                         device.compute_capability / 10, device.compute_capability % 10);
    }
    if (problem.type == DataType::fp8) {
      // "To use FP8 kernels" in the cuBLASLt documentation; n is no leading dimension of tn.
      if (problem.layout != GemmLayout::tn && device.compute_capability < 100) {
        return "fp8 takes layout tn below compute capability 10.0";
      }
      if (problem.m % 16 != 0 || problem.k % 16 != 0) return "fp8 takes m and k that are multiples of 16";
    }
  }
  const std::size_t wanted = SlotBytes(problem).allocated() + kernels->workspace_bytes;
  if (device.memory_bytes > 0 && wanted > device.memory_bytes) {
    return fmt::format("takes {} bytes, the device has {}", wanted, device.memory_bytes);
  }
  return {};
}

/// `what`: whose shape it is, for the record.
Case make_case(const Listing& listing, const GemmProblem& problem, const std::string& algo, const std::string& what = {}) {
  if (algo != "default" && algo != "tuned") {
    throw std::invalid_argument("unknown algo '" + algo + "' (known: default, tuned)");
  }
  if (problem.m < 1 || problem.n < 1 || problem.k < 1) throw std::invalid_argument("a matrix product takes sizes from 1");
  const DeviceInfo& device = listing.device;
  const GemmKernels* kernels = kernels_for(device.backend);
  const bool tuned = algo == "tuned";

  Case made;
  made.family = "gemm";
  made.type = problem.type;
  made.protocol.cache = listing.cache.value_or(Cache::cold);
  made.shape = {{"m", std::to_string(problem.m)},
                {"n", std::to_string(problem.n)},
                {"k", std::to_string(problem.k)},
                {"impl", device.backend == Backend::cpu ? "blas" : "cublaslt"},
                {"layout", std::string(name(problem.layout))},
                {"algo", algo},
                shape_entry(made.protocol.cache)};
  const SlotBytes bytes(problem);
  made.slot_bytes = bytes.allocated();
  made.shared_bytes = kernels ? kernels->workspace_bytes : 0;
  const auto touched = static_cast<double>(bytes.touched());
  Phase phase = memory_demands(device, touched, touched, made.protocol.cache);
  const double operations =
      2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
  phase.insert(phase.begin(), {pipe(device, problem.type), operations});
  made.work.phases = {std::move(phase)};
  made.unsupported = reason_against(listing, kernels, problem, tuned);
  if (made.unsupported.empty()) {
    made.prepare = [problem, kernels, tuned, what](const Setup& setup) -> std::unique_ptr<Prepared> {
      return std::make_unique<PreparedGemm>(setup, problem, *kernels, tuned, what);
    };
  }
  return made;
}

/// A projection of a transformer's layer over tokens: y [tokens, outputs] = x [tokens, inputs] W^T, row-major, W [outputs,
/// inputs].
struct Projection {
  std::string what;
  std::int64_t outputs, inputs;
};

/// From the published configurations of the models: hidden size, heads, key-value heads, head dimension 128, and the
/// feed-forward size, whose gate and up projections are one product.
std::vector<Projection> projections(const std::string& model, std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads,
                                    std::int64_t feed_forward) {
  constexpr std::int64_t kHead = 128;
  return {{model + ", query, key and value", (heads + 2 * kv_heads) * kHead, hidden},
          {model + ", attention output", hidden, heads * kHead},
          {model + ", gate and up", 2 * feed_forward, hidden},
          {model + ", down", hidden, feed_forward}};
}
std::vector<Projection> llama3_8b() { return projections("Llama 3 8B", 4096, 32, 8, 14336); }
std::vector<Projection> llama3_70b() { return projections("Llama 3 70B", 8192, 64, 8, 28672); }

/// Collects groups whose cases have names of their own.
class Lister {
 public:
  explicit Lister(const Listing& listing) : listing_(listing), cpu_(listing.device.backend == Backend::cpu) {}

  std::vector<Group> take() { return std::move(groups_); }

  /// m = n = k, layout tn: by the first choice, tuned, or both against each other.
  void square(DataType type, std::int64_t size, bool with_default = true) {
    Group group;
    add_both(group, {size, size, size, type, GemmLayout::tn}, with_default);
    groups_.push_back(std::move(group));
  }

  /// The square of `base` beside those a few elements off and beside the other layouts.
  void square_with_neighbours(DataType type, std::int64_t base, const std::vector<std::int64_t>& sizes, bool layouts) {
    Group group;
    add_both(group, {base, base, base, type, GemmLayout::tn}, true);
    const Case aligned = group.cases.back();
    for (std::int64_t size : sizes) {
      add(group, best({size, size, size, type, GemmLayout::tn}));
    }
    for (GemmLayout layout : kGemmLayouts) {
      if (!layouts || layout == GemmLayout::tn) continue;
      const Case other = best({base, base, base, type, layout});
      compare(group, aligned, other);
      add(group, other);
    }
    groups_.push_back(std::move(group));
  }

  void one(const GemmProblem& problem) {
    Group group;
    add_both(group, problem, true);
    if (!group.cases.empty()) groups_.push_back(std::move(group));
  }

  void projection(DataType type, const Projection& projection, std::int64_t tokens, bool with_default) {
    Group group;
    add_both(group, {projection.outputs, tokens, projection.inputs, type, GemmLayout::tn}, with_default, projection.what);
    if (!group.cases.empty()) groups_.push_back(std::move(group));
  }

 private:
  Case best(const GemmProblem& problem, const std::string& what = {}) const {
    return make_case(listing_, problem, cpu_ ? "default" : "tuned", what);
  }

  void add_both(Group& group, const GemmProblem& problem, bool with_default, const std::string& what = {}) {
    const Case tuned = best(problem, what);
    if (with_default && !cpu_) {
      const Case first = make_case(listing_, problem, "default", what);
      compare(group, tuned, first);
      add(group, first);
    }
    add(group, tuned);
  }

  // Two models may share a shape: it is measured once.
  void add(Group& group, const Case& made) {
    if (names_.insert(made.name()).second) group.cases.push_back(made);
  }

  void compare(Group& group, const Case& numerator, const Case& denominator) const {
    if (names_.contains(denominator.name()) || !numerator.unsupported.empty() || !denominator.unsupported.empty()) return;
    group.comparisons.push_back(roofmark::compare(numerator, denominator));
  }

  const Listing& listing_;
  bool cpu_;
  std::vector<Group> groups_;
  std::set<std::string> names_;
};

constexpr DataType kGpuTypes[] = {DataType::bf16, DataType::fp16, DataType::tf32, DataType::fp8,
                                  DataType::int8, DataType::fp32, DataType::fp64};

/// Where fp64 runs at a 64th of the fp32 rate, one launch of a great square would take seconds.
std::int64_t largest_square(const DeviceInfo& device, DataType type) {
  return type == DataType::fp64 && !has_fp64_tensor_cores(device) ? 2048 : 16384;
}

void list_gpu(const Listing& listing, Lister& lister) {
  constexpr std::int64_t kBase = 4096;
  const std::vector<std::int64_t> tokens = {1, 16, 128, 1024, 8192};
  const std::vector<std::int64_t> near_base = {kBase - 1, kBase + 1, kBase + 8};
  if (listing.suite == SuiteName::quick) {
    lister.square(DataType::bf16, 1024, false);
    lister.square(DataType::bf16, kBase);
    lister.square(DataType::bf16, 8192, false);
    for (DataType type : kGpuTypes) {
      if (type != DataType::bf16) lister.square(type, std::min(kBase, largest_square(listing.device, type)), false);
    }
    const Projection gate_and_up = llama3_8b()[2];
    for (std::int64_t count : {1, 1024}) lister.projection(DataType::bf16, gate_and_up, count, false);
    return;
  }

  const bool full = listing.suite == SuiteName::full;
  for (DataType type : kGpuTypes) {
    const bool thorough = full || type == DataType::bf16;
    for (std::int64_t size = 256; size <= largest_square(listing.device, type); size *= 2) {
      if (!thorough && size != 1024 && size != kBase && size != 8192) continue;
      if (size == kBase && thorough) {
        lister.square_with_neighbours(type, size, near_base, true);
      } else {
        lister.square(type, size);
      }
    }
  }
  for (DataType type : {DataType::bf16, DataType::fp8}) {
    if (type == DataType::fp8 && !full) continue;
    for (const std::vector<Projection>& model : {llama3_8b(), llama3_70b()}) {
      for (const Projection& projection : model) {
        for (std::int64_t count : tokens) lister.projection(type, projection, count, full);
      }
    }
  }
}

void list_cpu(const Listing& listing, Lister& lister) {
  constexpr std::int64_t kBase = 1024;
  const bool quick = listing.suite == SuiteName::quick, full = listing.suite == SuiteName::full;
  for (DataType type : {DataType::fp64, DataType::fp32}) {
    for (std::int64_t size = quick ? 512 : 256; size <= (full ? 4096 : 2048); size *= 2) {
      if (size == kBase && !quick) {
        lister.square_with_neighbours(type, size, {kBase - 1, kBase + 1}, full || type == DataType::fp32);
      } else {
        lister.square(type, size);
      }
    }
  }
  if (!full) return;
  for (const Projection& projection : llama3_8b()) {
    for (std::int64_t tokens : {1, 16}) lister.projection(DataType::fp32, projection, tokens, false);
  }
}

// Dimensions of one, primes, and for the types that need them multiples of 16; every layout.
void list_contract(Lister& lister) {
  struct Dimensions {
    std::int64_t m, n, k;
  };
  for (DataType type : kGpuTypes) {
    for (GemmLayout layout : kGemmLayouts) {
      for (const auto& [m, n, k] : {Dimensions{1, 1, 1}, {17, 31, 61}, {300, 1, 257}, {48, 272, 32}}) {
        lister.one({m, n, k, type, layout});
      }
    }
  }
}

}  // namespace

Case gemm_case(const Listing& listing, DataType type, std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout,
               const std::string& algo) {
  return make_case(listing, {m, n, k, type, parse_gemm_layout(layout)}, algo);
}

std::vector<Group> gemm(const Listing& listing) {
  Lister lister(listing);
  if (listing.suite == SuiteName::contract) {
    list_contract(lister);
  } else if (listing.device.backend == Backend::cpu) {
    list_cpu(listing, lister);
  } else {
    list_gpu(listing, lister);
  }
  return lister.take();
}

}  // namespace roofmark
