// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// Seconds of one trip by size and pair (a < b): half a round trip, by the slower of the two ranks' medians.
using PairTimes = std::map<std::size_t, std::map<std::pair<int, int>, double>>;
PairTimes pair_times(const std::vector<Record>& records);

/// One pair of the matrix, both directions together. a < b.
struct PairTime {
  int a = 0, b = 0;
  std::size_t bytes = 0;
  double seconds = 0;
};
std::vector<PairTime> pairs_of(const PairTimes& times);

}  // namespace roofmark
