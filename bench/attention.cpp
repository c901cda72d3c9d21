// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/case.hpp"
#include "harness/random.hpp"
#include "harness/traffic.hpp"
#include "kernels/attention_reference.hpp"

namespace roofmark {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Elements of Q and O, and of K and V.
std::size_t query_count(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.batch * p.queries * p.heads * p.head_dim);
}
std::size_t key_count(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.batch * p.keys * p.kv_heads * p.head_dim);
}

struct SlotBytes {
  std::size_t q, k;

  explicit SlotBytes(const AttentionProblem& p) : q(query_count(p) * size_of(p.type)), k(key_count(p) * size_of(p.type)) {}
  std::size_t touched() const { return 2 * (q + k); }
  std::size_t allocated() const { return 2 * (aligned(q) + aligned(k)); }
};

/// What an element may be off beyond the roundings that attention_scale counts, in units of u(type) x that scale: those of the
/// fp32 arithmetic. The scale holds the values that a running sum takes on its way, but for a chance as small as there.
///   fp32    n roundings to nearest of a running sum, either way as often, are together within sqrt(n) of the greatest: over
///           head_dim terms of a score, whose own error counts twice for its size, and over the keys; a few for the rest
///   16-bit  the tensor cores align the products and the sum they are added to and truncate them at 24 bits or more, in groups
///           of at least eight (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ CS, 2021):
///           unit 2^-23, and these errors add up. In the same unit lie a few for exp2 and the rest, and the reference's. And
///           a few u for the errors of errors
double fp32_error(const AttentionProblem& p) {
  const auto d = static_cast<double>(p.head_dim), keys = static_cast<double>(p.keys);
  if (p.type == DataType::fp32) return 4 + 2 * std::sqrt(d) + std::sqrt(keys);
  const double u = unit_roundoff(p.type);
  return 0x1p-23 / u * (8 + (d + keys) / 8) + 8 * u;
}

class PreparedAttention final : public Prepared {
 public:
  PreparedAttention(const Setup& setup, const AttentionProblem& problem, const AttentionKernels& kernels,
                    const AttentionReference& reference)
      : device_(setup.device),
        problem_(problem),
        bytes_(problem),
        reference_(reference),
        seed_(setup.seed),
        plan_(kernels.plan(problem)) {
    slots_ = device_.allocate(static_cast<std::size_t>(setup.slots) * bytes_.allocated());
    const std::size_t before = device_.allocated_bytes();
    if (const std::size_t bytes = plan_->workspace_bytes()) {
      workspace_ = device_.allocate(bytes);
      device_.poison(workspace_.get(), bytes);
    }
    workspace_bytes_ = device_.allocated_bytes() - before;
    for (int slot = 0; slot < setup.slots; ++slot) {
      const Arrays arrays = at(slot);
      device_.fill(arrays.q, problem.type, query_count(problem), {setup.data, setup.seed, 0});
      device_.fill(arrays.k, problem.type, key_count(problem), {setup.data, setup.seed, 1});
      device_.fill(arrays.v, problem.type, key_count(problem), {setup.data, setup.seed, 2});
      device_.poison(arrays.o, bytes_.q);
    }
  }

  void launch(Stream stream, int slot) override {
    const Arrays arrays = at(slot);
    plan_->launch({arrays.q, arrays.k, arrays.v, arrays.o}, workspace_.get(), stream);
  }

  // Every element against the reference that is fast enough for it, and where that is not float64 itself, all heads of a few
  // queries against float64: the reference is held to it too.
  Verification verify(int slot) override {
    ElementwiseError worst;
    const std::int64_t row = problem_.heads * problem_.head_dim;
    const std::int64_t together = std::clamp(kMostDoubles / row, std::int64_t{1}, problem_.queries);
    const auto piece_bytes = static_cast<std::size_t>(together * row) * sizeof(double);
    const Memory expected = device_.allocate(piece_bytes), scale = device_.allocate(piece_bytes);
    const auto compare = [&](AttentionReference::Queries reference, std::int64_t batch, std::int64_t first,
                             std::int64_t count) {
      const Arrays arrays = at(slot);
      auto* const e = static_cast<double*>(expected.get());
      auto* const s = static_cast<double*>(scale.get());
      reference(problem_, {arrays.q, arrays.k, arrays.v, nullptr}, plan_->rounds_scores(), batch, first, count, e, s,
                device_.stream());
      device_.synchronize();
      const auto begin = static_cast<std::size_t>((batch * problem_.queries + first) * row);
      const ElementwiseError found = device_.compare(problem_.type, arrays.o + begin * size_of(problem_.type),
                                                     static_cast<std::size_t>(count * row), e, s);
      if (std::isnan(worst.worst) || found.worst <= worst.worst) return;
      worst = {found.worst, begin + found.index};
    };
    for (std::int64_t batch = 0; batch < problem_.batch; ++batch) {
      for (std::int64_t first = 0; first < problem_.queries; first += together) {
        compare(reference_.fast ? reference_.fast : reference_.exact, batch, first,
                std::min(together, problem_.queries - first));
      }
      if (!reference_.fast) continue;
      for (std::int64_t query : sampled_queries(batch)) compare(reference_.exact, batch, query, 1);
    }
    return Verification::within(
        worst.worst, 1 + fp32_error(problem_),
        fmt::format("all elements, in u({}) x (|o| + spread of the roundings){}; worst at {}", name(problem_.type),
                    reference_.fast ? ", some queries in float64" : "", worst.index));
  }

