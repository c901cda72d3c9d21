// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/deviation.hpp"

namespace roofmark {

/// Thresholds: for an end, in times the median; for a pair, in times the expectation from the best pairs of its two ends.
inline constexpr double kSlow = 1.1, kSlowPair = 1.2;

/// The time of a pair over the typical one of its kind, with its 95 % interval; where that is unknown, `low` and `high` are the
/// time itself.
struct RelativeTime {
  double times = 1, low = 1, high = 1;
};

template <class Key>
void keep_least(std::map<Key, RelativeTime>& values, const Key& key, const RelativeTime& value) {
  const auto [place, fresh] = values.emplace(key, value);
  if (!fresh && value.times < place->second.times) place->second = value;
}

/// Per end, the time of its best pair.
template <class Key>
std::map<Key, RelativeTime> best_pairs(const std::map<std::pair<Key, Key>, RelativeTime>& pairs) {
  std::map<Key, RelativeTime> best;
  for (const auto& [pair, time] : pairs) {
    for (const Key& end : {pair.first, pair.second}) keep_least(best, end, time);
  }
  return best;
}

/// The two largest sizes: only there may a link's rate matter. One alone may have been disturbed all through its measurement,
/// which its interval does not show.
inline constexpr int kLargeSizes = 2;

/// At how many sizes an end or a pair was slow. `clearly`: at how many large ones its interval shows that it is not chance.
struct SlowAtSizes : Outlier {
  int clearly = 0;

  bool is_slow(int least_sizes) const { return clearly >= kLargeSizes || times >= least_sizes; }
};

/// Adds the ends that stand out and whose whole interval is above the median of all. One is clearly slow at a large size if
/// its whole interval is above kSlow times those of half of the ends.
template <class Key>
void note_slow_ends(const std::map<Key, RelativeTime>& ends, bool large, const std::string& where,
                    std::map<Key, SlowAtSizes>& slow) {
  std::vector<double> all, highs;
  for (const auto& [end, time] : ends) {
    all.push_back(time.times);
    highs.push_back(time.high);
  }
  for (const auto& [end, time] : ends) {
    const auto found = stands_out(time.times, all, kSlow);
    if (!found || !(time.low > median(all))) continue;
    slow[end].add(*found, where);
    slow[end].clearly += large && time.high > time.low && time.low > kSlow * median(highs);
  }
}

/// Adds the pairs that take more than kSlowPair times the slower of their ends' best pairs, if that ratio stands out among the
/// pairs. At a large size, one is clearly slow if its whole interval is above that.
template <class Key>
void note_slow_pairs(const std::map<std::pair<Key, Key>, RelativeTime>& pairs, const std::map<Key, RelativeTime>& best,
                     bool large, const std::string& where, std::map<std::pair<Key, Key>, SlowAtSizes>& slow) {
  std::map<std::pair<Key, Key>, double> excesses;
  for (const auto& [pair, time] : pairs) {
    excesses[pair] = time.times / std::max(best.at(pair.first).times, best.at(pair.second).times);
  }
  const std::vector<double> all = values_of(excesses);
  for (const auto& [pair, excess] : excesses) {
    if (!(excess > kSlowPair)) continue;
    const double sure = pairs.at(pair).low / std::max(best.at(pair.first).high, best.at(pair.second).high);
    // Its size is the ratio to the expectation from its ends; its deviation is among all pairs of its kind.
    const auto deviation = stands_out(excess, all, 1);
    if (!deviation || !(sure > 1)) continue;
    slow[pair].add({excess, deviation->mads}, where);
    slow[pair].clearly += large && pairs.at(pair).high > pairs.at(pair).low && sure > kSlowPair;
  }
}

/// The number of sizes at which a subject must be slow to be named: a third of them, at least two if there are two; half of
/// them with few ends. `judged`: number of compared ends.
inline int least_slow_sizes(std::size_t judged, int sizes) {
  constexpr int kSlowSizes = 2;
  return judged < kMany ? (sizes + 1) / 2 : std::min(sizes, std::max(kSlowSizes, (sizes + 2) / 3));
}

}  // namespace roofmark
