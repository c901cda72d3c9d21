// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/pairs_alone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

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

/// Adds the pair of the lower median time among the wanted ones of the pair's way.
template <class IsWanted>
void add_typical(PairsAlone& made, const PairsOf<int>& pairs, const Places& places, const IsWanted& is_wanted) {
  const Places::Way way = places.way(made.pair);
  const auto found = fastest_first(pairs, [&](const RankPair& pair) { return is_wanted(pair) && places.way(pair) == way; });
  if (!found.empty()) made.others.push_back(found[(found.size() - 1) / 2]);
}

/// A pair of `rank` with somebody who is not in `without`.
auto is_of(int rank, const std::vector<int>& without) {
  return [rank, &without](const RankPair& pair) {
    const auto& [a, b] = pair;
    return (a == rank || b == rank) && !has(without, a == rank ? b : a);
  };
}

const TripTime* time_of(const PairsAlone& pairs, const RankPair& pair, const TimesAlone& alone) {
  const auto found = alone.times.find(like_round(pairs.round, pair).name());
  return found == alone.times.end() ? nullptr : &found->second;
}

}  // namespace

std::optional<PairsAlone> alone_of_end(const CaseName& round, const PairsOf<int>& pairs, const std::vector<int>& ranks,
                                       const Places& places) {
  for (const RankPair& own :
       fastest_first(pairs, [&](const RankPair& pair) { return has(ranks, pair.first) || has(ranks, pair.second); })) {
    PairsAlone made{round, own, {}};
    const auto& [a, b] = own;
    if (has(ranks, a) && has(ranks, b)) {
      add_typical(made, pairs, places,
                  [&](const RankPair& pair) { return !has(ranks, pair.first) && !has(ranks, pair.second); });
    } else {
      add_typical(made, pairs, places, is_of(has(ranks, a) ? b : a, ranks));
    }
    if (!made.others.empty()) return made;
  }
  return std::nullopt;
}

std::optional<PairsAlone> alone_of_link(const CaseName& round, const PairsOf<int>& pairs, const std::vector<int>& ones,
                                        const std::vector<int>& others, const Places& places) {
  const std::vector<RankPair> own = fastest_first(pairs, [&](const RankPair& pair) {
    const auto& [a, b] = pair;
    return (has(ones, a) && has(others, b)) || (has(ones, b) && has(others, a));
  });
  if (own.empty()) return std::nullopt;
  PairsAlone made{round, own[(own.size() - 1) / 2], {}};
  for (const int rank : {made.pair.first, made.pair.second}) {
    add_typical(made, pairs, places, is_of(rank, has(ones, rank) ? others : ones));
  }
  return made.others.empty() ? std::nullopt : std::optional(made);
}

std::vector<std::string> unmeasured(const PairsAlone& pairs, const TimesAlone& alone) {
  std::vector<std::string> names;
  const auto add = [&](const RankPair& pair) {
    if (!time_of(pairs, pair, alone)) names.push_back(like_round(pairs.round, pair).name());
  };
  add(pairs.pair);
  for (const RankPair& other : pairs.others) add(other);
  return names;
}

std::optional<AloneRatio> ratio_alone(const PairsAlone& pairs, const TimesAlone& alone) {
  const auto measured = [&](const RankPair& pair) {
    const TripTime* const time = time_of(pairs, pair, alone);
    return time && time->seconds > 0 ? time : nullptr;
  };
  const TripTime* const own = measured(pairs.pair);
  if (!own) return std::nullopt;
  double slowest = 0, highest = 0;
  AloneRatio made;
  for (const RankPair& pair : pairs.others) {
    const TripTime* const other = measured(pair);
    if (!other) return std::nullopt;
    highest = std::max(highest, other->high);
    if (other->seconds <= slowest) continue;
    slowest = other->seconds;
    made.over = pair;
  }
  made.times = own->seconds / slowest;
  if (made.times > kSlow && own->low > highest) {
    made.tells = AloneRatio::Tells::slow;
  } else if (made.times <= kSlow && made.times >= 1 / kSlow) {
    made.tells = AloneRatio::Tells::not_slow;
  }
  return made;
}

std::string in_words(const PairsAlone& pairs, const TimesAlone& alone) {
  const auto ratio = ratio_alone(pairs, alone);
  if (!ratio) return fmt::format("; alone: --case '{}'", like_round(pairs.round, pairs.pair).name());
  constexpr std::string_view kMeanings[] = {": slow without other traffic, too",
                                            ": slow only beside other traffic, or only for a time",
                                            ", which does not tell whether it is slow without other traffic"};
  return fmt::format("; each alone, ranks {} and {} take {:.2f} times as long as ranks {} and {}{}", pairs.pair.first,
                     pairs.pair.second, ratio->times, ratio->over.first, ratio->over.second,
                     kMeanings[static_cast<int>(ratio->tells)]);
}

}  // namespace roofmark
