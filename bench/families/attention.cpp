// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/support/attention_operands.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/random.hpp"

namespace roofmark::attention {
namespace {

class PreparedAttention final : public Prepared {
 public:
  PreparedAttention(const Setup& setup, const AttentionProblem& problem, const AttentionKernels& kernels,
                    const AttentionReference& reference, bool deterministic)
      : device_(setup.device),
        problem_(problem),
        deterministic_(deterministic),
        plan_(kernels.plan(problem)),
        operands_(setup, problem),
        reference_(reference),
        seed_(setup.seed) {
    const std::size_t before = device_.allocated_bytes();
    if (const std::size_t bytes = plan_->workspace_bytes()) {
      workspace_ = device_.allocate(bytes);
      device_.poison(workspace_.get(), bytes);
    }
    workspace_bytes_ = device_.allocated_bytes() - before;
  }

  void launch(Stream stream, int slot) override { plan_->launch(operands_.at(slot), workspace_.get(), stream); }

  // Every element against the fast reference; where that is not float64, also all heads of a few queries against float64.
  Verification verify(int slot) override {
    const bool rounds = plan_->rounds_scores();
    const CheckedOutput exact = operands_.checked(slot, reference_.exact, rounds);
    if (!reference_.fast) return check_outputs(device_, {exact});
    Verification found = check_outputs(device_, {operands_.checked(slot, reference_.fast, rounds)});
    for (std::int64_t row : sampled_rows()) {
      if (found.status != Verification::Status::passed) break;
      const ElementwiseError error = worst_error(device_, exact, row, 1);
      if (error.worst <= found.error) continue;
      found = Verification::within(error.worst, exact.bound,
                                   fmt::format("query {} of O against float64, in u({}) x scale", row, name(problem_.type)));
    }
    return found;
  }

  std::vector<Output> outputs(int slot) override { return {operands_.output(slot)}; }
  bool is_deterministic() const override { return deterministic_; }

  std::string fingerprint_key() const override { return plan_->algorithm(); }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> all = {{"workspace_bytes", std::to_string(workspace_bytes_)}};
    if (const std::string algorithm = plan_->algorithm(); !algorithm.empty()) all.emplace_back("algorithm", algorithm);
    return all;
  }

 private:
  /// Per batch: the first query, the last, and six random ones.
  std::set<std::int64_t> sampled_rows() const {
    std::set<std::int64_t> chosen;
    for (std::int64_t batch = 0; batch < problem_.batch; ++batch) {
      const std::int64_t first = batch * problem_.queries;
      chosen.insert({first, first + problem_.queries - 1});
      for (std::uint64_t i = 0; i < 6; ++i) {
        chosen.insert(first + static_cast<std::int64_t>(random_bits(seed_, static_cast<std::uint64_t>(batch), i) %
                                                        static_cast<std::uint64_t>(problem_.queries)));
      }
    }
    return chosen;
  }

