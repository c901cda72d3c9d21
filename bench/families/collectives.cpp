// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collectives.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "bench/families/collective_list.hpp"
#include "bench/families/collective_traffic.hpp"
#include "bench/support/case_request.hpp"

namespace roofmark::collectives {

namespace {

std::vector<int> first(const Fabric& fabric, int ranks) {
  std::vector<int> colours = everyone(fabric);
  std::fill(colours.begin() + ranks, colours.end(), -1);
  return colours;
}

/// Of pairs between hosts (or NVLink domains) in baseline: all of eight hosts with eight ranks each. All of 128 such hosts
/// would be 1016 rounds, 5080 cases.
constexpr std::size_t kRoundsBetweenHosts = 64;

/// Rounds of which one size is measured before the next one: what disturbs the network for some seconds does not slow a pair at
/// several sizes. Their communicators are kept meanwhile.
constexpr std::size_t kRoundsAtATime = kKeptCommunicators / 2;

/// Of each pair in baseline. The two largest depend on the rate of the links, over NVLink no smaller ones.
std::vector<std::size_t> sizes_of_pairs(bool gpu) {
  if (gpu) return {8, 64 * kKiB, kMiB, 32 * kMiB, 64 * kMiB};
  return {8, 64 * kKiB, kMiB, 4 * kMiB};
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

/// In nccl-tests' words (NCCL_TESTS_SPLIT): div_N: N consecutive ranks each, as tensor parallel groups; mod_N: every N-th rank,
/// as the data parallel groups beside them. All of one size, on any hosts.
Grouping whole_groups(const std::string& name, int ranks) {
  const auto refuse = [&](const std::string& why) { throw std::invalid_argument(fmt::format("group:{}: {}", name, why)); };
  constexpr std::string_view kDiv = "div_", kMod = "mod_";
  const bool div = name.starts_with(kDiv);
  int n = 0;
  if (div || name.starts_with(kMod)) std::from_chars(name.data() + kDiv.size(), name.data() + name.size(), n);
  if (n < 1 || name != fmt::format("{}{}", div ? kDiv : kMod, n)) {
    refuse(
        "these ranks form no such group: node, cross and rail need several hosts with several ranks; div_N are N "
        "consecutive ranks each, mod_N every N-th rank");
  }
  if (ranks % n != 0) refuse(fmt::format("{} ranks are no whole groups {} {}", ranks, div ? "of" : "by remainders of", n));
  if ((div ? n : ranks / n) < 2) refuse("a group of one rank communicates with nobody");
  Grouping made{name, {}};
  for (int rank = 0; rank < ranks; ++rank) made.colours.push_back(div ? rank / n : rank % n);
  return made;
}

std::vector<Group> contract(const Listing& listing) {
  CollectiveList list(listing);
  const Divisions divisions(*listing.fabric);
  const SharedDivision world = divisions.world();
  const int ranks = world->ranks;
  for (const Collective op : kCollectives) {
    if (op == Collective::ping_pong) continue;
    for (const DataType type : listing.fabric->types) {
      for (const Reduction reduction : kReductions) {
        if (!reduces(op) && reduction != Reduction::sum) continue;
        for (const std::size_t elements : {1, 7, 1000, listing.device.backend == Backend::cuda ? 4099 : 65537}) {
          list.add_both_places({op, type, reduction, elements * size_of(type), false, world, {}, {}, {}, -1, false});
        }
        const Point last{op, type, reduction, 7 * size_of(type), false, world, {}, {}, {}, -1, false, ranks - 1};
        if (has_root(op)) list.add_both_places(last);
        if (op != Collective::all_to_all) continue;
        for (const int imbalance : std::set<int>{2, ranks - 1}) {
          for (const std::size_t elements : {7, 4099}) {
            const std::size_t bytes = elements * static_cast<std::size_t>(ranks) * size_of(type);
            if (imbalance > 1 && imbalance < ranks) {
              list.add({op, type, reduction, bytes, false, world, {}, {}, {}, -1, false, (imbalance + 1) % ranks, imbalance});
            }
          }
        }
      }
    }
  }
  int round = 0;
  for (const std::vector<int>& colours : rounds_of_pairs(listing.fabric->members)) {
    const SharedDivision pairs = divisions.of(colours);
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

std::int64_t fewest_ranks(const Point& point) {
  const RankGroups::Groups& groups = point.among->groups.all();
  const auto fewest = std::min_element(groups.begin(), groups.end(),
                                       [](const auto& one, const auto& other) { return one.size() < other.size(); });
  return static_cast<std::int64_t>(fewest->size());
}

constexpr std::string_view kNeedsRanks =
    "`roofmark run` measures the all-reduce alone of the collectives; `roofmark-mpi collectives` has all";

/// NCCL user guide, "Using NCCL with CUDA Graphs": a deadlock is likely where one thread has several GPUs.
constexpr std::string_view kMayHang =
    "NCCL may hang in graphs over several GPUs of a process: `roofmark-mpi collectives` has a process for each GPU";

bool names_a_pair(const CaseRequest& asked) { return asked.has("from") || asked.has("to"); }

/// The lower rank first: there the message begins, whichever is named first.
std::pair<int, int> pair_of(const CaseRequest& asked, int ranks) {
  if (!asked.has("from") || !asked.has("to")) throw std::invalid_argument("a pair has two ranks: from:A/to:B");
  const auto rank = [&](std::string_view key) { return static_cast<int>(asked.number(key, 0, ranks - 1)); };
  if (rank("from") == rank("to")) throw NotTogether("from and to are the same rank");
  return std::minmax(rank("from"), rank("to"));
}

/// The ranks that take part: the first ones, those of a grouping, the pairs of a round, or a pair.
std::vector<int> taking_part(const Fabric& fabric, const CaseRequest& asked) {
  const auto all = static_cast<int>(fabric.members.size());
  if (names_a_pair(asked)) {
    std::vector<int> colours(fabric.members.size(), -1);
    const auto [from, to] = pair_of(asked, all);
    for (const int rank : {from, to}) colours[static_cast<std::size_t>(rank)] = 0;
    return colours;
  }
  if (asked.has("group")) {
    const std::string name = asked.word_or("group", "");
    for (const Grouping& part : parts(fabric)) {
      if (part.name == name) return part.colours;
    }
    return whole_groups(name, all).colours;
  }
  if (asked.has("round")) {
    const auto rounds = rounds_of_pairs(fabric.members);
    return rounds.at(static_cast<std::size_t>(asked.number("round", 0, static_cast<std::int64_t>(rounds.size()) - 1)));
  }
  return first(fabric, static_cast<int>(asked.number_or("ranks", all, all)));
}

/// 1 where the all-to-all is even.
int imbalance_of(const Point& point, const CaseRequest& asked, int ranks) {
  if (point.op != Collective::all_to_all) throw std::invalid_argument("only all_to_all has an imbalance");
  // The other ranks get something too.
  const auto imbalance = static_cast<int>(asked.number_within("imbalance", 1, std::max(1, ranks_of(point) - 1), ranks - 1));
  if (imbalance > 1 && fewest_ranks(point) != ranks_of(point)) {
    throw NotTogether("an imbalance needs groups of equal size");
  }
  return imbalance;
}

}  // namespace

/// Of any size, and root. Its bytes are those of whole parts, as nccl-tests rounds them.
std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  const auto* const op = std::find_if(std::begin(kCollectives), std::end(kCollectives),
                                      [&](Collective one) { return name(one) == asked.family(); });
  if (op == std::end(kCollectives)) return std::nullopt;
  if (!listing.fabric) {
    Case c;
    static_cast<CaseName&>(c) = asked.case_name();
    c.unsupported = "needs several ranks: `roofmark-mpi collectives` measures it";
    return c;
  }
  const Fabric& fabric = *listing.fabric;
  const auto all = static_cast<int>(fabric.members.size());
  const bool pairs = *op == Collective::ping_pong;
  const bool one_pair = names_a_pair(asked);
  if (pairs && !one_pair && !asked.has("round")) {
    if (!asked.has("bytes")) return std::nullopt;  // each round, of the listed sizes
    const std::size_t rounds = rounds_of_pairs(fabric.members).size();
    throw std::invalid_argument(
        fmt::format("name a round of pairs (round:0..{}+1 for all {}), or a pair (from:A/to:B)", rounds - 1, rounds));
  }
  if (!pairs && (one_pair || asked.has("round"))) throw std::invalid_argument("only ping_pong has rounds and pairs");
  if (one_pair && asked.has("round")) throw std::invalid_argument("name a round or a pair, not both");
  if (pairs && asked.has("group")) throw std::invalid_argument("ping_pong has rounds of pairs, and no groups");
  if (fabric.local && *op != Collective::all_reduce) throw std::invalid_argument(std::string(kNeedsRanks));
  constexpr std::string_view kPlaces[] = {"out", "in"}, kIssues[] = {"graph"};
  CollectiveList list(listing);
  Point point{.op = *op,
              .type = asked.type(),
              .reduction = asked.one_of("op", kReductions, Reduction::sum),
              .bytes = asked.amount("bytes"),
              .among = Divisions(fabric).of(taking_part(fabric, asked)),
              .group = asked.word_or("group", "")};
  if (const int ranks = ranks_of(point); asked.number_or("ranks", ranks) != ranks) {
    throw NotTogether(fmt::format("these groups are of {} ranks", ranks));
  }
  if (one_pair) point.pair = pair_of(asked, all);
  if (pairs && !one_pair) point.round = static_cast<int>(asked.number("round", 0));
  if (asked.has("imbalance")) point.imbalance = imbalance_of(point, asked, all);
  if ((has_root(*op) || point.imbalance > 1) && asked.has("root"))
    point.root = static_cast<int>(asked.number_within("root", 0, fewest_ranks(point) - 1, all - 1));
  point.in_place = asked.word_of("place", kPlaces, "out") == "in";
  if (!asked.has("place") && !list.lacks(point).empty()) {
    Point other_place = point;
    other_place.in_place = !point.in_place;
    if (list.lacks(other_place).empty()) point = std::move(other_place);
  }
  if (asked.has("issue")) {
    asked.word_of("issue", kIssues, "");
    if (listing.device.backend != Backend::cuda) throw std::invalid_argument("calls over MPI are in no graph");
    if (fabric.local) throw std::invalid_argument(std::string(kMayHang));
    point.issue = Issue::graph;
  }
  if (asked.has("buffer")) {
    if (fabric.buffers.empty()) throw std::invalid_argument("these ranks have plain buffers alone");
    point.buffer = asked.one_of("buffer", fabric.buffers, Buffer::plain);
    if (pairs && point.buffer == Buffer::symmetric) {
      throw std::invalid_argument("a pair has no symmetric buffers: all ranks of a communicator register them together");
    }
  }
  Case c = collective_case(listing, point);
  if (c.unsupported.empty()) c.unsupported = list.lacks(point);
  return c;
}

std::vector<Group> list(const Listing& listing) {
  if (!listing.fabric || listing.suite == SuiteName::sustained) return {};
  if (listing.suite == SuiteName::contract) return contract(listing);
  const Fabric& fabric = *listing.fabric;
  const bool gpu = listing.device.backend == Backend::cuda, full = listing.suite == SuiteName::full;
  const auto ranks = static_cast<int>(fabric.members.size());
  const Divisions divisions(fabric);
  const SharedDivision world = divisions.world();
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
      const SharedDivision some = divisions.of(first(fabric, count));
      for (const std::size_t bytes : {kMiB, large, large * static_cast<std::size_t>(counts_total(op) ? count : 1)}) {
        Point made = point(op, DataType::fp32, bytes);
        made.among = some;
        list.add(made);
      }
      if (count == ranks) break;
    }
  }
  for (const Grouping& part : parts(fabric)) {
    const SharedDivision groups = divisions.of(part.colours);
    for (const Collective op : {Collective::all_reduce, Collective::all_to_all}) {
      if (!full && op != Collective::all_reduce) continue;
      for (const std::size_t bytes : sizes(kKiB, large, full ? 4 : 256)) {
        Point made = point(op, DataType::fp32, bytes);
        made.group = part.name;
        made.among = groups;
        list.add(made);
      }
    }
  }

