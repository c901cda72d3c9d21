// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/rank_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace roofmark {

namespace {

/// The lowest rank of each rank's group: ranks of a pair that takes about as long as the best of either are in one.
std::map<int, int> groups_of(const PairsOf<int>& pairs, const std::map<int, EndTimes>& ends) {
  std::map<int, int> group;
  for (const auto& [rank, times] : ends) group[rank] = rank;
  for (const auto& [pair, time] : pairs) {
    const double best = std::min(ends.at(pair.first).best, ends.at(pair.second).best).times;
    const auto [kept, joined] = std::minmax(group.at(pair.first), group.at(pair.second));
    if (kept == joined || time.times > kSlowPair * best) continue;
    for (auto& [rank, of] : group) {
      if (of == joined) of = kept;
    }
  }
  return group;
}

/// "ranks 0-3, 8 (node0 ... node4)"
std::string in_words(const std::vector<int>& ranks, const Places& places) {
  std::vector<std::string> ranges;
  for (std::size_t first = 0, i = 0; i < ranks.size(); ++i) {
    if (i + 1 < ranks.size() && ranks[i + 1] == ranks[i] + 1) continue;
    ranges.push_back(first == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[first], ranks[i]));
    first = i + 1;
  }
  const std::string host = places.host(ranks.front()), last = places.host(ranks.back());
  return fmt::format("ranks {} ({})", fmt::join(ranges, ", "), host == last ? host : host + " ... " + last);
}

}  // namespace

std::vector<RankGroup> rank_groups(const std::string& of, const PairsOf<int>& pairs, const std::map<int, EndTimes>& ends,
                                   const Places& places) {
  const std::map<int, int> group = groups_of(pairs, ends);
  std::map<std::pair<int, int>, std::vector<RelativeTime>> times;  // within a group, and between two
  for (const auto& [pair, time] : pairs) times[std::minmax(group.at(pair.first), group.at(pair.second))].push_back(time);
  std::map<int, double> longer;  // with the nearest other group
  for (const auto& [two, between] : times) {
    const auto one = times.find({two.first, two.first}), other = times.find({two.second, two.second});
    if (two.first == two.second || one == times.end() || other == times.end()) continue;
    const double within = std::max(lower_median(one->second), lower_median(other->second)).times;
    for (const int each : {two.first, two.second}) {
      double& least = longer.emplace(each, std::numeric_limits<double>::infinity()).first->second;
      least = std::min(least, lower_median(between).times / within);
    }
  }
  std::erase_if(longer, [](const auto& one) { return !(one.second > kSlowPair); });
  std::vector<RankGroup> found;
  for (const auto& [lowest, times_within] : longer) {
    std::vector<int> ranks;
    for (const auto& [rank, its] : group) {
      if (its == lowest) ranks.push_back(rank);
    }
    found.push_back({of, in_words(ranks, places), std::move(ranks), times_within});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const RankGroup& one, const RankGroup& other) { return one.times_within > other.times_within; });
  return found;
}

std::string in_words(const std::vector<RankGroup>& groups) {
  constexpr std::size_t kNamed = 4;
  std::string text;
  for (std::size_t first = 0, i = 0; i < groups.size(); first = i) {
    std::vector<std::string> words;
    for (; i < groups.size() && groups[i].of == groups[first].of; ++i) {
      if (i - first < kNamed) words.push_back(fmt::format("{} {:.2f} times", groups[i].who, groups[i].times_within));
    }
    if (i - first > kNamed) words.push_back(fmt::format("and {} more", i - first - kNamed));
    text +=
        fmt::format("; {} take longer with other groups of ranks than within: {}", groups[first].of, fmt::join(words, ", "));
  }
  return text;
}

}  // namespace roofmark
