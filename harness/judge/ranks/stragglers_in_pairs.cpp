// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/stragglers_in_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/pairs_alone.hpp"
#include "harness/judge/ranks/rank_groups.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

namespace {

/// The pairs of ranks, or of hosts, over all sizes.
template <class Key>
struct SlowPairs {
  std::size_t judged = 0;  ///< ends, at the size with the most of them
  Ratios<Key> ratios;
  std::map<Key, SlowAtSizes> ends;
  std::map<std::pair<Key, Key>, SlowAtSizes> pairs;

  void add(const PairsOf<Key>& measured, const std::map<Key, EndTimes>& times, const Beside<Key>& beside,
           std::optional<double> scatter, const std::string& where) {
    std::map<Key, double> best;
    for (const auto& [end, time] : times) best[end] = time.best.times;
    judged = std::max(judged, times.size());
    ratios.add(best);
    note_slow_ends(times, scatter, where, ends);
    note_slow_pairs(measured, times, beside, scatter, where, pairs);
  }
};

std::pair<std::string, std::string> hosts_of(const std::pair<int, int>& pair, const Places& places) {
  return std::minmax(places.host(pair.first), places.host(pair.second));
}

/// Of two hosts, or of one with itself, the lower median of the pairs of their ranks: one alone is slow as a pair of ranks.
PairsOf<std::string> pairs_of_hosts(const PairsOf<int>& pairs, const Places& places) {
  std::map<std::pair<std::string, std::string>, std::vector<RelativeTime>> all;
  for (const auto& [pair, time] : pairs) {
    all[hosts_of(pair, places)].push_back(time);
  }
  PairsOf<std::string> found;
  for (const auto& [hosts, times] : all) found[hosts] = lower_median(times);
  return found;
}

/// A host's best pair is the best of its ranks.
std::map<std::string, EndTimes> times_of_hosts(const PairsOf<std::string>& hosts, const PairsOf<int>& pairs,
                                               const Places& places) {
  std::map<std::string, EndTimes> times = times_of_ends(hosts);
  for (const auto& [pair, time] : pairs) {
    for (const int rank : {pair.first, pair.second}) {
      RelativeTime& best = times.at(places.host(rank)).best;
      best = std::min(best, time);
    }
  }
  return times;
}

/// " with 4 ranks" of pairs between hosts, where there are hosts with other numbers of ranks; else empty.
std::string with_ranks(const ComparedPairs& which, const Places& places) {
  if (which.linked || places.all_hosts_have(which.at_once)) return {};
  return fmt::format(" with {} rank{}", which.at_once, which.at_once == 1 ? "" : "s");
}

/// Those of a size, within hosts or between them. Pairs that are compared with nobody may have no better one at either end:
/// their ratio is over the fastest of them.
template <class Group, class GroupOf>
std::vector<InRound<Group>> in_rounds(std::size_t bytes, bool linked, const RelativePairTimes& times, const GroupOf& group_of) {
  std::vector<InRound<Group>> found;
  for (const auto& [which, sizes] : times) {
    if (which.linked != linked || !sizes.contains(bytes)) continue;
    const PairsOf<int>& pairs = sizes.at(bytes);
    const std::map<int, EndTimes> ends = times_of_ends(pairs);
    const auto faster = [](const auto& one, const auto& other) { return one.second < other.second; };
    const double fastest = std::min_element(pairs.begin(), pairs.end(), faster)->second.times;
    for (const auto& [pair, time] : pairs) {
      if (time.round < 0) continue;
      found.push_back({group_of(pair), time.round, time.times / (which.compared ? best_of_ends(pair, ends).times : fastest)});
    }
  }
  return found;
}

}  // namespace

