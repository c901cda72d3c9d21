// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/pairs.hpp"

#include <algorithm>
#include <optional>

#include "harness/judge/ranks/bus_bandwidth.hpp"

namespace roofmark {

PairTimes pair_times(const std::vector<Record>& records) {
  PairTimes times;
  for (const Record& record : records) {
    if (!bus_bandwidth(record) || record.message->pattern != Pattern::pairs) continue;
    const Message& message = *record.message;
    const std::vector<std::optional<RankTimes>>& ranks = record.measurement->ranks;
    for (const std::vector<int>& pair : message.groups) {
      if (pair.size() != 2) continue;
      const auto [a, b] = std::minmax(pair[0], pair[1]);
      if (a < 0 || static_cast<std::size_t>(b) >= ranks.size()) continue;
      const auto &one = ranks[static_cast<std::size_t>(a)], &other = ranks[static_cast<std::size_t>(b)];
      if (!one || !other) continue;
      const double seconds = std::max(one->median, other->median) / message.trips;
      if (!(seconds > 0)) continue;
      const auto [place, added] = times[message.bytes].emplace(std::pair(a, b), seconds);
      if (!added) place->second = std::min(place->second, seconds);  // the better of two ways
    }
  }
  return times;
}

std::vector<PairTime> pairs_of(const PairTimes& times) {
  std::vector<PairTime> all;
  for (const auto& [bytes, pairs] : times) {
    for (const auto& [pair, seconds] : pairs) all.push_back({pair.first, pair.second, bytes, seconds});
  }
  return all;
}

}  // namespace roofmark