  std::vector<Output> outputs(int slot) override { return {{at(slot).o, problem_.type, query_count(problem_)}}; }

  std::string fingerprint_key() const override { return plan_->algorithm(); }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> all = {{"workspace_bytes", std::to_string(workspace_bytes_)}};
    if (const std::string algorithm = plan_->algorithm(); !algorithm.empty()) all.emplace_back("algorithm", algorithm);
    return all;
  }

 private:
  static constexpr std::int64_t kMostDoubles = std::int64_t{8} << 20;

  struct Arrays {
    std::byte *q, *k, *v, *o;
  };
  Arrays at(int slot) const {
    auto* q = static_cast<std::byte*>(slots_.get()) + static_cast<std::size_t>(slot) * bytes_.allocated();
    auto* k = q + aligned(bytes_.q);
    auto* v = k + aligned(bytes_.k);
    return {q, k, v, v + aligned(bytes_.k)};
  }

  /// The first, the last and six drawn.
  std::set<std::int64_t> sampled_queries(std::int64_t batch) const {
    std::set<std::int64_t> chosen = {0, problem_.queries - 1};
    for (std::uint64_t i = 0; i < 6; ++i) {
      chosen.insert(static_cast<std::int64_t>(random_bits(seed_, static_cast<std::uint64_t>(batch), i) %
                                              static_cast<std::uint64_t>(problem_.queries)));
    }
    return chosen;
  }

  Device& device_;
  AttentionProblem problem_;
  SlotBytes bytes_;
  const AttentionReference& reference_;
  std::uint64_t seed_;
  std::unique_ptr<AttentionPlan> plan_;
  Memory slots_, workspace_;
  std::size_t workspace_bytes_ = 0;
};

/// A way by its name in the record, with its table, null where the build has none.
struct Way {
  std::string_view how;
  const AttentionKernels* kernels;
};

constexpr std::string_view kNaive = "naive", kUnfused = "unfused", kMma = "tiled_mma", kWgmma = "tiled_wgmma", kCudnn = "cudnn",
                           kTiled = "tiled";

Way way(Backend backend, std::string_view how) {
  const bool gpu = backend == Backend::cuda;
  if (how == kNaive) return {how, select(backend, &cuda::attention_naive, &cpu::attention_naive)};
  if (how == kTiled) return {how, gpu ? nullptr : &cpu::attention_tiled};
  if (!gpu) return {how, nullptr};
  if (how == kUnfused) return {how, &cuda::attention_unfused};
  if (how == kMma) return {how, &cuda::attention_tiled_mma};
  if (how == kWgmma) return {how, &cuda::attention_tiled_wgmma};
  return {how, &cuda::attention_cudnn};
}

/// Pairs of a query and a key it sees, over all heads.
double visible_pairs(const AttentionProblem& p) {
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < p.queries; ++i) pairs += visible_keys(p, i);
  return static_cast<double>(p.batch * p.heads) * static_cast<double>(pairs);
}

std::string why_unsupported(const Listing& listing, const Way& way, const AttentionReference* reference) {
  if (!way.kernels) {
    return way.how == kCudnn ? "this build has no cuDNN" : fmt::format("this build has no {} attention", way.how);
  }
  if (!reference) return "this build has no reference for attention";
  return way.kernels->unsupported(listing.device.compute_capability);
}

