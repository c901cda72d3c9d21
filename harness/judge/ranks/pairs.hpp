// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// Seconds of one trip by size and pair (a < b): half a round trip, by the slower of the two ranks' medians.
using PairTimes = std::map<std::size_t, std::map<std::pair<int, int>, double>>;
PairTimes pair_times(const std::vector<Record>& records);

/// The same over the typical time of what the pair can be compared with: pairs of the same size, of the same way, and with as
/// many at once on that way in their round, of which the lower quartile is typical. (Half of the pairs or more are slow where
/// one of few hosts is.) Without pairs that share the network ports of a host in an unknown way.
using RelativePairTimes = std::map<std::size_t, PairsOf<int>>;
RelativePairTimes relative_pair_times(const std::vector<Record>& records, const Places& places);

/// One pair of the matrix, both directions together. a < b.
struct PairTime {
  int a = 0, b = 0;
  std::size_t bytes = 0;
  double seconds = 0;
};
std::vector<PairTime> pairs_of(const PairTimes& times);

}  // namespace roofmark
