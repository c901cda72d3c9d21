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

/// Thresholds: for an end, in times the median; for a pair, in times the expectation from the best pairs of its two ends.
inline constexpr double kSlow = 1.1, kSlowPair = 1.2;

template <class Key>
void keep_least(std::map<Key, double>& values, const Key& key, double value) {
  const auto [place, fresh] = values.emplace(key, value);
  if (!fresh) place->second = std::min(place->second, value);
}

/// Per end, the time of its best pair.
template <class Key>
std::map<Key, double> best_pairs(const std::map<std::pair<Key, Key>, double>& pairs) {
  std::map<Key, double> best;
  for (const auto& [pair, seconds] : pairs) {
    for (const Key& end : {pair.first, pair.second}) keep_least(best, end, seconds);
  }
  return best;
}

/// Adds the pairs that take more than kSlowPair times the slower of their ends' best pairs, if that ratio stands out among the
/// pairs.
template <class Key>
void note_slow_pairs(const std::map<std::pair<Key, Key>, double>& pairs, const std::map<Key, double>& best,
                     const std::string& where, std::map<std::pair<Key, Key>, Outlier>& slow) {
  std::map<std::pair<Key, Key>, double> excesses;
  for (const auto& [pair, seconds] : pairs) excesses[pair] = seconds / std::max(best.at(pair.first), best.at(pair.second));
  const std::vector<double> all = values_of(excesses);
  for (const auto& [pair, excess] : excesses) {
    if (!(excess > kSlowPair)) continue;
    // Its size is the ratio to the expectation from its ends; its deviation is among all pairs of its kind.
    if (const auto deviation = stands_out(excess, all, 1)) slow[pair].add({excess, deviation->mads}, where);
  }
}

/// The number of sizes at which a subject must be slow to be named; `judged`: number of compared ends. A single slow size may
/// be noise. A third of the sizes, at least two if there are two; half of them with few ends.
inline int least_slow_sizes(std::size_t judged, int sizes) {
  constexpr int kSlowSizes = 2;
  return judged < kMany ? (sizes + 1) / 2 : std::min(sizes, std::max(kSlowSizes, (sizes + 2) / 3));
}

}  // namespace roofmark