Case make_case(const Listing& listing, const AttentionProblem& p, std::string_view how) {
  const DeviceInfo& device = listing.device;
  const bool gpu = device.backend == Backend::cuda;
  const Way chosen = way(device.backend, how);
  const AttentionReference* reference = select(device.backend, &cuda::attention_reference, &cpu::attention_reference);

  Case made;
  made.family = "attention";
  made.how = how;
  made.type = p.type;
  made.protocol.cache = listing.cache.value_or(Cache::cold);
  made.shape = {{"batch", std::to_string(p.batch)},       {"heads", std::to_string(p.heads)},
                {"kv_heads", std::to_string(p.kv_heads)}, {"queries", std::to_string(p.queries)},
                {"keys", std::to_string(p.keys)},         {"d", std::to_string(p.head_dim)},
                {"mask", p.causal ? "causal" : "none"},   {"cache", made.protocol.cache == Cache::cold ? "cold" : "warm"}};
  const SlotBytes bytes(p);
  made.slot_bytes = bytes.allocated();
  made.touched_bytes = bytes.touched();
  if (chosen.kernels && chosen.kernels->workspace_bytes) made.shared_bytes = chosen.kernels->workspace_bytes(p);

  // Two products of head_dim terms and an exponential a visible pair.
  const double pairs = visible_pairs(p);
  const auto touched = static_cast<double>(bytes.touched());
  const Resource& pipe = !gpu ? resource::fp32_fma : p.type == DataType::fp16 ? resource::fp16_tensor : resource::bf16_tensor;
  Phase demands = {{pipe, 4 * static_cast<double>(p.head_dim) * pairs}};
  if (gpu) demands.push_back({resource::exp, pairs});
  const Phase of_memory = memory_demands(device, touched, touched, made.protocol.cache);
  demands.insert(demands.end(), of_memory.begin(), of_memory.end());
  made.work.phases = {std::move(demands)};

  made.unsupported = why_unsupported(listing, chosen, reference);
  if (made.unsupported.empty()) {
    made.prepare = [p, kernels = chosen.kernels, reference](const Setup& setup) -> std::unique_ptr<Prepared> {
      return std::make_unique<PreparedAttention>(setup, p, *kernels, *reference);
    };
  }
  return made;
}

/// Shapes of a listing, each a group of the ways that fit into memory together.
class Lister {
 public:
  explicit Lister(const Listing& listing)
      : listing_(listing),
        limit_(static_cast<std::size_t>(listing.memory_fraction * static_cast<double>(listing.device.free_bytes))) {}

  std::vector<Group> take() { return std::move(groups_); }

  /// The ways in the order of what may be left out last; with their comparisons.
  void add(const AttentionProblem& problem, const std::vector<std::string_view>& hows) {
    Group group;
    std::size_t wanted = 0;
    for (std::string_view how : hows) {
      const Case made = make_case(listing_, problem, how);
      // Two cold slots at the least.
      const std::size_t bytes = 2 * made.slot_bytes + made.shared_bytes;
      if (wanted + bytes > limit_) continue;
      wanted += bytes;
      group.cases.push_back(made);
    }
    const auto find = [&](std::string_view how) {
      const auto at = std::find_if(group.cases.begin(), group.cases.end(),
                                   [&](const Case& c) { return c.how == how && c.unsupported.empty(); });
      return at == group.cases.end() ? nullptr : &*at;
    };
    // The best that this device has of the tiled kernels.
    const Case* tiled = find(kWgmma);
    if (!tiled) tiled = find(kMma);
    if (!tiled) tiled = find(kTiled);
    const auto compare = [&](std::string_view what, const Case* numerator, const Case* denominator) {
      if (!numerator || !denominator) return;
      group.comparisons.push_back({std::string(what), numerator->name(), denominator->name()});
    };
    compare("tiled against naive", tiled, find(kNaive));
    compare("tiled against unfused", tiled, find(kUnfused));
    compare("tiled against cudnn", tiled, find(kCudnn));
    compare("wgmma against mma", find(kWgmma), find(kMma));
    if (!group.cases.empty()) groups_.push_back(std::move(group));
  }

 private:
  const Listing& listing_;
  std::size_t limit_;
  std::vector<Group> groups_;
};

constexpr std::int64_t kHeadsTimesDim = 8192;

/// Batch 1, heads x d = 8192; grouped: eight query heads to a key-value head.
AttentionProblem self_attention(DataType type, std::int64_t head_dim, std::int64_t length, bool causal, bool grouped = true) {
  const std::int64_t heads = kHeadsTimesDim / head_dim;
  return {1, heads, grouped ? heads / 8 : heads, length, length, head_dim, type, causal};
}

const std::vector<std::string_view> kFused = {kMma, kWgmma, kCudnn};
const std::vector<std::string_view> kFusedOrNot = {kMma, kWgmma, kCudnn, kUnfused};
const std::vector<std::string_view> kAll = {kMma, kWgmma, kCudnn, kUnfused, kNaive};

/// A launch of the naive way takes a good part of a second at 4096 and 16 times that at 16k, which only the headline is worth;
/// matrices of more than 16k x 16k for 64 heads do not fit beside each other.
constexpr std::int64_t kNaiveQuickEnough = 4096, kMatrixMost = 16384, kLongest = 65536;

