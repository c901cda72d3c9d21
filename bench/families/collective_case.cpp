// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collective_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "bench/families/collective_traffic.hpp"
#include "bench/families/prepared_collective.hpp"

namespace roofmark::collectives {

namespace {

using Groups = RankGroups::Groups;

/// Of the slowest way that some ranks of a domain have to one another. Null where ranks share a GPU.
const Resource* inside_resource(const Division& among, Backend backend) {
  if (backend == Backend::cpu) return &resource::interprocess;
  if (among.map->shared_gpu) return nullptr;
  return among.all_by_nvlink ? &resource::nvlink : &resource::pcie;
}

bool take_all(const Groups& groups, std::size_t ranks) {
  std::size_t taking_part = 0;
  for (const std::vector<int>& group : groups) taking_part += group.size();
  return taking_part == ranks;
}

/// Some ranks of a domain communicate with each other and not with the others: their way may be shorter than that of a ring of
/// all, as below one PCIe switch. NVLink's is as long.
bool divide_domain(const Groups& groups, const std::vector<int>& domains) {
  for (const std::vector<int>& group : groups) {
    std::map<int, std::ptrdiff_t> ranks;
    for (const int rank : group) ++ranks[domains[static_cast<std::size_t>(rank)]];
    for (const auto& [domain, count] : ranks) {
      if (count > 1 && count < std::count(domains.begin(), domains.end(), domain)) return true;
    }
  }
  return false;
}

/// Whether the ranks load a resource less than its probe does, in which all ranks, of `network_of_rank` one of each host, send
/// and receive at once.
bool is_lighter(const Point& point, const Groups& groups, const Resource& resource, const RankPlaces& places) {
  const std::vector<int>& hosts = places.hosts;
  if (point.op == Collective::ping_pong || has_root(point.op) || point.imbalance > 1) return true;
  const bool way_differs = resource == resource::pcie || resource == resource::interprocess;
  if (way_differs && divide_domain(groups, places.domains)) return true;
  const bool one_per_host = resource == resource::network_of_rank;
  return !take_all(groups, one_per_host ? std::set<int>(hosts.begin(), hosts.end()).size() : hosts.size());
}

std::size_t whole_packs(const Point& point, std::size_t elements) {
  const std::size_t pack = kPackBytes / size_of(point.type);
  return std::max<std::size_t>(1, point.whole_packs && elements >= pack ? elements / pack * pack : elements);
}

std::size_t even_chunk(const Point& point) {
  const std::size_t elements = point.bytes / size_of(point.type);
  if (!counts_total(point.op)) return std::max<std::size_t>(1, elements);
  return whole_packs(point, elements / static_cast<std::size_t>(ranks_of(point)));
}

std::size_t elements_of(const Point& point, int chunks) {
  if (chunks == 0) return 0;
  const std::size_t even = static_cast<std::size_t>(chunks) * chunk_of(point);
  return point.imbalance > 1 ? even - chunk_of(point) + root_chunk_of(point) : even;
}

/// What the root receives in an all-to-all over what it would receive if all ranks received as much.
double times_even(const Point& point) {
  if (point.imbalance == 1) return 1;
  return static_cast<double>(root_chunk_of(point)) * ranks_of(point) /
         static_cast<double>(elements_in(point, ranks_of(point), true));
}

/// What the PCIe link of a GPU carries at least where NVLink connects some of the ranks: what their part must exchange with the
/// others, over the links of all of them.
double least_on_pcie(const Point& point, double bytes, const Division& among) {
  const Groups& groups = among.groups.all();
  RankPlaces parts = among.map->places;
  int part = 0;
  for (const std::vector<int>& group : groups) {
    for (const std::vector<int>& ranks : among.map->nvlink.groups_of(group)) {
      for (const int rank : ranks) parts.domains[static_cast<std::size_t>(rank)] = part;
      ++part;
    }
  }
  std::iota(parts.hosts.begin(), parts.hosts.end(), 0);
  return traffic(point.op, bytes, groups, parts, point.root, Switches::forward, times_even(point)).network;
}

}  // namespace

int ranks_of(const Point& point) { return point.among->ranks; }

std::size_t chunk_of(const Point& point) {
  const std::size_t even = even_chunk(point);
  if (point.imbalance == 1) return even;
  const auto ranks = static_cast<std::size_t>(ranks_of(point));
  return whole_packs(point, (ranks - static_cast<std::size_t>(point.imbalance)) * even / (ranks - 1));
}

std::size_t root_chunk_of(const Point& point) {
  if (point.imbalance == 1) return 0;
  // What rounding leaves of the others' parts: the size is that of an even one.
  const auto ranks = static_cast<std::size_t>(ranks_of(point));
  return ranks * even_chunk(point) - (ranks - 1) * chunk_of(point);
}

std::size_t elements_in(const Point& point, int ranks, bool is_root) {
  return elements_of(point, chunks_in(point.op, ranks, is_root));
}

std::size_t elements_out(const Point& point, int ranks, bool is_root) {
  const int chunks = chunks_out(point.op, ranks, is_root);
  return static_cast<std::size_t>(chunks) * (point.imbalance > 1 && is_root ? root_chunk_of(point) : chunk_of(point));
}

std::size_t bytes_of(const Point& point) {
  return elements_of(point, counts_total(point.op) ? ranks_of(point) : 1) * size_of(point.type);
}

std::string lacks(const Communicator& communicator, const Point& point) {
  const auto without = [&](const std::string& what) {
    return fmt::format("{} has no {} {}", communicator.library(), name(point.op), what);
  };
  if (!communicator.supports(point.op, point.type, point.reduction)) {
    return without(reduces(point.op) ? fmt::format("by {} of {}", name(point.reduction), name(point.type))
                                     : fmt::format("of {}", name(point.type)));
  }
  if (point.in_place && communicator.in_place_offset(point.op) < 0) return without("in place");
  if (!point.in_place && !communicator.out_of_place(point.op)) return without("out of place");
  const std::size_t most = point.imbalance > 1 ? elements_out(point, ranks_of(point), true) : chunk_of(point);
  if (most > communicator.most_elements()) {
    return without(fmt::format("of more than {} elements", communicator.most_elements()));
  }
  return {};
}

Work collective_work(const Listing& listing, const Point& point) {
  const auto bytes = static_cast<double>(bytes_of(point));
  const Groups& groups = point.among->groups.all();
  const RankPlaces& places = point.among->map->places;
  const double imbalance = times_even(point);
  const Traffic moved = traffic(point.op, bytes, groups, places, point.root, Switches::forward, imbalance);
  const Traffic switched = traffic(point.op, bytes, groups, places, point.root, Switches::reduce, imbalance);
  const Resource* inside = inside_resource(*point.among, listing.device.backend);
  // NVLink's switches reduce from Hopper on (NVLS); a network may (SHARP).
  const bool nvls = inside == &resource::nvlink && listing.device.compute_capability >= 90;
  Phase phase;
  double least = nvls ? switched.inside : moved.inside;
  if (inside == &resource::pcie) {
    // A ring takes the PCIe link of each GPU that has NVLink to one neighbour alone; rings in both directions share it.
    least = std::min(least, least_on_pcie(point, bytes, *point.among));
  }
  if (inside && moved.inside > 0) phase.push_back({*inside, moved.inside, moved.inside - least});
  if (moved.network > 0) {
    const Resource& network = is_one_rank_per_host(groups, places) ? resource::network_of_rank : resource::network;
    phase.push_back({network, moved.network, moved.network - switched.network});
  }
  if (phase.empty()) return {};
  for (Demand& demand : phase) demand.lighter = is_lighter(point, groups, demand.resource, places);
  return {std::vector<Phase>(point.op == Collective::ping_pong ? 2 : 1, phase)};
}

namespace {

/// What rings carry of it, where that is more than the `least`, and where its ranks are all ranks: others leave links and ports
/// unused. Else empty.
Work ring_work(const Point& point, const Work& least) {
  const Groups& groups = point.among->groups.all();
  if (!operation(point.op).by_ring || !take_all(groups, point.among->colours.size())) return {};
  const Traffic carried = ring_traffic(point.op, static_cast<double>(bytes_of(point)), groups, point.among->map->places);
  constexpr double kRounding = 1e-9;
  bool more = false;
  Work ring;
  for (const Phase& phase : least.phases) {
    Phase& demands = ring.phases.emplace_back();
    for (const Demand& demand : phase) {
      const bool crosses = demand.resource == resource::network || demand.resource == resource::network_of_rank;
      demands.push_back({demand.resource, crosses ? carried.network : carried.inside});
      more |= demands.back().amount > (1 + kRounding) * demand.amount;
    }
  }
  return more ? ring : Work();
}

}  // namespace

Case collective_case(const Listing& listing, const Point& point) {
  const Fabric& fabric = *listing.fabric;
  const int ranks = ranks_of(point);
  const std::size_t chunk = chunk_of(point), bytes = bytes_of(point);
  const Groups& groups = point.among->groups.all();
  Case c;
  c.family = name(point.op);
  c.type = point.type;
  c.shape = {{"bytes", std::to_string(bytes)}, {"ranks", std::to_string(ranks)}};
  if (point.round >= 0) c.shape.emplace_back("round", std::to_string(point.round));
  if (point.pair) {
    c.shape.emplace_back("from", std::to_string(point.pair->first));
    c.shape.emplace_back("to", std::to_string(point.pair->second));
  }
  if (reduces(point.op)) c.shape.emplace_back("op", name(point.reduction));
  if (point.op == Collective::all_to_all)
    (point.imbalance > 1 ? c.shape : c.implied).emplace_back("imbalance", std::to_string(point.imbalance));
  if (has_root(point.op) || point.imbalance > 1) c.shape.emplace_back("root", std::to_string(point.root));
  if (point.op != Collective::ping_pong) c.shape.emplace_back("place", point.in_place ? "in" : "out");
  if (!point.group.empty()) c.shape.emplace_back("group", point.group);
  c.shape.emplace_back("impl", fabric.how);
  if (point.issue == Issue::graph) c.shape.emplace_back("issue", "graph");
  if (point.buffer != Buffer::plain) c.shape.emplace_back("buffer", name(point.buffer));
  c.work = collective_work(listing, point);
  // Every call uses the same buffers. nccl-tests moves on through buffers of its largest size.
  c.protocol.cache = Cache::warm;
  // Enqueued one after another, as in nccl-tests: behind a closed gate the library could wait for room in its own queues.
  c.protocol.issue = point.issue == Issue::automatic ? Issue::stream : point.issue;
  // The root has the largest arrays.
  c.slot_bytes = collective_layout(point, elements_in(point, ranks, true), elements_out(point, ranks, true)).slot_bytes();
  c.shared_bytes = 2 * std::min(std::max(chunk, root_chunk_of(point)), kVerifiedPiece) * sizeof(double);
  Message message;
  if (point.op == Collective::send_recv) message.pattern = Pattern::neighbours;
  if (point.op == Collective::ping_pong) message.pattern = Pattern::pairs;
  message.ring = ring_work(point, c.work);
  message.ranks = ranks;
  message.bytes = bytes;
  message.count = chunk;
  message.bus_factor = bus_factor(point.op, ranks) * times_even(point);
  if (has_root(point.op) || point.imbalance > 1) message.root = point.root;
  if (reduces(point.op)) message.reduction = name(point.reduction);
  if (point.op == Collective::ping_pong) {
    message.trips = 2;
  } else {
    message.place = point.in_place ? "in" : "out";
  }
  const bool everyone = groups.size() == 1 && groups.front().size() == fabric.members.size();
  if (point.op == Collective::ping_pong || !everyone) message.groups = point.among->groups;  // two ranks are a pair too
  c.message = message;
  if (!data_kernels(listing.device.backend)) {
    c.unsupported = "this build has no kernels for the device that generate the collectives' data";
    return c;
  }
  c.prepare = [&fabric, point](const Setup& setup) -> std::unique_ptr<Prepared> {
    return prepare_collective(setup, fabric, point);
  };
  return c;
}

}  // namespace roofmark::collectives
