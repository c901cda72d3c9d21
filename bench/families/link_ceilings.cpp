// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "bench/families/collective_list.hpp"
#include "bench/families/collective_traffic.hpp"
#include "bench/families/collectives.hpp"

namespace roofmark::link_ceilings {

namespace {

using collectives::CollectiveList;
using collectives::Point;
using collectives::sizes;

/// Those that NVLink connects have a colour, unless it connects all of a domain or none.
std::vector<int> bridged(const std::vector<RankInfo>& members, std::size_t domains) {
  std::vector<int> all;
  for (const RankInfo& member : members) all.push_back(member.rank);
  const std::vector<std::vector<int>> groups = NvlinkMap(members).groups_of(all);
  std::vector<int> colours(members.size(), -1);
  for (std::size_t group = 0; group < groups.size() && groups.size() > domains; ++group) {
    if (groups[group].size() < 2) continue;
    for (const int rank : groups[group]) colours[static_cast<std::size_t>(rank)] = static_cast<int>(group);
  }
  return colours;
}

/// Each rank's place among the ranks of its domain: ranks of one place are in different domains. `takes_part` of a rank: others
/// have no place.
template <class TakesPart>
std::vector<int> across(const std::vector<int>& domains, const TakesPart& takes_part) {
  std::vector<int> colours, next(domains.size(), 0);
  for (std::size_t rank = 0; rank < domains.size(); ++rank) {
    colours.push_back(takes_part(rank) ? next[static_cast<std::size_t>(domains[rank])]++ : -1);
  }
  return colours;
}

/// The first rank of each host, if a host has several.
std::vector<bool> one_per_host(const std::vector<int>& hosts) {
  std::vector<bool> first;
  std::set<int> seen;
  for (const int host : hosts) first.push_back(seen.insert(host).second);
  if (seen.size() == hosts.size()) first.assign(hosts.size(), false);
  return first;
}

}  // namespace

std::vector<Group> list(const Listing& listing) {
  if (!listing.fabric) return {};
  const std::vector<RankInfo>& members = listing.fabric->members;
  const auto [hosts, domains] = collectives::places_of(members);
  const std::size_t count = std::set<int>(domains.begin(), domains.end()).size();
  const bool gpu = listing.device.backend == Backend::cuda, small = listing.suite == SuiteName::contract;
  // With its verification a probe takes six times its size.
  const std::size_t most = std::min(kGiB, std::bit_floor(listing.device.memory_bytes / 16));
  const std::vector<bool> first = one_per_host(hosts);
  CollectiveList list(listing);
  const collectives::Divisions divisions(*listing.fabric);
  for (const auto& [name, colours] : {std::pair<std::string, std::vector<int>>{"inside", domains},
                                      {"bridged", bridged(members, count)},
                                      {"network", across(domains, [](std::size_t) { return true; })},
                                      {"cross", across(domains, [&](std::size_t rank) { return first[rank]; })}}) {
    const collectives::SharedDivision among = divisions.of(colours);
    for (const std::size_t bytes : small ? sizes(kKiB, kKiB, 4) : gpu ? sizes(most / 16, most, 4) : sizes(kMiB, 16 * kMiB, 4)) {
      if (listing.fabric->local && colours.front() < 0) continue;  // the first GPU has the clock
      Point point{Collective::send_recv, DataType::fp32, {}, bytes, false, among, name, {}, {}, -1, true};
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

}  // namespace roofmark::link_ceilings