void list_gpu(const Listing& listing, Lister& lister) {
  const auto bf16 = DataType::bf16, fp16 = DataType::fp16;
  if (listing.suite == SuiteName::quick) {
    for (bool causal : {false, true}) lister.add(self_attention(bf16, 128, 4096, causal), kFusedOrNot);
    return;
  }
  if (listing.suite == SuiteName::baseline) {
    for (std::int64_t length : {1024, 4096, 8192, 16384}) {
      lister.add(self_attention(bf16, 128, length, false), length <= kNaiveQuickEnough ? kAll : kFusedOrNot);
    }
    lister.add(self_attention(bf16, 128, 8192, true), kFusedOrNot);
    lister.add(self_attention(bf16, 128, 16384, true), kFused);
    lister.add(self_attention(bf16, 64, 8192, true), kFused);
    lister.add(self_attention(bf16, 256, 8192, true), kFused);
    lister.add(self_attention(fp16, 128, 8192, true), kFused);
    return;
  }
  // bf16 has every length with every head dimension, mask and grouping of the heads; its headline, d 128 and eight query heads
  // to a key-value head, goes on to 64k. fp16 runs through the same instructions: the headline's lengths, and one of the
  // others.
  for (DataType type : {bf16, fp16}) {
    for (std::int64_t head_dim : {128, 64, 256}) {
      for (bool grouped : {true, false}) {
        const bool headline = head_dim == 128 && grouped, every_length = type == bf16 || headline;
        for (bool causal : {false, true}) {
          for (std::int64_t length = 512; length <= (type == bf16 && headline ? kLongest : kMatrixMost); length *= 2) {
            if (!every_length && length != kNaiveQuickEnough) continue;
            const bool naive = every_length && length <= (type == bf16 && headline ? kMatrixMost : kNaiveQuickEnough);
            lister.add(self_attention(type, head_dim, length, causal, grouped), length > kMatrixMost ? kFused
                                                                                : naive              ? kAll
                                                                                                     : kFusedOrNot);
          }
        }
      }
    }
  }
}

// Eight heads; float64 makes the check of a longer sequence longer than its measuring.
void list_cpu(const Listing& listing, Lister& lister) {
  const auto problem = [](std::int64_t head_dim, std::int64_t length, bool causal, std::int64_t kv_heads = 8) {
    return AttentionProblem{1, 8, kv_heads, length, length, head_dim, DataType::fp32, causal};
  };
  if (listing.suite == SuiteName::quick) {
    lister.add(problem(128, 512, false), {kTiled, kNaive});
    return;
  }
  const bool full = listing.suite == SuiteName::full;
  for (bool causal : {false, true}) {
    for (std::int64_t length = 512; length <= (full ? 2048 : 1024); length *= 2) {
      std::vector<std::string_view> hows = {kTiled};
      if (length == 512 || (full && length == 1024)) hows.push_back(kNaive);
      lister.add(problem(128, length, causal), hows);
    }
    if (!full) continue;
    for (std::int64_t head_dim : {64, 256}) lister.add(problem(head_dim, 1024, causal), {kTiled});
    lister.add(problem(128, 1024, causal, 1), {kTiled});
  }
}

/// One element, primes, a tile and one more, other numbers of queries than of keys, rows that see nothing, grouped heads.
void list_contract(const Listing& listing, Lister& lister) {
  const bool gpu = listing.device.backend == Backend::cuda;
  const std::vector<DataType> types = gpu ? std::vector{DataType::bf16, DataType::fp16} : std::vector{DataType::fp32};
  const std::vector<std::string_view> hows = gpu ? kAll : std::vector{kTiled, kNaive};
  for (DataType type : types) {
    for (std::int64_t d : {64, 128, 256}) {
      lister.add({1, 1, 1, 1, 1, d, type, false}, hows);
      lister.add({2, 4, 2, 127, 127, d, type, true}, hows);
      lister.add({1, 2, 1, 129, 129, d, type, false}, hows);
      lister.add({1, 2, 2, 33, 200, d, type, true}, hows);
      lister.add({1, 3, 1, 200, 33, d, type, true}, hows);
    }
    if (!gpu) continue;
    lister.add({1, 2, 1, 1000, 1000, 128, type, true}, hows);
    lister.add({1, 2, 2, 4097, 4097, 64, type, true}, hows);
    lister.add({2, 2, 1, 1, 4097, 128, type, false}, hows);
  }
}

}  // namespace

std::vector<Group> attention(const Listing& listing) {
  Lister lister(listing);
  if (listing.suite == SuiteName::contract) {
    list_contract(listing, lister);
  } else if (listing.device.backend == Backend::cpu) {
    list_cpu(listing, lister);
  } else {
    list_gpu(listing, lister);
  }
  return lister.take();
}

}  // namespace roofmark
