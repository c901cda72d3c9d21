// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/attention_operands.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/support/memory_case.hpp"
#include "bench/support/rounding.hpp"

namespace roofmark {
namespace {

constexpr std::size_t kQ = 0, kK = 1, kV = 2, kO = 3;

SlotLayout layout_of(const AttentionProblem& p) {
  const auto of_queries = static_cast<std::size_t>(p.batch * p.queries * p.heads * p.head_dim);
  const auto of_keys = static_cast<std::size_t>(p.batch * p.keys * p.kv_heads * p.head_dim);
  return SlotLayout({SlotArray::input(p.type, of_queries, kQ), SlotArray::input(p.type, of_keys, kK),
                     SlotArray::input(p.type, of_keys, kV), SlotArray::output(p.type, of_queries)});
}

/// Bytes that a launch touches and moves; of Q only the rows that see a key.
LaunchBytes launch_bytes(const AttentionProblem& p) {
  const SlotLayout layout = layout_of(p);
  const std::int64_t unseeing = p.causal ? std::max<std::int64_t>(p.queries - p.keys, 0) : 0;
  const std::size_t bytes =
      layout.touched_bytes() - layout[kQ].bytes() / static_cast<std::size_t>(p.queries) * static_cast<std::size_t>(unseeing);
  return {bytes, bytes};
}

/// Query-key pairs that the mask leaves, over all heads.
double visible_pairs(const AttentionProblem& p) {
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < p.queries; ++i) pairs += visible_keys(p, i);
  return static_cast<double>(p.batch * p.heads) * static_cast<double>(pairs);
}

/// The loss in fp32 arithmetic beyond the roundings that attention_scale counts, in u(type) x that scale, which is at least the
/// largest partial sum.
///   fp32    n roundings to nearest of partial sums stay within sqrt(n) of the largest: over the head_dim terms of a score,
///           whose error counts twice, and over the keys; 4 for the rest
///   16-bit  the tensor cores' error over both sums, which covers exp2 and the reference; 8 u for second-order errors
double fp32_error(const AttentionProblem& p) {
  const auto d = static_cast<double>(p.head_dim), keys = static_cast<double>(p.keys);
  if (p.type == DataType::fp32) return 4 + 2 * std::sqrt(d) + std::sqrt(keys);
  return tensor_core_error(p.type, d + keys) + 8 * unit_roundoff(p.type);
}

}  // namespace

AttentionOperands::AttentionOperands(const Setup& setup, const AttentionProblem& problem)
    : device_(setup.device), problem_(problem), slots_(setup, layout_of(problem)) {}

AttentionArrays AttentionOperands::at(int slot) const {
  return {slots_.at(slot, kQ), slots_.at(slot, kK), slots_.at(slot, kV), slots_.at(slot, kO)};
}

Output AttentionOperands::output(int slot) const { return slots_.output(slot, kO); }

CheckedOutput AttentionOperands::checked(int slot, AttentionReference::Queries reference, bool rounds_scores) const {
  const std::int64_t width = problem_.heads * problem_.head_dim;
  AttentionArrays inputs = at(slot);
  inputs.o = nullptr;
  const auto rows = [=, stream = device_.stream(), &problem = problem_](std::int64_t first, std::int64_t count,
                                                                        double* expected, double* scale) {
    while (count > 0) {
      const std::int64_t query = first % problem.queries, here = std::min(count, problem.queries - query);
      reference(problem, inputs, rounds_scores, first / problem.queries, query, here, expected, scale, stream);
      first += here;
      count -= here;
      expected += here * width;
      scale += here * width;
    }
  };
  return {"O", output(slot), width, 1 + fp32_error(problem_), rows};
}

AttentionProblem heads_of(const CaseRequest& asked) {
  constexpr std::int64_t kMost = 65535;  // blocks of a grid's second dimension
  const std::int64_t heads = asked.number("heads", 1, kMost);
  AttentionProblem problem;
  problem.batch = asked.number_or("batch", 1, kMost);
  problem.heads = heads;
  problem.kv_heads = asked.number_or("kv_heads", heads);
  problem.head_dim = asked.number_or("d", 128);
  problem.type = asked.type();
  if (problem.heads % problem.kv_heads != 0) throw NotTogether("kv_heads does not divide heads");
  return problem;
}

Case attention_case(const Listing& listing, std::string family, Shape shape, const AttentionProblem& p) {
  const bool gpu = listing.device.backend == Backend::cuda;
  Case made = memory_case(listing.device, std::move(family), "", p.type, std::move(shape), listing.cache.value_or(Cache::cold),
                          layout_of(p), launch_bytes(p));
  // Per visible pair: two dot products of head_dim terms, and one exponential.
  const double pairs = visible_pairs(p);
  const Resource& pipe = !gpu ? resource::fp32_fma : p.type == DataType::fp16 ? resource::fp16_tensor : resource::bf16_tensor;
  Phase demands = {{pipe, 4 * static_cast<double>(p.head_dim) * pairs}};
  if (gpu) demands.push_back({resource::exp, pairs});
  demand_first(made, demands);
  return made;
}

}  // namespace roofmark
