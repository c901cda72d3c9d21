// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/suite.hpp"

#include <utility>

namespace roofmark {

// One line per family, in the order in which they run: the namespace of its `list` in bench/families/, and NamedFamily's
// members; families whose sizes may be chosen also have `make`.
// clang-format off
#define ROOFMARK_FAMILIES(family) \
  family(ceilings, of_device, as_listed, "Probes that each load one resource and set the measured ceilings. They run before the suite; those marked (after) ran again after it.") \
  family(link_ceilings, between_ranks, as_listed, "") \
  family(stream, of_device, any, "Loops that move memory and compute almost nothing.") \
  family(gemm, of_device, any, "Matrix products D [m, n] = A [m, k] × B [k, n] by a library.") \
  family(gemv, of_device, any, "A weight matrix times one vector, as in decoding: the bytes of the weights are the limit, so narrower weights are faster.") \
  family(attention, of_device, any, "O = softmax(Q Kᵀ / √d) V, head by head.") \
  family(decode_attention, of_device, any, "Attention of one new token to a cache of keys and values: reading the cache is the limit.") \
  family(transpose, of_device, any, "The transpose of a matrix: each element is read once and written once.") \
  family(reductions, of_device, any, "Row-wise operations: softmax, norms, losses. At best, each row is read once and written once.") \
  family(elementwise, of_device, any, "Element-wise operations of a model, and the gain from fusing several steps into one kernel.") \
  family(argmax, of_device, any, "The index of the maximum of each row, as in greedy decoding.") \
  family(transfer, of_device, bytes, "Copies between host and GPU, between GPUs, and within the host.") \
  family(latency, of_device, any, "Dependent accesses: one thread follows pointers in random order, and each access waits for the previous one.") \
  family(access, of_device, any, "Rates of access patterns. Only bytes that the operation uses count: other traffic lowers the share of the roof.") \
  family(memory_test, of_device, any, "All bits of nearly all memory, written with both values and read back: a pattern, its complement, and the pattern again.") \
  family(cost, of_device, as_listed, "Host time of single calls that start work, wait for it or allocate memory.") \
  family(sustained, of_device, as_listed, "Sustained loads: the rate in the first second against the settled rate.") \
  family(collectives, between_ranks, any, "Collectives and pairs of ranks, in the terms of nccl-tests.") \
  family(sustained_collectives, between_ranks, as_listed, "Sustained loads of all links: the rate in the first second against the settled rate.") \
  family(overlap, between_ranks, as_listed, "A matrix product and an all-reduce, each alone and both together.")
// clang-format on

#define ROOFMARK_DECLARE(name, reach, sizes, about)             \
  namespace name {                                              \
  std::vector<Group> list(const Listing&);                      \
  std::optional<Case> make(const Listing&, const CaseRequest&); \
  }
#define ROOFMARK_MAKE_any(name) name::make
#define ROOFMARK_MAKE_bytes(name) name::make
#define ROOFMARK_MAKE_as_listed(name) nullptr
#define ROOFMARK_ENTRY(name, reach, sizes, about) \
  {#name, name::list, Sizes::sizes, ROOFMARK_MAKE_##sizes(name), Reach::reach, about},

ROOFMARK_FAMILIES(ROOFMARK_DECLARE)

const std::vector<NamedFamily>& families() {
  static const std::vector<NamedFamily> all = {ROOFMARK_FAMILIES(ROOFMARK_ENTRY)};
  return all;
}

Lists list_families(const Listing& listing, bool between_ranks_alone) {
  Lists lists;
  for (const NamedFamily& family : families()) {
    if (between_ranks_alone && family.reach != Reach::between_ranks) continue;
    for (Group& group : family.list(listing)) {
      if (!family.about.empty()) lists.about.emplace(group.cases.front().family, family.about);
      (group.cases.front().family == "ceilings" ? lists.ceilings : lists.suite).push_back(std::move(group));
    }
  }
  return lists;
}

}  // namespace roofmark
