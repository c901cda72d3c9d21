// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/judge/ranks/slow_pairs.hpp"

namespace roofmark {

/// What the uplinks of leaf switches carry, from the pairs of ranks below different ones: the crossing pairs of a leaf in a
/// round share them, so they carry at least `crossing pairs / time of the fastest`. The time that most pairs below one leaf
/// take as well is not due to uplinks.
class Uplinks {
 public:
  /// `leaves`: of every rank. Those of fewer than `least_ranks` may be slow ranks.
  Uplinks(const PairsOf<int>& pairs, const std::map<int, int>& leaves, std::size_t least_ranks);

  bool crosses(const std::pair<int, int>& pair) const { return leaves_.at(pair.first) != leaves_.at(pair.second); }
  /// The time of a crossing pair, as the uplinks of both leaves allow.
  double expected(const std::pair<int, int>& pair) const;
  /// How many times longer pairs through a leaf's uplinks take than through those of others that carry as many pairs, and pairs
  /// of as large a share of their ranks. Without leaves of fewer than
  /// `least_ranks`, and those that have nothing to compare with.
  std::map<int, double> slowdowns() const;

 private:
  struct Crossing {
    double times = 1;
    int leaves[2] = {}, loads[2] = {};  ///< loads: crossing pairs of the leaf in this round
    std::set<int> eased_by = {};        ///< leaves whose slow ranks take less of the uplinks in this round
  };
  struct Carried {
    double load = 0, rate = 0, sum = 0;  ///< the highest: crossing pairs, rate of one, and both multiplied
    bool alone = false;                  ///< no pair is below this leaf
  };

  std::map<int, int> leaves_;         ///< by rank
  std::map<int, std::size_t> sizes_;  ///< ranks by leaf
  std::map<std::pair<int, int>, Crossing> crossings_;
  std::size_t least_ranks_;
  std::map<int, Carried> carried_;  ///< by leaf
};

}  // namespace roofmark
