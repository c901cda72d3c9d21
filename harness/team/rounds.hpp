// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/team/rank_info.hpp"

namespace roofmark {

/// Every rank with every other once, in rounds of disjoint pairs, as colours: the circle method of a tournament, whose pairs of
/// a round may share links in any number.
std::vector<std::vector<int>> rounds_of_pairs(int ranks);
/// The same of ranks on hosts, so that the pairs of different rounds can be compared: first those below a port of a host, all
/// ports at once; then those between two ports of a NUMA node; those between two nodes; then those between two hosts (or NVLink
/// domains). In a round each meets one other of its kind, and with as many ranks in each all of their ranks take part: each
/// link carries as many pairs in every round of a kind.
std::vector<std::vector<int>> rounds_of_pairs(const std::vector<RankInfo>& members);

/// The numbers of some of these rounds, ascending: all within hosts (or NVLink domains), and at most `most_between` between
/// them. Of those the first are the ones in which each rank meets the rank with its own place on another host, so that one
/// round has all links between two hosts; if these are too many, evenly spread ones, so that each host meets as many others as
/// there are rounds. Then, as long as all of them fit, those in which it meets the rank one place further, two places further
/// and so on: a few of these, over one switch more, would seem slow beside the others.
std::vector<std::size_t> sample_of_rounds(const std::vector<RankInfo>& members, std::size_t most_between);

}  // namespace roofmark
