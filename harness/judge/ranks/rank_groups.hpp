// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/slow_pairs.hpp"

namespace roofmark {

/// Groups of ranks within which pairs are faster than with other ranks, and how many times longer the latter take, in words;
/// empty if there are none. As of hosts below several leaf switches: whether these have few uplinks or slow ones, pairs do not
/// tell.
std::string groups_in_words(const PairsOf<int>& pairs, const std::map<int, EndTimes>& ends, const Places& places);

}  // namespace roofmark
