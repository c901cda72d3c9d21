// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode_attention.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/case.hpp"
#include "harness/traffic.hpp"
#include "kernels/attention_reference.hpp"

namespace roofmark {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Elements of Q and O, and of K and V.
std::size_t query_count(const AttentionProblem& p) { return static_cast<std::size_t>(p.batch * p.heads * p.head_dim); }
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
/// fp32 arithmetic.
///   fp32    n roundings to nearest of a running sum, either way as often, are together within sqrt(n) of the greatest: over
///           head_dim terms of a score, whose own error counts twice for its size, and over the keys; a few for the rest
///   16-bit  the tensor cores truncate what they add up at 24 bits or more, in groups of at least eight terms (Fasi, Higham,
///           Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ CS, 2021): unit 2^-23, and these errors add
///           up over the head_dim terms of a score. Over the keys it is their spread that counts, and as many for the rest
double fp32_error(const AttentionProblem& p) {
  const auto d = static_cast<double>(p.head_dim), keys = static_cast<double>(p.keys);
  if (p.type == DataType::fp32) return 4 + 2 * std::sqrt(d) + std::sqrt(keys);
  return 0x1p-23 / unit_roundoff(p.type) * (8 + (d + keys) / 8);
}

class PreparedDecodeAttention final : public Prepared {
 public:
  PreparedDecodeAttention(const Setup& setup, const AttentionProblem& problem, const DecodeAttentionKernels& kernels,
                          const AttentionReference& reference)
      : device_(setup.device), problem_(problem), bytes_(problem), kernels_(kernels), reference_(reference) {
    slots_ = device_.allocate(static_cast<std::size_t>(setup.slots) * bytes_.allocated());
    const std::size_t workspace_bytes = kernels_.workspace_bytes(problem);
    workspace_ = device_.allocate(workspace_bytes);
    device_.zero(workspace_.get(), workspace_bytes);
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
    kernels_.launch(problem_, {arrays.q, arrays.k, arrays.v, arrays.o}, workspace_.get(), stream);
  }

  Verification verify(int slot) override {
    const Arrays arrays = at(slot);
    const Memory expected = device_.allocate(query_count(problem_) * sizeof(double)),
                 scale = device_.allocate(query_count(problem_) * sizeof(double));
    auto* const e = static_cast<double*>(expected.get());
    auto* const s = static_cast<double*>(scale.get());
    constexpr bool kRoundsScores = false;
    for (std::int64_t batch = 0; batch < problem_.batch; ++batch) {
      const std::int64_t begin = batch * problem_.heads * problem_.head_dim;
      reference_.exact(problem_, {arrays.q, arrays.k, arrays.v, nullptr}, kRoundsScores, batch, 0, 1, e + begin, s + begin,
                       device_.stream());
    }
    device_.synchronize();
    const ElementwiseError error = device_.compare(problem_.type, arrays.o, query_count(problem_), e, s);
    return Verification::within(
        error.worst, 1 + fp32_error(problem_),
        fmt::format("all elements, in u({}) x (|o| + spread of the roundings); worst at {}", name(problem_.type), error.index));
  }

  std::vector<Output> outputs(int slot) override { return {{at(slot).o, problem_.type, query_count(problem_)}}; }

 private:
  struct Arrays {
    std::byte *q, *k, *v, *o;
  };
  Arrays at(int slot) const {
    auto* q = static_cast<std::byte*>(slots_.get()) + static_cast<std::size_t>(slot) * bytes_.allocated();
    auto* k = q + aligned(bytes_.q);
    auto* v = k + aligned(bytes_.k);
    return {q, k, v, v + aligned(bytes_.k)};
  }

  Device& device_;
  AttentionProblem problem_;
  SlotBytes bytes_;
  const DecodeAttentionKernels& kernels_;
  const AttentionReference& reference_;
  Memory slots_, workspace_;
};

Case make_case(const Listing& listing, const AttentionProblem& p) {
  const DeviceInfo& device = listing.device;
  const bool gpu = device.backend == Backend::cuda;
  const DecodeAttentionKernels* kernels = select(device.backend, &cuda::decode_attention, &cpu::decode_attention);
  const AttentionReference* reference = select(device.backend, &cuda::attention_reference, &cpu::attention_reference);

  Case made;
  made.family = "decode_attention";
  made.how = "split";
  made.type = p.type;
  made.protocol.cache = listing.cache.value_or(Cache::cold);
  made.shape = {{"batch", std::to_string(p.batch)},       {"heads", std::to_string(p.heads)},
                {"kv_heads", std::to_string(p.kv_heads)}, {"keys", std::to_string(p.keys)},
                {"d", std::to_string(p.head_dim)},        {"cache", made.protocol.cache == Cache::cold ? "cold" : "warm"}};
  const SlotBytes bytes(p);
  made.slot_bytes = bytes.allocated();
  made.touched_bytes = bytes.touched();

  // Two products of head_dim terms and an exponential for each head's key.
  const double scores = static_cast<double>(p.batch * p.heads) * static_cast<double>(p.keys);
  const auto touched = static_cast<double>(bytes.touched());
  const Resource& pipe = !gpu ? resource::fp32_fma : p.type == DataType::fp16 ? resource::fp16_tensor : resource::bf16_tensor;
  Phase demands = {{pipe, 4 * static_cast<double>(p.head_dim) * scores}};
  if (gpu) demands.push_back({resource::exp, scores});
  const Phase of_memory = memory_demands(device, touched, touched, made.protocol.cache);
  demands.insert(demands.end(), of_memory.begin(), of_memory.end());
  made.work.phases = {std::move(demands)};

  if (!kernels || !reference) {
    made.unsupported = "this build has no decode attention for the device";
  } else if (!kernels->supports(p)) {
    made.unsupported = fmt::format("no decode attention of {} and head dimension {} on the device", name(p.type), p.head_dim);
  } else {
    made.shared_bytes = kernels->workspace_bytes(p);
    made.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
      return std::make_unique<PreparedDecodeAttention>(setup, p, *kernels, *reference);
    };
  }
  return made;
}