void find_in_pairs(const ComparedPairs& which, const RelativePairTimes& times, const TimesAlone& alone, const Places& places,
                   Stragglers& made) {
  SlowPairs<int> ranks;
  SlowPairs<std::string> hosts;
  const bool linked = which.linked;
  const std::string which_hosts = with_ranks(which, places), which_pairs = places.kind(linked, which_hosts);
  const std::map<std::size_t, PairsOf<int>>& measured = times.at(which);
  const int sizes = static_cast<int>(measured.size());
  const auto& [largest_bytes, largest] = *measured.rbegin();
  std::optional<double> scatter;
  if (sizes >= kLargeSizes) scatter = scatter_between(largest, std::next(measured.rbegin())->second);
  for (RankGroup& group : rank_groups("pairs " + which_pairs, largest, times_of_ends(largest), places)) {
    made.groups.push_back(std::move(group));
  }
  int left = sizes;
  for (const auto& [bytes, pairs] : measured) {
    const std::optional<double> of_large = left-- <= kLargeSizes ? scatter : std::nullopt;
    const std::string where = format_bytes(static_cast<double>(bytes));
    const PairsOf<std::string> between = pairs_of_hosts(pairs, places);
    const std::map<int, EndTimes> ends = times_of_ends(pairs);
    const auto of_hosts = [&](const auto& pair) { return hosts_of(pair, places); };
    ranks.add(pairs, ends, slowest_beside(in_rounds<int>(bytes, linked, times, std::identity())), of_large, where);
    hosts.add(between, times_of_hosts(between, pairs, places),
              slowest_beside(in_rounds<std::string>(bytes, linked, times, of_hosts)), of_large, where);
    made.note_compared(FindingKind::slow_link, pairs.size());
  }
  made.note_compared(FindingKind::slow_rank, ranks.judged);
  made.note_compared(FindingKind::slow_host, hosts.judged);
  // Two ranks have one pair, which tells nothing of either.
  if (ranks.judged > 2) {
    made.note_slowest(ranks.ratios, linked ? Ratios<std::string>() : hosts.ratios, places, "by the best pair " + which_pairs);
  }
  // A single slow size may be chance, and of many pairs some are slow at two by chance.
  const int often = std::max(least_slow_sizes(ranks.judged, sizes), std::min(sizes, 2));
  const int often_of_pair = std::max(often, (sizes + 1) / 2);
  const auto seldom = [&](const auto& seen) { return !seen.second.is_slow(often); };
  std::erase_if(hosts.ends, [&](const auto& host) { return !places.host_has_several(host.first) || seldom(host); });
  std::erase_if(ranks.ends, [&](const auto& rank) { return hosts.ends.contains(places.host(rank.first)) || seldom(rank); });
  std::erase_if(hosts.pairs, [&](const auto& pair) {
    const auto& [one, other] = pair.first;
    return one == other || !places.host_has_several(one) || !places.host_has_several(other) ||
           !pair.second.is_slow(often_of_pair);
  });
  std::erase_if(ranks.pairs, [&](const auto& pair) {
    return hosts.pairs.contains(hosts_of(pair.first, places)) || !pair.second.is_slow(often_of_pair);
  });
  const auto of_sizes = [&](const Outlier& seen) {
    return fmt::format("{}{}", seen.where, sizes > 1 ? fmt::format(", slow at {} of {} sizes", seen.times, sizes) : "");
  };
  // Pairs of a host that is alone below its leaf switch do not tell the two apart.
  const std::string or_leaf =
      linked ? std::string()
             : fmt::format("; if no other host{} is below its leaf switch, the switch's uplinks may be slow",
                           which_hosts.empty() ? " of this run" : which_hosts);
  // A finding, with what pairs that were measured alone add to it.
  const auto add = [&](Finding finding, const std::optional<PairsAlone>& pairs) {
    if (pairs) {
      finding.text += in_words(*pairs, alone);
      if (const auto ratio = ratio_alone(*pairs, alone)) finding.times_alone = ratio->times;
      made.alone.push_back(*pairs);
    }
    made.findings.push_back(std::move(finding));
  };
  const auto add_end = [&](FindingKind kind, const std::string& who, const char* whom, const SlowAtSizes& seen,
                           const std::vector<int>& whose) {
    add({kind,
         fmt::format("{}: its best pair {} takes {:.2f} times the median of the {}{} ({}){}", who, which_pairs,
                     seen.worst.times, whom, words(seen.worst), of_sizes(seen), or_leaf),
         {},
         seen.worst.times,
         brief(who, seen),
         whose},
        alone_of_end(alone.rounds.at(largest_bytes), largest, whose, places));
  };
  for (const auto& [host, seen] : worst_first(hosts.ends)) {
    add_end(FindingKind::slow_host, host, "hosts", seen, places.ranks_of(host));
  }
  for (const auto& [rank, seen] : worst_first(ranks.ends)) {
    add_end(FindingKind::slow_rank, places.describe(rank), "ranks", seen, {rank});
  }
  const auto add_pair = [&](const std::string& who, const char* what, const char* way, const SlowAtSizes& seen,
                            const std::vector<int>& ones, const std::vector<int>& others) {
    std::vector<int> both = ones;
    both.insert(both.end(), others.begin(), others.end());
    std::sort(both.begin(), both.end());
    add({FindingKind::slow_link,
         fmt::format("{}: {} takes {:.2f} times what most pairs of either end take ({})", who, what, seen.worst.times,
                     of_sizes(seen)),
         {},
         seen.worst.times,
         fmt::format("the {} between {} ({:.2f} times their time with others)", way, who, seen.worst.times),
         std::move(both)},
        alone_of_link(alone.rounds.at(largest_bytes), largest, ones, others, places));
  };
  for (const auto& [pair, seen] : worst_first(hosts.pairs)) {
    add_pair(fmt::format("{} and {}", pair.first, pair.second), "a typical pair of their ranks", "way", seen,
             places.ranks_of(pair.first), places.ranks_of(pair.second));
  }
  for (const auto& [pair, seen] : worst_first(ranks.pairs)) {
    add_pair(fmt::format("{} and {}", places.describe(pair.first), places.describe(pair.second)), "this pair", "link", seen,
             {pair.first}, {pair.second});
  }
}

}  // namespace roofmark