  Device& device_;
  AttentionProblem problem_;
  bool deterministic_;
  std::unique_ptr<AttentionPlan> plan_;  // first: a problem that the library refuses needs no operands
  AttentionOperands operands_;
  const AttentionReference& reference_;
  std::uint64_t seed_;
  Memory workspace_;
  std::size_t workspace_bytes_ = 0;
};

/// An implementation: its name in the case and its kernels, null where the build has none.
struct Implementation {
  std::string_view name;
  const AttentionKernels* kernels;
};

constexpr std::string_view kNaive = "naive", kUnfused = "unfused", kMma = "tiled_mma", kWgmma = "tiled_wgmma", kCudnn = "cudnn",
                           kTiled = "tiled";

Implementation implementation(Backend backend, std::string_view name) {
  const bool gpu = backend == Backend::cuda;
  if (name == kNaive) return {name, select(backend, &cuda::attention_naive, &cpu::attention_naive)};
  if (name == kTiled) return {name, gpu ? nullptr : &cpu::attention_tiled};
  if (!gpu) return {name, nullptr};
  if (name == kUnfused) return {name, &cuda::attention_unfused};
  if (name == kMma) return {name, &cuda::attention_tiled_mma};
  if (name == kWgmma) return {name, &cuda::attention_tiled_wgmma};
  return {name, &cuda::attention_cudnn};
}

/// Of every implementation on a kind of device.
std::vector<DataType> types_on(Backend backend) {
  return backend == Backend::cuda ? std::vector{DataType::bf16, DataType::fp16} : std::vector{DataType::fp32};
}

std::string why_unsupported(const Listing& listing, DataType type, const Implementation& impl,
                            const AttentionReference* reference) {
  if (!impl.kernels) {
    return impl.name == kCudnn ? "this build has no cuDNN" : fmt::format("this build has no {} attention", impl.name);
  }
  if (!reference) return "this build has no reference for attention";
  const std::vector<DataType> types = types_on(listing.device.backend);
  if (std::find(types.begin(), types.end(), type) == types.end()) {
    return fmt::format("no attention of {} on the device", name(type));
  }
  return impl.kernels->unsupported(listing.device.compute_capability);
}

Case make_case(const Listing& listing, const AttentionProblem& p, std::string_view impl) {
  const Backend backend = listing.device.backend;
  const Implementation chosen = implementation(backend, impl);
  const AttentionReference* reference = select(backend, &cuda::attention_reference, &cpu::attention_reference);

  const Shape shape = {{"batch", std::to_string(p.batch)},       {"heads", std::to_string(p.heads)},
                       {"kv_heads", std::to_string(p.kv_heads)}, {"queries", std::to_string(p.queries)},
                       {"keys", std::to_string(p.keys)},         {"d", std::to_string(p.head_dim)},
                       {"mask", p.causal ? "causal" : "none"},   {"impl", std::string(impl)}};
  Case made = attention_case(listing, "attention", shape, p);
  if (chosen.kernels && chosen.kernels->workspace_bytes) made.shared_bytes = chosen.kernels->workspace_bytes(p);
  made.unsupported = why_unsupported(listing, p.type, chosen, reference);
  if (made.unsupported.empty()) {
    // A query's sums have a fixed order in the own kernels and in products by cuBLASLt; cuDNN chooses.
    const bool fixed_order = chosen.name != kCudnn;
    made.prepare = [p, fixed_order, kernels = chosen.kernels, reference](const Setup& setup) -> std::unique_ptr<Prepared> {
      return std::make_unique<PreparedAttention>(setup, p, *kernels, *reference, fixed_order);
    };
  }
  return made;
}

/// `impls`: most important first. The best tiled kernel of this device is compared with each of the others.
void add(CaseList& list, const AttentionProblem& problem, const std::vector<std::string_view>& impls) {
  Group group;
  for (std::string_view impl : impls) group.cases.push_back(make_case(list.listing(), problem, impl));
  const auto find = [&](std::string_view impl) -> const Case* {
    const auto at = std::find_if(group.cases.begin(), group.cases.end(),
                                 [&](const Case& c) { return value_of(c.shape, "impl") == impl && c.unsupported.empty(); });
    return at == group.cases.end() ? nullptr : &*at;
  };
  const Case* tiled = nullptr;
  for (std::string_view impl : {kWgmma, kMma, kTiled}) tiled = tiled ? tiled : find(impl);
  for (std::string_view impl : {kNaive, kUnfused, kCudnn, kMma}) {
    const Case* other = find(impl);
    if (tiled && other && tiled != other) group.comparisons.push_back(compare(*tiled, *other));
  }
  list.add(std::move(group));
}

constexpr std::int64_t kHeadsTimesDim = 8192;

/// Batch 1, heads x d = 8192; grouped: eight query heads per key-value head.
AttentionProblem self_attention(DataType type, std::int64_t head_dim, std::int64_t length, bool causal, bool grouped = true) {
  const std::int64_t heads = kHeadsTimesDim / head_dim;
  return {1, heads, grouped ? heads / 8 : heads, length, length, head_dim, type, causal};
}

const std::vector<std::string_view> kFused = {kMma, kWgmma, kCudnn};
const std::vector<std::string_view> kFusedOrNot = {kMma, kWgmma, kCudnn, kUnfused};
const std::vector<std::string_view> kAll = {kMma, kWgmma, kCudnn, kUnfused, kNaive};
const std::vector<std::string_view> kOfCpu = {kTiled, kNaive};

/// A naive launch takes a good part of a second at 4096 and 16 times as long at 16k, which is for the headline alone. Score
/// matrices beyond 16k x 16k for 64 heads do not fit into memory together.
constexpr std::int64_t kNaiveQuickEnough = 4096, kMatrixMost = 16384, kLongest = 65536;

void list_gpu(CaseList& list) {
  const Listing& listing = list.listing();
  const auto bf16 = DataType::bf16, fp16 = DataType::fp16;
  if (listing.suite == SuiteName::quick) {
    for (bool causal : {false, true}) add(list, self_attention(bf16, 128, 4096, causal), kFusedOrNot);
    return;
  }
  if (listing.suite == SuiteName::baseline) {
    for (std::int64_t length : {1024, 4096, 8192, 16384}) {
      add(list, self_attention(bf16, 128, length, false), length <= kNaiveQuickEnough ? kAll : kFusedOrNot);
    }
    add(list, self_attention(bf16, 128, 8192, true), kFusedOrNot);
    add(list, self_attention(bf16, 128, 16384, true), kFused);
    add(list, self_attention(bf16, 64, 8192, true), kFused);
    add(list, self_attention(bf16, 256, 8192, true), kFused);
    add(list, self_attention(fp16, 128, 8192, true), kFused);
    return;
  }
  // bf16: every length, head dimension, mask and grouping; the headline, d 128 with eight query heads per key-value head, goes
  // up to 64k. fp16 uses the same instructions: the lengths of the headline, and one length for the rest.
  for (DataType type : {bf16, fp16}) {
    for (std::int64_t head_dim : {128, 64, 256}) {
      for (bool grouped : {true, false}) {
        const bool headline = head_dim == 128 && grouped, every_length = type == bf16 || headline;
        for (bool causal : {false, true}) {
          for (std::int64_t length = 512; length <= (type == bf16 && headline ? kLongest : kMatrixMost); length *= 2) {
            if (!every_length && length != kNaiveQuickEnough) continue;
            const bool naive = every_length && length <= (type == bf16 && headline ? kMatrixMost : kNaiveQuickEnough);
            add(list, self_attention(type, head_dim, length, causal, grouped),
                length > kMatrixMost ? kFused
                : naive              ? kAll
                                     : kFusedOrNot);
          }
        }
      }
    }
  }
}

// Eight heads; the float64 check of a longer sequence would take longer than its measurement.
void list_cpu(CaseList& list) {
  const Listing& listing = list.listing();
  const auto problem = [](std::int64_t head_dim, std::int64_t length, bool causal, std::int64_t kv_heads = 8) {
    return AttentionProblem{1, 8, kv_heads, length, length, head_dim, DataType::fp32, causal};
  };
  if (listing.suite == SuiteName::quick) {
    add(list, problem(128, 512, false), {kTiled, kNaive});
    return;
  }
  const bool full = listing.suite == SuiteName::full;
  for (bool causal : {false, true}) {
    for (std::int64_t length = 512; length <= (full ? 2048 : 1024); length *= 2) {
      std::vector<std::string_view> impls = {kTiled};
      if (length == 512 || (full && length == 1024)) impls.push_back(kNaive);
      add(list, problem(128, length, causal), impls);
    }
    if (!full) continue;
    for (std::int64_t head_dim : {64, 256}) add(list, problem(head_dim, 1024, causal), {kTiled});
    add(list, problem(128, 1024, causal, 1), {kTiled});
  }
}

/// One element, primes, a tile plus one, different numbers of queries and keys, rows without visible keys, grouped heads,
/// several tiles per SM, enough keys to wrap around the pipeline's stages several times, and rows of scores larger than a
/// block's memory. fp16 takes the same ways through the same kernels as bf16: two problems per head dimension.
void list_contract(CaseList& list) {
  const bool gpu = list.on_gpu();
  const std::vector<std::string_view> impls = gpu ? kAll : kOfCpu;
  for (DataType type : types_on(list.listing().device.backend)) {
    for (std::int64_t d : {64, 128, 256}) {
      add(list, {2, 2, 1, 127, 127, d, type, true}, impls);
      add(list, {1, 2, 2, 33, 200, d, type, true}, impls);
      if (type == DataType::fp16) continue;
      add(list, {1, 1, 1, 1, 1, d, type, false}, impls);
      add(list, {1, 2, 1, 129, 129, d, type, false}, impls);
      add(list, {1, 3, 1, 200, 33, d, type, true}, impls);
      if (!gpu) continue;
      const std::int64_t kv_heads = list.listing().device.multiprocessors / 8 + 1;
      add(list, {1, 8 * kv_heads, kv_heads, 200, 70, d, type, true}, {kMma, kWgmma});
      add(list, {1, 1, 1, 20, 600, d, type, true}, {kMma, kWgmma});
    }
    if (type == DataType::bf16) add(list, {2, 2, 1, 3, 4097, 128, type, false}, {kNaive, kUnfused});
  }
}

}  // namespace

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  constexpr std::string_view kMasks[] = {"none", "causal"};
  AttentionProblem p = heads_of(asked);
  p.queries = asked.number("queries", 1, kMostQueries);
  p.keys = asked.number_or("keys", p.queries, kMostQueries);
  p.causal = asked.word_of("mask", kMasks, "none") == "causal";
  const DeviceInfo& device = listing.device;
  const bool gpu = device.backend == Backend::cuda;
  const std::string_view best = !gpu ? kTiled : device.compute_capability == 90 ? kWgmma : kMma;
  return make_case(listing, p, asked.word_of("impl", gpu ? kAll : kOfCpu, best));
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark::attention
