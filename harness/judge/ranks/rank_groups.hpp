// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"

namespace roofmark {

/// Of each rank the lowest rank of its group: ranks of a pair that takes about as long as the best of either are in one.
std::map<int, int> groups_by_time(const PairsOf<int>& pairs);
/// Of each rank the lowest rank below its leaf switch. Needs known leaves.
std::map<int, int> groups_by_leaf(const PairsOf<int>& pairs, const Places& places);

/// "ranks 0-3, 8 (node0 ... node4)"
std::string in_words(const std::vector<int>& ranks, const Places& places);

/// Groups of ranks within which pairs are faster than with other ranks, and how many times longer the latter take, in words;
/// empty if there are none. As of hosts below several leaf switches: whether these have few uplinks or slow ones, pairs do not
/// tell.
std::string groups_in_words(const PairsOf<int>& pairs, const std::map<int, int>& group, const Places& places);

}  // namespace roofmark
