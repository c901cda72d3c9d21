// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/uplinks.hpp"

#include <algorithm>
#include <set>

namespace roofmark {

Uplinks::Uplinks(const PairsOf<int>& pairs, const std::map<int, int>& leaves, std::size_t least_ranks)
    : leaves_(leaves), least_ranks_(least_ranks) {
  for (const auto& [rank, leaf] : leaves) ++sizes_[leaf];
  std::map<int, std::vector<double>> inside;
  std::map<std::pair<int, int>, int> loads;  // by round and leaf
  PairsOf<int> below, across;
  for (const auto& [pair, time] : pairs) {
    (crosses(pair) ? across : below).emplace(pair, time);
    if (!crosses(pair))
      inside[leaves.at(pair.first)].push_back(time.times);
    else
      for (const int rank : {pair.first, pair.second}) ++loads[{time.round, leaves.at(rank)}];
  }
  if (across.empty()) return;
  const double fastest = std::min_element(across.begin(), across.end(), [](const auto& a, const auto& b) {
                           return a.second < b.second;
                         })->second.times;
  // A slow rank leaves more of the uplinks to the other pairs of its round.
  std::map<int, EndTimes> ends = times_of_ends(below);
  for (auto [rank, times] : times_of_ends(across)) {
    times.best.times /= fastest;
    ends.emplace(rank, times);
  }
  std::map<std::pair<int, int>, std::set<int>> eased;  // by round and leaf: the leaves of these ranks
  for (const auto& [pair, time] : across) {
    for (const int slow : {pair.first, pair.second}) {
      if (ends.at(slow).best.times <= kSlow && sizes_.at(leaves.at(slow)) >= least_ranks) continue;
      for (const int rank : {pair.first, pair.second}) eased[{time.round, leaves.at(rank)}].insert(leaves.at(slow));
    }
  }
  for (const auto& [pair, time] : across) {
    Crossing& crossing = crossings_[pair];
    double within = 1;
    for (const int end : {0, 1}) {
      const int leaf = crossing.leaves[end] = leaves.at(end == 0 ? pair.first : pair.second);
      crossing.loads[end] = loads.at({time.round, leaf});
      const auto slow = eased.find({time.round, leaf});
      if (slow != eased.end()) crossing.eased_by.insert(slow->second.begin(), slow->second.end());
      const auto found = inside.find(leaf);
      if (found != inside.end() && found->second.size() >= kLeastCompared)
        within = std::max(within, lower_median(found->second));
    }
    crossing.times = time.times / within;
    for (const int end : {0, 1}) {
      Carried& carried = carried_[crossing.leaves[end]];
      carried.alone = !inside.contains(crossing.leaves[end]);
      carried.load = std::max(carried.load, double(crossing.loads[end]));
      carried.rate = std::max(carried.rate, 1 / crossing.times);
      carried.sum = std::max(carried.sum, crossing.loads[end] / crossing.times);
    }
  }
}

double Uplinks::expected(const std::pair<int, int>& pair) const {
  const Crossing& crossing = crossings_.at(pair);
  double longest = 0;
  for (const int end : {0, 1}) {
    const Carried& carried = carried_.at(crossing.leaves[end]);
    longest = std::max({longest, 1 / carried.rate, crossing.loads[end] / carried.sum});
  }
  return longest;
}

std::map<int, double> Uplinks::slowdowns() const {
  std::map<int, double> found;
  const auto is_small = [&](int leaf) { return sizes_.at(leaf) < least_ranks_; };
  for (const auto& [leaf, carried] : carried_) {
    if (is_small(leaf)) continue;
    double rate = 0, sum = 0, per_rank = 0;  // of the others
    for (const auto& [pair, crossing] : crossings_) {
      const auto& [one, other] = crossing.leaves;
      const bool by_itself = carried.alone && crossing.eased_by == std::set<int>{leaf};
      const bool eased = !crossing.eased_by.empty() && !by_itself;
      if (one == leaf || other == leaf || is_small(one) || is_small(other) || eased) continue;
      rate = std::max(rate, 1 / crossing.times);
      for (const int end : {0, 1}) {
        sum = std::max(sum, crossing.loads[end] / crossing.times);
        per_rank = std::max(per_rank, crossing.loads[end] / crossing.times / double(sizes_.at(crossing.leaves[end])));
      }
    }
    if (rate > 0) found[leaf] = std::min({carried.load * rate, sum, per_rank * double(sizes_.at(leaf))}) / carried.sum;
  }
  return found;
}

}  // namespace roofmark
