// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/team/rank_info.hpp"

namespace roofmark {

/// Every rank with every other once, in rounds of disjoint pairs, as colours: the circle method of a tournament, whose pairs of
/// a round may share links in any number.
std::vector<std::vector<int>> rounds_of_pairs(int ranks);
/// The same of ranks on hosts, so that the pairs of different rounds can be compared: first those within a port of a host, all
/// ports at once; then those between two ports of a host; then those between two hosts (or NVLink domains). In a round between
/// hosts each host meets one other, and with as many ranks on each all of their ranks take part: each network port carries as
/// many pairs in every round.
std::vector<std::vector<int>> rounds_of_pairs(const std::vector<RankInfo>& members);

}  // namespace roofmark
