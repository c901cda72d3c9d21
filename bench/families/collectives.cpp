// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collectives.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "bench/families/collective_list.hpp"
#include "bench/families/collective_traffic.hpp"

namespace roofmark::collectives {

namespace {

std::vector<int> first(const Fabric& fabric, int ranks) {
  std::vector<int> colours = everyone(fabric);
  std::fill(colours.begin() + ranks, colours.end(), -1);
  return colours;
}

/// Ranks that form communicators of their own, all at the same time.
struct Grouping {
  std::string name;
  std::vector<int> colours;
};

/// node: the ranks of each host; cross: one rank of each host; rail: the ranks of each local rank. Empty unless there are
/// several hosts with several ranks.
std::vector<Grouping> parts(const Fabric& fabric) {
  const std::vector<int> hosts = places_of(fabric.members).hosts;
  const int count = *std::max_element(hosts.begin(), hosts.end()) + 1;
  if (count == 1 || static_cast<std::size_t>(count) == hosts.size()) return {};
  Grouping node{"node", hosts}, cross{"cross", {}}, rail{"rail", {}};
  for (const RankInfo& member : fabric.members) {
    cross.colours.push_back(member.local_rank == 0 ? 0 : -1);
    rail.colours.push_back(member.local_rank);
  }
  return {node, cross, rail};
}

std::vector<Group> contract(const Listing& listing) {
  CollectiveList list(listing);
  const std::vector<int> world = everyone(*listing.fabric);
  for (const Collective op : kCollectives) {
    if (op == Collective::ping_pong) continue;
    for (const DataType type : listing.fabric->types) {
      for (const Reduction reduction : {Reduction::sum, Reduction::max, Reduction::avg}) {
        if (!reduces(op) && reduction != Reduction::sum) continue;
        for (const std::size_t elements : {1, 7, 1000, listing.device.backend == Backend::cuda ? 4099 : 65537}) {
          list.add_both_places({op, type, reduction, elements * size_of(type), false, world, {}, {}, {}, -1, false});
        }
      }
    }
  }
  int round = 0;
  for (const std::vector<int>& pairs : rounds_of_pairs(static_cast<int>(world.size()))) {
    for (const std::size_t elements : {1, 4097}) {
      list.add({Collective::ping_pong, DataType::fp32, {}, elements * 4, false, pairs, {}, {}, {}, round, true});
    }
    ++round;
  }
  return list.take();
}

/// A type and reduction over all ranks, in sizes that grow by a factor.
struct Sweep {
  DataType type = DataType::fp32;
  Reduction reduction = Reduction::sum;
  std::size_t factor = 4;
  bool in_place = true;  ///< besides out of place
};

/// Ranks of their own processes measure nothing else: they have every type and reduction. The GPUs of one process have these
/// collectives beside the suite of one GPU.
std::vector<Sweep> sweeps(const Listing& listing) {
  const Fabric& fabric = *listing.fabric;
  const bool full = listing.suite == SuiteName::full, gpu = listing.device.backend == Backend::cuda;
  using R = Reduction;
  if (fabric.local && !full) return {{DataType::fp32, R::sum, 4, false}, {DataType::bf16, R::sum, 4, false}};
  if (fabric.local) {
    return {{DataType::fp32, R::sum, 2, true},
            {DataType::fp16, R::sum, 4, false},
            {DataType::bf16, R::sum, 4, false},
            {DataType::fp32, R::max, 16, false},
            {DataType::fp32, R::avg, 16, false}};
  }
  std::vector<Sweep> all;
  for (const DataType type : full || !gpu ? fabric.types : std::vector{DataType::fp32, DataType::bf16}) {
    all.push_back({type, R::sum, full ? 2U : 4U, true});
    if (!full) continue;
    for (const R reduction : {R::max, R::avg}) all.push_back({type, reduction, 2, true});
  }
  return all;
}

}  // namespace

std::vector<Group> list(const Listing& listing) {
  if (!listing.fabric || listing.suite == SuiteName::sustained) return {};
  if (listing.suite == SuiteName::contract) return contract(listing);
  const Fabric& fabric = *listing.fabric;
  const bool gpu = listing.device.backend == Backend::cuda, full = listing.suite == SuiteName::full;
  const auto ranks = static_cast<int>(fabric.members.size());
  const std::vector<int> world = everyone(fabric);
  CollectiveList list(listing);
  const auto add = [&](const Point& made, bool in_place) { in_place ? list.add_both_places(made) : list.add(made); };
  const auto point = [&](Collective op, DataType type, std::size_t bytes) {
    Point made{op, type, Reduction::sum, bytes, false, world, {}, {}, {}, -1, true};
    return made;
  };
  if (listing.suite == SuiteName::smoke) {
    list.add(point(Collective::all_reduce, DataType::fp32, gpu ? 64 * kMiB : 4 * kMiB));
    return list.take();
  }
  if (listing.suite == SuiteName::quick) {
    for (const std::size_t bytes :
         gpu ? std::vector<std::size_t>{8, kKiB, 32 * kKiB, 256 * kKiB, 4 * kMiB, 64 * kMiB, 512 * kMiB, 4 * kGiB}
             : std::vector<std::size_t>{8, 128, kKiB, 8 * kKiB, 64 * kKiB, 512 * kKiB, 4 * kMiB, 32 * kMiB}) {
      add(point(Collective::all_reduce, DataType::fp32, bytes), !fabric.local);
    }
    return list.take();
  }

  for (const Collective op : kCollectives) {
    if (op == Collective::ping_pong || (fabric.local && op != Collective::all_reduce)) continue;
    for (const Sweep& sweep : sweeps(listing)) {
      if (sweep.reduction != Reduction::sum && !reduces(op)) continue;
      for (const std::size_t bytes : sizes(8, gpu || full ? 16 * kGiB : 64 * kMiB, sweep.factor)) {
        Point made = point(op, sweep.type, bytes);
        made.reduction = sweep.reduction;
        add(made, sweep.in_place);
      }
    }
  }
  if (fabric.local) return list.take();

  // Scaling: the first 1, 2, 4, ... ranks with the same size, and with the same size per rank where that is another one.
  const std::size_t large = gpu ? 64 * kMiB : 2 * kMiB;
  for (const Collective op :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all}) {
    if (!full && op != Collective::all_reduce) continue;
    for (int count = 1;; count = std::min(2 * count, ranks)) {
      for (const std::size_t bytes : {kMiB, large, large * static_cast<std::size_t>(counts_total(op) ? count : 1)}) {
        Point made = point(op, DataType::fp32, bytes);
        made.colours = first(fabric, count);
        list.add(made);
      }
      if (count == ranks) break;
    }
  }
  for (const Grouping& part : parts(fabric)) {
    for (const Collective op : {Collective::all_reduce, Collective::all_to_all}) {
      if (!full && op != Collective::all_reduce) continue;
      for (const std::size_t bytes : sizes(kKiB, large, full ? 4 : 256)) {
        Point made = point(op, DataType::fp32, bytes);
        made.group = part.name;
        made.colours = part.colours;
        list.add(made);
      }
    }
  }

  // Calls that save the library work: captured in a graph, and with registered buffers.
  for (const std::size_t bytes : sizes(8, gpu ? kGiB : 0, full ? 4 : 64)) {
    Point made = point(Collective::all_reduce, DataType::fp32, bytes);
    made.issue = Issue::graph;
    list.add(made);
    made.issue = Issue::automatic;
    for (const Buffer buffer : fabric.buffers) {
      made.buffer = buffer;
      list.add(made);
    }
  }

  int round = 0;
  for (const std::vector<int>& pairs : ranks > 1 ? rounds_of_pairs(ranks) : std::vector<std::vector<int>>()) {
    for (const std::size_t bytes : full ? sizes(8, gpu ? 256 * kMiB : 16 * kMiB, 4)
                                        : std::vector<std::size_t>{8, 64 * kKiB, kMiB, gpu ? 64 * kMiB : 4 * kMiB}) {
      Point made = point(Collective::ping_pong, DataType::int8, bytes);
      made.colours = pairs;
      made.round = round;
      list.add(made);
    }
    ++round;
  }
  return list.take();
}

}  // namespace roofmark::collectives