  // As a popular expert's rank receives more of a layer's tokens: all send to it at once.
  for (const int imbalance : {2, 4}) {
    for (const std::size_t bytes : sizes(64 * kKiB, gpu ? kGiB : 4 * kMiB, 16)) {
      if (!full || imbalance >= ranks) continue;
      Point made = point(Collective::all_to_all, DataType::bf16, bytes);
      made.imbalance = imbalance;
      list.add(made);
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

  const std::vector<RankInfo>& members = listing.fabric->members;
  const std::vector<std::vector<int>> rounds = rounds_of_pairs(members);
  const std::vector<std::size_t> sample = sample_of_rounds(members, full ? rounds.size() : kRoundsBetweenHosts);
  for (std::size_t first = 0; first < sample.size(); first += kRoundsAtATime) {
    const std::size_t end = std::min(first + kRoundsAtATime, sample.size());
    std::vector<SharedDivision> pairs;
    for (std::size_t i = first; i < end; ++i) pairs.push_back(divisions.of(rounds[sample[i]]));
    for (const std::size_t bytes : full ? sizes(8, gpu ? 256 * kMiB : 16 * kMiB, 4) : sizes_of_pairs(gpu)) {
      for (std::size_t i = first; i < end; ++i) {
        Point made = point(Collective::ping_pong, DataType::int8, bytes);
        made.among = pairs[i - first];
        made.round = static_cast<int>(sample[i]);
        list.add(made);
      }
    }
  }
  return list.take();
}

}  // namespace roofmark::collectives
