// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collectives.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "bench/families/collective_list.hpp"
#include "bench/families/collective_traffic.hpp"

namespace roofmark {

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
          list.add_both_places({op, type, reduction, elements * size_of(type), false, world, {}, {}, {}, -1});
        }
      }
    }
  }
  int round = 0;
  for (const std::vector<int>& pairs : rounds_of_pairs(static_cast<int>(world.size()))) {
    for (const std::size_t elements : {1, 4097}) {
      list.add({Collective::ping_pong, DataType::fp32, {}, elements * 4, false, pairs, {}, {}, {}, round});
    }
    ++round;
  }
  return list.take();
}

/// Every size that a device holds at all.
std::vector<std::size_t> sweep(const Listing& listing, std::size_t most, std::size_t factor) {
  return sizes(8, std::min(most, listing.device.memory_bytes), factor);
}

/// Beside the suite of a single device: the all-reduce alone.
std::vector<Group> all_reduce_of_process(const Listing& listing) {
  CollectiveList list(listing);
  const auto add = [&](DataType type, Reduction reduction, bool in_place, const std::vector<std::size_t>& all) {
    for (const std::size_t bytes : all) {
      list.add({Collective::all_reduce, type, reduction, bytes, in_place, everyone(*listing.fabric), {}, {}, {}, -1});
    }
  };
  const auto every = [&](std::size_t factor) { return sweep(listing, 16 * kGiB, factor); };
  if (listing.suite == SuiteName::smoke) {
    add(DataType::fp32, Reduction::sum, false, {64 * kMiB});
  } else if (listing.suite == SuiteName::quick) {
    add(DataType::fp32, Reduction::sum, false, {8, kKiB, 32 * kKiB, kMiB, 16 * kMiB, 128 * kMiB, 512 * kMiB, kGiB});
  } else if (listing.suite == SuiteName::baseline) {
    for (const DataType type : {DataType::fp32, DataType::bf16}) add(type, Reduction::sum, false, every(4));
  } else {
    for (const bool in_place : {false, true}) add(DataType::fp32, Reduction::sum, in_place, every(2));
    for (const DataType type : {DataType::fp16, DataType::bf16}) add(type, Reduction::sum, false, every(4));
    for (const Reduction reduction : {Reduction::max, Reduction::avg}) add(DataType::fp32, reduction, false, every(16));
  }
  return list.take();
}

}  // namespace

std::vector<Group> collectives(const Listing& listing) {
  if (!listing.fabric || listing.suite == SuiteName::sustained) return {};
  if (listing.suite == SuiteName::contract) return contract(listing);
  const Fabric& fabric = *listing.fabric;
  if (fabric.local) return all_reduce_of_process(listing);
  const bool gpu = listing.device.backend == Backend::cuda, full = listing.suite == SuiteName::full;
  const auto ranks = static_cast<int>(fabric.members.size());
  const std::vector<int> world = everyone(fabric);
  CollectiveList list(listing);
  const auto point = [&](Collective op, DataType type, std::size_t bytes) {
    Point made{op, type, Reduction::sum, bytes, false, world, {}, {}, {}, -1};
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
      list.add_both_places(point(Collective::all_reduce, DataType::fp32, bytes));
    }
    return list.take();
  }

  const std::vector<std::size_t> all = sweep(listing, gpu || full ? 16 * kGiB : 64 * kMiB, full ? 2 : 4);
  const std::vector<DataType> baseline = gpu ? std::vector{DataType::fp32, DataType::bf16} : fabric.types;
  for (const Collective op : kCollectives) {
    if (op == Collective::ping_pong) continue;
    for (const DataType type : full ? fabric.types : baseline) {
      for (const Reduction reduction : {Reduction::sum, Reduction::max, Reduction::avg}) {
        if (reduction != Reduction::sum && (!full || !reduces(op))) continue;
        for (const std::size_t bytes : all) {
          Point made = point(op, type, bytes);
          made.reduction = reduction;
          list.add_both_places(made);
        }
      }
    }
  }

  // Scaling: the first 1, 2, 4, ... ranks with the same size, and with the same size per rank.
  const std::size_t large = gpu ? 64 * kMiB : 2 * kMiB;
  for (const Collective op :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all}) {
    if (!full && op != Collective::all_reduce) continue;
    for (int count = 1;; count = std::min(2 * count, ranks)) {
      for (const std::size_t bytes : {kMiB, large, large * static_cast<std::size_t>(count)}) {
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

}  // namespace roofmark
