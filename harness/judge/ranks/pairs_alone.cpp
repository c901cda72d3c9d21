// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/pairs_alone.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofmark {

namespace {

using RankPair = std::pair<int, int>;

bool has(const std::vector<int>& ranks, int rank) { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); }

/// The wanted pairs, fastest first.
template <class IsWanted>
std::vector<RankPair> fastest_first(const PairsOf<int>& pairs, const IsWanted& is_wanted) {
  std::vector<std::pair<RelativeTime, RankPair>> found;
  for (const auto& [pair, time] : pairs) {
    if (is_wanted(pair)) found.emplace_back(time, pair);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
  std::vector<RankPair> sorted;
  for (const auto& [time, pair] : found) sorted.push_back(pair);
  return sorted;
}

/// Adds the pair of the lower median time among those of `rank` with ranks that are not in `without`, of the pair's way.
void add_typical(PairsAlone& made, const PairsOf<int>& pairs, int rank, const std::vector<int>& without, const Places& places) {
  const Places::Way way = places.way(made.pair);
  const std::vector<RankPair> found = fastest_first(pairs, [&](const RankPair& pair) {
    const auto& [a, b] = pair;
    return (a == rank || b == rank) && !has(without, a == rank ? b : a) && places.way(pair) == way;
  });
  if (!found.empty()) made.others.push_back(found[(found.size() - 1) / 2]);
}

std::string name(std::size_t bytes, const RankPair& pair) {
  return fmt::format("ping_pong/int8/bytes:{}/from:{}/to:{}", bytes, pair.first, pair.second);
}

const TripTime* time_of(const TimesAlone& times, std::size_t bytes, const RankPair& pair) {
  const auto of_size = times.find(bytes);
  if (of_size == times.end()) return nullptr;
  const auto found = of_size->second.find(pair);
  return found == of_size->second.end() ? nullptr : &found->second;
}

}  // namespace

std::optional<PairsAlone> alone_of_end(std::size_t bytes, const PairsOf<int>& pairs, const std::vector<int>& ranks,
                                       const Places& places) {
  const std::vector<RankPair> own =
      fastest_first(pairs, [&](const RankPair& pair) { return has(ranks, pair.first) != has(ranks, pair.second); });
  if (own.empty()) return std::nullopt;
  PairsAlone made{bytes, own.front(), {}};
  add_typical(made, pairs, has(ranks, made.pair.first) ? made.pair.second : made.pair.first, ranks, places);
  return made.others.empty() ? std::nullopt : std::optional(made);
}

std::optional<PairsAlone> alone_of_link(std::size_t bytes, const PairsOf<int>& pairs, const std::vector<int>& ones,
                                        const std::vector<int>& others, const Places& places) {
  const std::vector<RankPair> own = fastest_first(pairs, [&](const RankPair& pair) {
    const auto& [a, b] = pair;
    return (has(ones, a) && has(others, b)) || (has(ones, b) && has(others, a));
  });
  if (own.empty()) return std::nullopt;
  PairsAlone made{bytes, own[(own.size() - 1) / 2], {}};
  for (const int rank : {made.pair.first, made.pair.second}) {
    add_typical(made, pairs, rank, has(ones, rank) ? others : ones, places);
  }
  return made.others.empty() ? std::nullopt : std::optional(made);
}

std::vector<std::string> unmeasured(const PairsAlone& pairs, const TimesAlone& times) {
  std::vector<std::string> names;
  const auto add = [&](const RankPair& pair) {
    if (!time_of(times, pairs.bytes, pair)) names.push_back(name(pairs.bytes, pair));
  };
  add(pairs.pair);
  for (const RankPair& other : pairs.others) add(other);
  return names;
}

std::optional<AloneRatio> ratio_alone(const PairsAlone& pairs, const TimesAlone& times) {
  const TripTime* const own = time_of(times, pairs.bytes, pairs.pair);
  if (!own) return std::nullopt;
  double slowest = 0, highest = 0;
  AloneRatio made;
  for (const RankPair& pair : pairs.others) {
    const TripTime* const other = time_of(times, pairs.bytes, pair);
    if (!other) return std::nullopt;
    highest = std::max(highest, other->high);
    if (other->seconds <= slowest) continue;
    slowest = other->seconds;
    made.over = pair;
  }
  made.times = own->seconds / slowest;
  made.slow = made.times > kSlow && own->low > highest;
  return made;
}

std::string in_words(const PairsAlone& pairs, const TimesAlone& times) {
  const auto ratio = ratio_alone(pairs, times);
  if (!ratio) return fmt::format("; alone: --case '{}'", name(pairs.bytes, pairs.pair));
  return fmt::format("; each alone, ranks {} and {} take {:.2f} times as long as ranks {} and {}: slow {}", pairs.pair.first,
                     pairs.pair.second, ratio->times, ratio->over.first, ratio->over.second,
                     ratio->slow ? "without other traffic, too" : "only beside other traffic, or only for a time");
}

}  // namespace roofmark
