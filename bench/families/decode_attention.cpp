// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode_attention.hpp"

#include <fmt/format.h>

#include "bench/support/attention_operands.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"

namespace roofmark::decode_attention {
namespace {

class PreparedDecodeAttention final : public Prepared {
 public:
  PreparedDecodeAttention(const Setup& setup, const AttentionProblem& problem, const DecodeAttentionKernels& kernels,
                          const AttentionReference& reference)
      : device_(setup.device), problem_(problem), operands_(setup, problem), kernels_(kernels), reference_(reference) {
    const std::size_t workspace_bytes = kernels_.workspace_bytes(problem);
    workspace_ = device_.allocate(workspace_bytes);
    device_.zero(workspace_.get(), workspace_bytes);
  }

  void launch(Stream stream, int slot) override { kernels_.launch(problem_, operands_.at(slot), workspace_.get(), stream); }

  Verification verify(int slot) override { return check_outputs(device_, {operands_.checked(slot, reference_.exact)}); }

  std::vector<Output> outputs(int slot) override { return {operands_.output(slot)}; }
  bool is_deterministic() const override { return true; }  // whoever comes last adds the parts up in their order

 private:
  Device& device_;
  AttentionProblem problem_;
  AttentionOperands operands_;
  const DecodeAttentionKernels& kernels_;
  const AttentionReference& reference_;
  Memory workspace_;
};

Case decode_case(const Listing& listing, const AttentionProblem& p) {
  const Backend backend = listing.device.backend;
  const DecodeAttentionKernels* kernels = select(backend, &cuda::decode_attention, &cpu::decode_attention);
  const AttentionReference* reference = select(backend, &cuda::attention_reference, &cpu::attention_reference);

  const Shape shape = {{"batch", std::to_string(p.batch)},       {"heads", std::to_string(p.heads)},
                       {"kv_heads", std::to_string(p.kv_heads)}, {"keys", std::to_string(p.keys)},
                       {"d", std::to_string(p.head_dim)},        {"impl", "split"}};
  Case made = attention_case(listing, "decode_attention", shape, p);
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

void add(CaseList& list, DataType type, std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t keys,
         std::int64_t head_dim) {
  list.add(decode_case(list.listing(), {batch, heads, kv_heads, 1, keys, head_dim, type, false}));
}

void list_gpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  constexpr auto kBf16 = DataType::bf16, kFp16 = DataType::fp16;
  constexpr std::int64_t k1 = 1024;
  if (suite == SuiteName::quick) return add(list, kBf16, 16, 64, 8, 32 * k1, 128);
  if (suite == SuiteName::baseline) {
    for (const std::int64_t keys : {4 * k1, 32 * k1, 128 * k1}) add(list, kBf16, 1, 64, 8, keys, 128);
    for (const std::int64_t keys : {4 * k1, 32 * k1, 128 * k1}) add(list, kBf16, 16, 64, 8, keys, 128);
    add(list, kBf16, 64, 64, 8, 4 * k1, 128);
    add(list, kBf16, 16, 32, 32, 4 * k1, 128);
    add(list, kFp16, 16, 64, 8, 4 * k1, 256);
    add(list, kFp16, 16, 64, 8, 4 * k1, 64);
    return;
  }
  for (const DataType type : {kBf16, kFp16}) {
    for (const std::int64_t batch : {1, 4, 16, 64}) {
      for (std::int64_t keys = k1; keys <= 128 * k1; keys *= 2) {
        if (type == kBf16 || batch == 16) add(list, type, batch, 64, 8, keys, 128);
      }
    }
    for (const std::int64_t keys : {4 * k1, 32 * k1}) {
      for (const std::int64_t head_dim : {64, 256}) add(list, type, 16, 64, 8, keys, head_dim);
      add(list, type, 16, 32, 8, keys, 128);
      add(list, type, 4, 64, 64, keys, 128);
    }
  }
}

// The heads of Llama 3 8B; the reference takes longer than the measurement.
void list_cpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  add(list, DataType::fp32, 1, 32, 8, 4096, 128);
  if (suite == SuiteName::quick) return;
  add(list, DataType::fp32, 4, 32, 8, 1024, 128);
  add(list, DataType::fp32, 1, 8, 8, 4096, 128);
  if (suite == SuiteName::baseline) return;
  add(list, DataType::fp32, 1, 32, 8, 16384, 128);
  for (const std::int64_t head_dim : {64, 256}) add(list, DataType::fp32, 1, 32, 8, 4096, head_dim);
}

/// One key, primes, fewer keys than one split, more than eight heads per key, and numbers of heads that are no multiple of
/// eight.
void list_contract(CaseList& list) {
  const bool gpu = list.on_gpu();
  for (const DataType type : gpu ? std::vector{DataType::bf16, DataType::fp16} : std::vector{DataType::fp32}) {
    for (const std::int64_t d : {64, 128, 256}) {
      for (const std::int64_t keys : {1, 7, 127, 600, 2100}) add(list, type, 1, 8, 1, keys, d);
      add(list, type, 3, 4, 4, 257, d);
      add(list, type, 2, 24, 2, 300, d);
      add(list, type, 1, 3, 1, 65, d);
    }
  }
}

}  // namespace

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  AttentionProblem p = heads_of(asked);
  p.keys = asked.number("keys", 1, kMostKeys);
  return decode_case(listing, p);
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark::decode_attention
