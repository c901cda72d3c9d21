// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/slow_by_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/judge/ranks/rank_groups.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"
#include "harness/judge/ranks/uplinks.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

std::string brief(const std::string& who, const Outlier& seen) {
  return fmt::format("{} ({:.2f} times the median)", who, seen.worst.times);
}

void add_slowest(const Ratios<int>& ranks, const Ratios<std::string>& nodes, const Places& places, const std::string& by,
                 std::vector<Slowest>& slowest) {
  const auto add = [&](const std::string& of, const std::string& who, const auto& found) {
    slowest.push_back(
        {of + ", " + by, who, static_cast<int>(found.among), found.times_median, found.times_fastest, found.mads});
  };
  if (places.any_host_has_several()) {
    if (const auto found = nodes.slowest()) add("hosts", found->who, *found);
  }
  if (const auto found = ranks.slowest()) add("ranks", places.describe(found->who), *found);
}

namespace {

/// The pairs of ranks, or of hosts, over all sizes.
template <class Key>
struct SlowPairs {
  std::size_t judged = 0;  ///< ends, at the size with the most of them
  Ratios<Key> ratios;
  std::map<Key, SlowAtSizes> ends;
  std::map<std::pair<Key, Key>, SlowAtSizes> pairs;

  /// `inside`: of ends that their pairs below one leaf switch suffice to judge. `scatter`: of large sizes.
  void add(const PairsOf<Key>& measured, const std::map<Key, EndTimes>& times, std::map<Key, EndTimes> inside,
           std::optional<double> scatter, const std::string& where) {
    for (const auto& [end, time] : times) inside.emplace(end, time);
    std::map<Key, double> best;
    for (const auto& [end, time] : inside) best[end] = time.best.times;
    judged = std::max(judged, times.size());
    ratios.add(best);
    note_slow_ends(inside, scatter, where, ends);
    note_slow_pairs(measured, times, scatter, where, pairs);
  }
};

/// Of two hosts, or of one with itself, the lower median of the pairs of their ranks: one alone is slow as a pair of ranks.
PairsOf<std::string> pairs_of_hosts(const PairsOf<int>& pairs, const Places& places) {
  std::map<std::pair<std::string, std::string>, std::vector<RelativeTime>> all;
  for (const auto& [pair, time] : pairs) {
    all[std::minmax(places.host(pair.first), places.host(pair.second))].push_back(time);
  }
  PairsOf<std::string> found;
  for (const auto& [hosts, times] : all) {
    found[hosts] = lower_median(times);
    // Two hosts meet in several rounds, of which the first has all that meet at the same time.
    for (const RelativeTime& time : times) found[hosts].round = std::min(found[hosts].round, time.round);
  }
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

/// The crossing pairs over what the uplinks of their leaves allow, so that each is compared with all others.
PairsOf<int> beyond_uplinks(PairsOf<int> pairs, const Uplinks& uplinks) {
  std::vector<double> beyond;
  for (const auto& [pair, time] : pairs) {
    if (uplinks.crosses(pair)) beyond.push_back(time.times / uplinks.expected(pair));
  }
  if (beyond.empty()) return pairs;
  const double typical = quartile(std::move(beyond), 1);
  for (auto& [pair, time] : pairs) {
    if (!uplinks.crosses(pair)) continue;
    const double expected = uplinks.expected(pair) * typical;
    time.times /= expected, time.low /= expected, time.high /= expected;
  }
  return pairs;
}

std::vector<int> ranks_below(const std::map<int, int>& group, int leaf) {
  std::vector<int> ranks;
  for (const auto& [rank, of] : group) {
    if (of == leaf) ranks.push_back(rank);
  }
  return ranks;
}

std::size_t hosts_below(const std::map<int, int>& group, int leaf, const Places& places) {
  std::set<std::string> hosts;
  for (const int rank : ranks_below(group, leaf)) hosts.insert(places.host(rank));
  return hosts.size();
}

/// "leaf switch s1.s4: ranks 0-3 (node0 ... node3)"
std::string leaf_in_words(const std::vector<int>& below, const Places& places) {
  const std::string name = places.leaf(below.front());
  return (name.empty() ? "a leaf switch with " : "leaf switch " + name + " with ") + in_words(below, places);
}

}  // namespace

void find_slow_pairs(const RelativePairTimes& times, const Places& places, bool linked, Stragglers& made) {
  std::vector<Finding>& findings = made.findings;
  SlowPairs<int> ranks;
  SlowPairs<std::string> hosts;
  std::map<int, SlowAtSizes> leaves;
  std::vector<std::pair<std::size_t, PairsOf<int>>> measured;
  for (const auto& [bytes, all_pairs] : times) {
    PairsOf<int> pairs = all_pairs;
    std::erase_if(pairs, [&](const auto& pair) { return places.linked(pair.first) != linked; });
    if (!pairs.empty()) measured.emplace_back(bytes, std::move(pairs));
  }
  if (measured.empty()) return;
  const int sizes = static_cast<int>(measured.size());
  const PairsOf<int>& largest = measured.back().second;
  // Leaf switches are between hosts.
  const bool knows_leaves = places.knows_leaves() && !linked;
  std::map<int, int> group = knows_leaves ? groups_by_leaf(largest, places) : groups_by_time(largest);
  if (const std::string groups = groups_in_words(largest, group, places); !groups.empty()) {
    made.groups +=
        fmt::format("; pairs {} take longer with other groups of ranks than within: {}", places.kind(linked), groups);
  }
  std::optional<double> scatter;
  if (sizes >= kLargeSizes) scatter = scatter_between(largest, measured[measured.size() - 2].second);
  int left = sizes;
  for (auto& [bytes, pairs] : measured) {
    const bool large = left-- <= kLargeSizes;
    const std::string where = format_bytes(static_cast<double>(bytes));
    PairsOf<int> inside;
    if (!linked) {
      for (const auto& [rank, times_of_rank] : times_of_ends(pairs)) group.try_emplace(rank, rank);
      const Uplinks uplinks(pairs, group, knows_leaves ? 1 : kLeastCompared);
      // Where leaves are unknown, one or two ranks that have no fast pair with others may be slow themselves.
      const std::map<int, double> slowdowns = uplinks.slowdowns();
      made.note_compared(FindingKind::slow_leaf, slowdowns.size());
      for (const auto& [leaf, slowdown] : slowdowns) {
        if (!(slowdown > std::max(kSlow, 1 + kScatters * scatter.value_or(0)))) continue;
        leaves[leaf].add({slowdown, {}}, where);
        leaves[leaf].clearly += large && scatter;
      }
      if (knows_leaves) {
        pairs = beyond_uplinks(std::move(pairs), uplinks);
        inside = pairs;
        std::erase_if(inside, [&](const auto& pair) {
          return uplinks.crosses(pair.first) || hosts_below(group, group.at(pair.first.first), places) < kLeastCompared;
        });
      }
    }
    const std::optional<double> of_large = large ? scatter : std::nullopt;
    const PairsOf<std::string> between = pairs_of_hosts(pairs, places);
    std::map<int, EndTimes> ends = times_of_ends(inside);
    std::map<std::string, EndTimes> host_ends = times_of_hosts(pairs_of_hosts(inside, places), inside, places);
    ranks.add(pairs, times_of_ends(pairs), std::move(ends), of_large, where);
    hosts.add(between, times_of_hosts(between, pairs, places), std::move(host_ends), of_large, where);
    made.note_compared(FindingKind::slow_link, pairs.size());
  }
  made.note_compared(FindingKind::slow_rank, ranks.judged);
  made.note_compared(FindingKind::slow_host, hosts.judged);
  // Two ranks have one pair, which tells nothing of either.
  if (ranks.judged > 2) {
    add_slowest(ranks.ratios, linked ? Ratios<std::string>() : hosts.ratios, places,
                fmt::format("by the best pair {}", places.kind(linked)), made.slowest);
  }
  // A single slow size may be chance, and of many pairs some are slow at two by chance.
  const int often = std::max(least_slow_sizes(ranks.judged, sizes), std::min(sizes, 2));
  const int often_of_pair = std::max(often, (sizes + 1) / 2);
  const auto seldom = [&](const auto& seen) { return !seen.second.is_slow(often); };
  const auto hosts_of = [&](const std::pair<int, int>& pair) {
    return std::pair<std::string, std::string>(std::minmax(places.host(pair.first), places.host(pair.second)));
  };
  std::erase_if(hosts.ends, [&](const auto& host) { return !places.host_has_several(host.first) || seldom(host); });
  std::erase_if(ranks.ends, [&](const auto& rank) { return hosts.ends.contains(places.host(rank.first)) || seldom(rank); });
  std::erase_if(hosts.pairs, [&](const auto& pair) {
    const auto& [one, other] = pair.first;
    return one == other || !places.host_has_several(one) || !places.host_has_several(other) ||
           !pair.second.is_slow(often_of_pair);
  });
  std::erase_if(ranks.pairs, [&](const auto& pair) {
    return hosts.pairs.contains(hosts_of(pair.first)) || !pair.second.is_slow(often_of_pair);
  });
  const auto of_sizes = [&](const Outlier& seen) {
    return fmt::format("{}{}", seen.where, sizes > 1 ? fmt::format(", slow at {} of {} sizes", seen.times, sizes) : "");
  };
  // Pairs of a host that is alone below its leaf switch do not tell the two apart.
  const char* const or_leaf =
      linked || knows_leaves ? "" : "; if no other host of this run is below its leaf switch, the switch's uplinks may be slow";
  const auto add_end = [&](FindingKind kind, const std::string& who, const char* whom, const SlowAtSizes& seen,
                           std::vector<int> whose) {
    findings.push_back({kind,
                        fmt::format("{}: its best pair {} takes {:.2f} times the median of the {}{} ({}){}", who,
                                    places.kind(linked), seen.worst.times, whom, words(seen.worst), of_sizes(seen), or_leaf),
                        {},
                        seen.worst.times,
                        brief(who, seen),
                        std::move(whose)});
  };
  for (const auto& [leaf, seen] : worst_first(leaves)) {
    if (!seen.is_slow(often)) continue;
    const std::vector<int> below = ranks_below(group, leaf);
    FindingKind kind = FindingKind::slow_leaf;
    std::string who = leaf_in_words(below, places), summary = "the uplinks of " + who;
    if (hosts_below(group, leaf, places) == 1) {
      const bool one_rank = below.size() == 1;
      kind = one_rank ? FindingKind::slow_rank : FindingKind::slow_host;
      who = one_rank ? places.describe(leaf) : places.host(leaf);
      summary = who + " or its uplinks";
      who += ", or the uplinks of its leaf switch, below which it is alone";
    }
    const double times = seen.worst.times;
    findings.push_back({kind,
                        fmt::format("{}: pairs with ranks below other leaf switches take {:.2f} times what the uplinks of "
                                    "these allow ({})",
                                    who, times, of_sizes(seen)),
                        {},
                        times,
                        fmt::format("{} ({:.2f} times what uplinks of others allow)", summary, times),
                        below});
  }
  for (const auto& [host, seen] : worst_first(hosts.ends)) {
    add_end(FindingKind::slow_host, host, "hosts", seen, places.ranks_of(host));
  }
  for (const auto& [rank, seen] : worst_first(ranks.ends)) {
    add_end(FindingKind::slow_rank, places.describe(rank), "ranks", seen, {rank});
  }
  const auto add_pair = [&](const std::string& who, const char* what, const char* way, const SlowAtSizes& seen,
                            std::vector<int> whose) {
    findings.push_back({FindingKind::slow_link,
                        fmt::format("{}: {} takes {:.2f} times what most pairs of either end take ({})", who, what,
                                    seen.worst.times, of_sizes(seen)),
                        {},
                        seen.worst.times,
                        fmt::format("the {} between {} ({:.2f} times their time with others)", way, who, seen.worst.times),
                        std::move(whose)});
  };
  for (const auto& [pair, seen] : worst_first(hosts.pairs)) {
    std::vector<int> both = places.ranks_of(pair.first), others = places.ranks_of(pair.second);
    both.insert(both.end(), others.begin(), others.end());
    std::sort(both.begin(), both.end());
    add_pair(fmt::format("{} and {}", pair.first, pair.second), "a typical pair of their ranks", "way", seen, both);
  }
  for (const auto& [pair, seen] : worst_first(ranks.pairs)) {
    add_pair(fmt::format("{} and {}", places.describe(pair.first), places.describe(pair.second)), "this pair", "link", seen,
             {pair.first, pair.second});
  }
}

}  // namespace roofmark
