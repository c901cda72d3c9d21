// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "harness/judge/ranks/deviation.hpp"

namespace roofmark {

/// Thresholds of those who are slow: one of all, in times the median; a pair, in times what the best pairs of its two ends
/// explain.
inline constexpr double kSlow = 1.1, kSlowPair = 1.2;

template <class Key>
void keep_least(std::map<Key, double>& values, const Key& key, double value) {
  const auto [place, fresh] = values.emplace(key, value);
  if (!fresh) place->second = std::min(place->second, value);
}

/// By end, the time of its best pair.
template <class Key>
std::map<Key, double> best_pairs(const std::map<std::pair<Key, Key>, double>& pairs) {
  std::map<Key, double> best;
  for (const auto& [pair, seconds] : pairs) {
    for (const Key& end : {pair.first, pair.second}) keep_least(best, end, seconds);
  }
  return best;
}

/// Adds the pairs that take over kSlowPair times the worse of their ends' best pairs, and whose ratio to it stands out among
/// the pairs.
template <class Key>
void note_slow_pairs(const std::map<std::pair<Key, Key>, double>& pairs, const std::map<Key, double>& best,
                     const std::string& where, std::map<std::pair<Key, Key>, Outlier>& slow) {
  std::map<std::pair<Key, Key>, double> excesses;
  for (const auto& [pair, seconds] : pairs) excesses[pair] = seconds / std::max(best.at(pair.first), best.at(pair.second));
  const std::vector<double> all = values_of(excesses);
  for (const auto& [pair, excess] : excesses) {
    if (!(excess > kSlowPair)) continue;
    // It is given in times what its ends explain, and in deviations of all pairs of its kind.
    if (const auto deviation = stands_out(excess, all, 1)) slow[pair].add({excess, deviation->mads}, where);
  }
}

/// At how many of the sizes it must be slow to be named; `judged` are the ends that are compared. One slow size alone may be a
/// neighbour's noise: it is a third of the sizes, and two where there are two; half of them among few.
inline int least_slow_sizes(std::size_t judged, int sizes) {
  constexpr int kSlowSizes = 2;
  return judged < kMany ? (sizes + 1) / 2 : std::min(sizes, std::max(kSlowSizes, (sizes + 2) / 3));
}

}  // namespace roofmark
