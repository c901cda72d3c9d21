// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/suite.hpp"

#include <utility>

namespace roofmark {

// One line per family, in the order in which they run. Each is a function of this name in bench/families/.
// clang-format off
#define ROOFMARK_FAMILIES(family) \
  family(ceilings, of_device) \
  family(link_ceilings, between_ranks) \
  family(stream, of_device) \
  family(gemm, of_device) \
  family(gemv, of_device) \
  family(attention, of_device) \
  family(decode_attention, of_device) \
  family(transpose, of_device) \
  family(reductions, of_device) \
  family(elementwise, of_device) \
  family(argmax, of_device) \
  family(transfer, of_device) \
  family(latency, of_device) \
  family(access, of_device) \
  family(cost, of_device) \
  family(sustained, of_device) \
  family(collectives, between_ranks) \
  family(overlap, between_ranks)
// clang-format on

#define ROOFMARK_DECLARE(name, reach) std::vector<Group> name(const Listing&);
#define ROOFMARK_ENTRY(name, reach) {#name, name, Reach::reach},

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
      (group.cases.front().family == "ceilings" ? lists.ceilings : lists.suite).push_back(std::move(group));
    }
  }
  return lists;
}

}  // namespace roofmark
