// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "bench/families/collective_list.hpp"
#include "bench/families/collective_traffic.hpp"
#include "bench/families/collectives.hpp"

namespace roofmark {

namespace {

/// Each rank's place among the ranks of its domain: ranks of one place are in different domains.
std::vector<int> across(const std::vector<int>& domains) {
  std::vector<int> colours, next(domains.size(), 0);
  for (const int domain : domains) colours.push_back(next[static_cast<std::size_t>(domain)]++);
  return colours;
}

}  // namespace

std::vector<Group> link_ceilings(const Listing& listing) {
  if (!listing.fabric) return {};
  const std::vector<int> domains = places_of(listing.fabric->members).domains;
  const bool gpu = listing.device.backend == Backend::cuda, small = listing.suite == SuiteName::contract;
  // With its verification a probe takes six times its size.
  const std::size_t most = std::min(kGiB, std::bit_floor(listing.device.memory_bytes / 16));
  CollectiveList list(listing);
  for (const auto& [name, colours] :
       {std::pair<std::string, std::vector<int>>{"inside", domains}, {"network", across(domains)}}) {
    for (const std::size_t bytes : small ? sizes(kKiB, kKiB, 4) : gpu ? sizes(most / 16, most, 4) : sizes(kMiB, 16 * kMiB, 4)) {
      Point point{Collective::send_recv, DataType::fp32, {}, bytes, false, colours, name, {}, {}, -1};
      std::optional<Case> c = list.offered(point);
      if (!c || c->work.phases.empty()) continue;
      c->sets_ceiling = {c->work.phases.front().front().resource};
      c->operation = c->sets_ceiling->resource.id;
      c->family = "ceilings";
      list.add(*std::move(c));
    }
  }
  return list.take();
}

}  // namespace roofmark
