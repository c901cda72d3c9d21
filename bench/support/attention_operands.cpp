// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/attention_operands.hpp"

#include <algorithm>
#include <cmath>

#include "bench/support/groups.hpp"
#include "bench/support/listing.hpp"
#include "harness/model/traffic.hpp"

namespace roofmark {
namespace {

/// Elements of Q and O, and of K and V.
std::size_t query_count(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.batch * p.queries * p.heads * p.head_dim);
}
std::size_t key_count(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.batch * p.keys * p.kv_heads * p.head_dim);
}

std::size_t slot_bytes(const AttentionProblem& p) {
  return 2 * (aligned(query_count(p) * size_of(p.type)) + aligned(key_count(p) * size_of(p.type)));
}

/// Pairs of a query and a key it sees, over all heads.
double visible_pairs(const AttentionProblem& p) {
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < p.queries; ++i) pairs += visible_keys(p, i);
  return static_cast<double>(p.batch * p.heads) * static_cast<double>(pairs);
}

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

}  // namespace

AttentionOperands::AttentionOperands(const Setup& setup, const AttentionProblem& problem)
    : device_(setup.device),
      problem_(problem),
      slots_(device_.allocate(static_cast<std::size_t>(setup.slots) * slot_bytes(problem))) {
  for (int slot = 0; slot < setup.slots; ++slot) {
    const AttentionArrays arrays = at(slot);
    const auto fill = [&](const void* data, std::size_t count, std::uint64_t array) {
      device_.fill(const_cast<void*>(data), problem.type, count, {setup.data, setup.seed, array});
    };
    fill(arrays.q, query_count(problem), 0);
    fill(arrays.k, key_count(problem), 1);
    fill(arrays.v, key_count(problem), 2);
    device_.poison(arrays.o, query_count(problem) * size_of(problem.type));
  }
}

AttentionArrays AttentionOperands::at(int slot) const {
  const std::size_t q_bytes = aligned(query_count(problem_) * size_of(problem_.type)),
                    k_bytes = aligned(key_count(problem_) * size_of(problem_.type));
  auto* const q = static_cast<std::byte*>(slots_.get()) + static_cast<std::size_t>(slot) * slot_bytes(problem_);
  return {q, q + q_bytes, q + q_bytes + k_bytes, q + q_bytes + 2 * k_bytes};
}

Output AttentionOperands::output(int slot) const { return {at(slot).o, problem_.type, query_count(problem_)}; }

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

Case attention_case(const Listing& listing, const AttentionProblem& p) {
  const bool gpu = listing.device.backend == Backend::cuda;
  Case made;
  made.type = p.type;
  made.protocol.cache = listing.cache.value_or(Cache::cold);
  made.slot_bytes = slot_bytes(p);
  made.touched_bytes = 2 * (query_count(p) + key_count(p)) * size_of(p.type);

  // Two products of head_dim terms and an exponential a visible pair.
  const double pairs = visible_pairs(p);
  const auto touched = static_cast<double>(made.touched_bytes);
  const Resource& pipe = !gpu ? resource::fp32_fma : p.type == DataType::fp16 ? resource::fp16_tensor : resource::bf16_tensor;
  Phase demands = {{pipe, 4 * static_cast<double>(p.head_dim) * pairs}};
  if (gpu) demands.push_back({resource::exp, pairs});
  const Phase of_memory = memory_demands(listing.device, touched, touched, made.protocol.cache);
  demands.insert(demands.end(), of_memory.begin(), of_memory.end());
  made.work.phases = {std::move(demands)};
  return made;
}

}  // namespace roofmark
