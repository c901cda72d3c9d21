// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"
#include "harness/model/case_name.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// Of one trip: half a round trip, by the slower of the two ranks' medians, with its 95 % interval; where that is unknown,
/// `low` and `high` are the time itself.
struct TripTime {
  double seconds = 0, low = 0, high = 0;
};
/// Of pairs that were measured alone.
struct TimesAlone {
  std::map<std::size_t, CaseName> rounds;  ///< by size, the first case of a round
  std::map<std::string, TripTime> times;   ///< by the name of the case (from:A/to:B); with what failed, as 0 s
};
TimesAlone times_alone(const std::vector<Record>& records);
/// The case of a pair alone that is like one of a round. a < b.
CaseName like_round(CaseName round, const std::pair<int, int>& pair);

/// Seconds of one trip by size and pair (a < b), in a round; of a pair that is in no measured round, alone.
using PairTimes = std::map<std::size_t, std::map<std::pair<int, int>, double>>;
PairTimes pair_times(const std::vector<Record>& records);

/// Pairs that are compared with one another: those within hosts (or NVLink domains), and those between hosts with the same
/// number of ranks, all of which take part at once, if half of the hosts have so many. How others share the network ports of a
/// host is unknown, and of few hosts one is easily alone below a switch.
struct ComparedPairs {
  bool linked = false;   ///< Places::linked
  int at_once = 0;       ///< between hosts: the pairs of a round that leave a host, of its two the one with more; 0: linked
  bool compared = true;  ///< false: with nobody

  friend auto operator<=>(const ComparedPairs&, const ComparedPairs&) = default;
};

/// The same by size, over the typical time of what the pair can be compared with: pairs of the same size, of the same way, and
/// with as many at once on that way in their round, of which the lower quartile is typical. (Half of the pairs or more are slow
/// where one of few hosts is.) Of rounds: pairs that were chosen by name and measured alone are only some of those of their
/// ranks, and nothing was beside them.
using RelativePairTimes = std::map<ComparedPairs, std::map<std::size_t, PairsOf<int>>>;
RelativePairTimes relative_pair_times(const std::vector<Record>& records, const Places& places);

/// One pair of the matrix, both directions together. a < b.
struct PairTime {
  int a = 0, b = 0;
  std::size_t bytes = 0;
  double seconds = 0;
};
std::vector<PairTime> pairs_of(const PairTimes& times);

}  // namespace roofmark
