// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/access_atomic.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "bench/families/access_patterns.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/element.hpp"

namespace roofmark::access {

namespace {

constexpr std::string_view name(AddressPer per) {
  constexpr std::string_view names[] = {"grid", "block", "warp", "thread"};
  return names[static_cast<int>(per)];
}

/// Additions per thread. The more threads share a counter, the slower; and sums of fp32 are exact up to 2^24.
unsigned additions(const Listing& listing, bool global, AddressPer per, int processors) {
  if (listing.short_probes) return 11;
  constexpr unsigned of_global[] = {0, 1024, 2048, 8192}, of_shared[] = {0, 128, 1024, 4096};
  if (per == AddressPer::grid) return std::max((1U << 24) / static_cast<unsigned>(kAtomicThreads * processors), 1U);
  return (global ? of_global : of_shared)[static_cast<int>(per)];
}

std::uint32_t bits_of(DataType type, std::int64_t number) {
  alignas(double) unsigned char element[sizeof(double)] = {};  // of the largest type
  store(type, element, 0, static_cast<double>(number));
  std::uint32_t bits = 0;
  std::memcpy(&bits, element, sizeof(bits));
  return bits;
}

}  // namespace

Case atomic_case(const Listing& listing, bool global, DataType type, AddressPer per) {
  const AccessKernels* kernels = select(listing.device.backend, &cuda::access, &cpu::access);
  const int processors = std::max(listing.device.multiprocessors, 1);
  const unsigned repeats = additions(listing, global, per, processors);
  const auto threads = static_cast<std::size_t>(kAtomicThreads) * static_cast<std::size_t>(processors);
  const auto sharing = static_cast<std::size_t>(sharing_threads(per, processors)), counters = threads / sharing;
  const std::size_t apart = per == AddressPer::thread ? 1 : kAtomicCounterStride;
  Case c;
  c.family = "access";
  c.operation = "atomic_add";
  c.type = type;
  c.shape = {{"space", global ? "global" : "shared"}, {"per", std::string(name(per))}, {"impl", "own"}};
  c.protocol.cache = Cache::warm;
  if (!kernels) c.unsupported = "this build has no access patterns for the device";
  c.work = {{{{global ? resource::global_atomic : resource::shared_atomic, static_cast<double>(threads) * repeats}}}};
  KnownOutput known;
  known.type = type;
  known.accumulates = global;
  known.count = global ? counters * apart : threads;
  const std::uint32_t total = bits_of(type, static_cast<std::int64_t>(sharing * repeats));
  if (global) {
    known.launch = [=](void* out, Stream stream) { kernels->atomic_add_global(type, out, per, repeats, processors, stream); };
    known.expected = [=](std::size_t i) { return i % apart == 0 ? total : 0; };
  } else {
    known.launch = [=](void* out, Stream stream) { kernels->atomic_add_shared(type, out, per, repeats, processors, stream); };
    known.expected = [=](std::size_t i) { return i % kAtomicBlock < kAtomicBlock / sharing ? total : 0; };
  }
  known.notes = {{"counters", std::to_string(counters)}, {"additions per thread", std::to_string(repeats)}};
  c.slot_bytes = one_output(type, known.count).slot_bytes();
  c.prepare = [=](const Setup& setup) { return known_output(setup, known); };
  return c;
}

}  // namespace roofmark::access
