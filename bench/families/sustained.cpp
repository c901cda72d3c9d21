// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/sustained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "bench/families/gemm.hpp"
#include "bench/families/memory_test.hpp"
#include "bench/families/stream.hpp"
#include "bench/support/beside.hpp"
#include "bench/support/case_list.hpp"
#include "harness/judge/theory.hpp"

namespace roofmark::sustained {

Case lasting(Case c) {
  if (c.protocol.timed != Timed::device) throw std::invalid_argument("its calls are timed one by one: it is no lasting load");
  if (c.unsupported.empty() && c.work.phases.empty()) {
    throw std::invalid_argument("it moves nothing over a link and computes nothing: it is no lasting load");
  }
  if (c.operation.empty()) c.operation = std::move(c.family);
  c.family = "sustained";
  if (c.protocol.issue == Issue::automatic) c.protocol.issue = Issue::stream;
  c.protocol.seconds = 1;  // the plan knows the run's duration
  return c;
}

namespace {

Case product(const Listing& listing, DataType type, std::int64_t side) {
  Listing warm = listing;
  warm.cache = Cache::warm;
  return gemm::gemm_case(warm, type, side, side, side);
}

Case triad(const Listing& listing, std::size_t bytes) {
  return stream::stream_case(listing.device, StreamOp::triad, DataType::fp64, bytes, Cache::warm);
}

/// Its kernel computes the pattern: at a low SM clock that may limit it, not the memory.
Case tested(const Listing& listing, std::size_t bytes) {
  Case c = memory_test::memory_test_case(listing.device, MemoryPattern::random, bytes);
  c.protocol.follows_one_clock = false;
  return c;
}

/// The product and, on a second stream, the triad: one of each.
Case both(const Case& product, const Case& triad) {
  Case c = beside(product, triad, Times::once);
  c.operation = "gemm_and_triad";
  c.shape = shape_beside(product, {{"bytes", value_of(triad.shape, "bytes")}});
  c.protocol.follows_one_clock = false;
  return c;
}

/// Twice a second from rest to full load and back: the steps of large training jobs make the power swing at 0.2 to 3 Hz
/// (Choukse et al., Power Stabilization for AI Training Datacenters, arXiv 2508.14318).
Case pulses(const Case& product) {
  constexpr double kHertz = 2;
  Case c = product;
  c.operation = "gemm_pulses";
  c.shape = shape_beside(product, {{"hz", fmt::format("{}", kHertz)}});
  c.protocol.period_seconds = 1 / kHertz;
  c.protocol.follows_one_clock = false;
  return c;
}

/// A launch takes at least 5 ms, as far as the device's peak is known.
std::int64_t side_for(const Listing& listing, DataType type) {
  constexpr double kLaunchSeconds = 5e-3;
  constexpr std::int64_t kLeast = 1024, kMost = 16384, kUnknown = 8192;
  const Roofline roofline = theoretical_roofline(listing.device);
  const Ceiling* const peak = roofline.find(product(listing, type, kLeast).work.phases.front().front().resource);
  if (!peak || !peak->theoretical) return kUnknown;
  std::int64_t side = kLeast;
  while (side < kMost && 2.0 * std::pow(side, 3) < kLaunchSeconds * *peak->theoretical) side *= 2;
  return side;
}

void list_gpu(CaseList& list) {
  const Listing& listing = list.listing();
  const DataType wide = gemm::is_fp64_fast(listing.device) ? DataType::fp64 : DataType::fp32;
  const Case bf16 = product(listing, DataType::bf16, side_for(listing, DataType::bf16));
  list.add(lasting(bf16));
  if (gemm::has_tensor_cores(listing.device, DataType::fp8)) {
    list.add(lasting(product(listing, DataType::fp8, side_for(listing, DataType::fp8))));
  }
  list.add(lasting(product(listing, wide, side_for(listing, wide))));
  list.add(lasting(triad(listing, stream::nearly_all_memory(listing))));
  list.add(lasting(tested(listing, stream::nearly_all_memory(listing))));
  list.add(lasting(both(bf16, triad(listing, stream::nearly_all_memory(listing, 2)))));
  list.add(lasting(pulses(bf16)));
}

void list_cpu(CaseList& list) {
  const Listing& listing = list.listing();
  for (DataType type : {DataType::fp32, DataType::fp64}) list.add(lasting(product(listing, type, 2048)));
  list.add(lasting(triad(listing, stream::nearly_all_memory(listing))));
  list.add(lasting(tested(listing, stream::nearly_all_memory(listing))));
}

void list_contract(CaseList& list) {
  const Listing& listing = list.listing();
  for (DataType type : {DataType::bf16, DataType::fp32, DataType::fp64}) {
    for (const std::int64_t side : {1, 61}) {
      const Case one = product(listing, type, side), other = triad(listing, static_cast<std::size_t>(1009 * side) * 24);
      list.add(lasting(one));
      if (list.on_gpu()) list.add(lasting(both(one, other)));
      if (list.on_gpu()) list.add(lasting(pulses(one)));
      list.add(lasting(other));
      list.add(lasting(tested(listing, static_cast<std::size_t>(1009 * side) * 4)));
    }
  }
}

}  // namespace

std::vector<Group> list(const Listing& listing) {
  if (listing.suite == SuiteName::contract) return list_cases(listing, list_contract, nullptr, nullptr);
  if (listing.suite != SuiteName::sustained) return {};
  CaseList list(listing);
  (list.on_gpu() ? list_gpu : list_cpu)(list);
  return list.take();
}

}  // namespace roofmark::sustained