class Lister {
 public:
  explicit Lister(const Listing& listing)
      : listing_(listing),
        limit_(static_cast<std::size_t>(listing.memory_fraction * static_cast<double>(listing.device.free_bytes))) {}

  std::vector<Group> take() { return std::move(groups_); }

  void add(DataType type, std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t keys,
           std::int64_t head_dim) {
    const Case made = make_case(listing_, {batch, heads, kv_heads, 1, keys, head_dim, type, false});
    // Two cold slots at the least.
    if (2 * made.slot_bytes + made.shared_bytes <= limit_) groups_.push_back({{made}, {}});
  }

 private:
  const Listing& listing_;
  std::size_t limit_;
  std::vector<Group> groups_;
};

void list_gpu(SuiteName suite, Lister& lister) {
  constexpr auto kBf16 = DataType::bf16, kFp16 = DataType::fp16;
  constexpr std::int64_t k1 = 1024;
  if (suite == SuiteName::quick) return lister.add(kBf16, 16, 64, 8, 32 * k1, 128);
  if (suite == SuiteName::baseline) {
    for (const std::int64_t keys : {4 * k1, 32 * k1, 128 * k1}) lister.add(kBf16, 1, 64, 8, keys, 128);
    for (const std::int64_t keys : {4 * k1, 32 * k1, 128 * k1}) lister.add(kBf16, 16, 64, 8, keys, 128);
    lister.add(kBf16, 64, 64, 8, 4 * k1, 128);
    lister.add(kBf16, 16, 32, 32, 4 * k1, 128);
    lister.add(kFp16, 16, 64, 8, 4 * k1, 256);
    lister.add(kFp16, 16, 64, 8, 4 * k1, 64);
    return;
  }
  for (const DataType type : {kBf16, kFp16}) {
    for (const std::int64_t batch : {1, 4, 16, 64}) {
      for (std::int64_t keys = k1; keys <= 128 * k1; keys *= 2) {
        if (type == kBf16 || batch == 16) lister.add(type, batch, 64, 8, keys, 128);
      }
    }
    for (const std::int64_t keys : {4 * k1, 32 * k1}) {
      for (const std::int64_t head_dim : {64, 256}) lister.add(type, 16, 64, 8, keys, head_dim);
      lister.add(type, 16, 32, 8, keys, 128);
      lister.add(type, 4, 64, 64, keys, 128);
    }
  }
}

// Llama 3 8B's heads; the reference takes longer than the measuring.
void list_cpu(SuiteName suite, Lister& lister) {
  lister.add(DataType::fp32, 1, 32, 8, 4096, 128);
  if (suite == SuiteName::quick) return;
  lister.add(DataType::fp32, 4, 32, 8, 1024, 128);
  lister.add(DataType::fp32, 1, 8, 8, 4096, 128);
  if (suite == SuiteName::baseline) return;
  lister.add(DataType::fp32, 1, 32, 8, 16384, 128);
  for (const std::int64_t head_dim : {64, 256}) lister.add(DataType::fp32, 1, 32, 8, 4096, head_dim);
}

/// One key, primes, fewer keys than a part has, more than eight heads to a key, and numbers of them that eight does not divide.
void list_contract(const Listing& listing, Lister& lister) {
  const bool gpu = listing.device.backend == Backend::cuda;
  for (const DataType type : gpu ? std::vector{DataType::bf16, DataType::fp16} : std::vector{DataType::fp32}) {
    for (const std::int64_t d : {64, 128, 256}) {
      for (const std::int64_t keys : {1, 7, 127, 1000, 4097}) lister.add(type, 1, 8, 1, keys, d);
      lister.add(type, 3, 4, 4, 257, d);
      lister.add(type, 2, 24, 2, 1000, d);
      lister.add(type, 1, 3, 1, 65, d);
    }
  }
}

}  // namespace

std::vector<Group> decode_attention(const Listing& listing) {
  Lister lister(listing);
  if (listing.suite == SuiteName::contract) {
    list_contract(listing, lister);
  } else if (listing.device.backend == Backend::cpu) {
    list_cpu(listing.suite, lister);
  } else {
    list_gpu(listing.suite, lister);
  }
  return lister.take();
}

}  // namespace roofmark
