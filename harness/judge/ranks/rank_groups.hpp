// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"

namespace roofmark {

/// Ranks within which pairs are faster than with other ranks, as of hosts below one of several leaf switches. Whether these
/// have few uplinks or slow ones, pairs do not tell.
struct RankGroup {
  std::string of;   ///< "pairs between hosts"
  std::string who;  ///< "ranks 8-11 (node08 ... node11)"
  std::vector<int> ranks;
  double times_within = 1;  ///< time of pairs with the nearest other group / of pairs within
};

/// The worst first. `of` is RankGroup::of.
std::vector<RankGroup> rank_groups(const std::string& of, const PairsOf<int>& pairs, const std::map<int, EndTimes>& ends,
                                   const Places& places);
/// "; pairs between hosts take longer with other groups of ranks than within: ranks ..."; empty of none.
std::string in_words(const std::vector<RankGroup>& groups);

}  // namespace roofmark
