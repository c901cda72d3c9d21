// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/ranks/communication.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// The tables of the collectives, the fits, the scaling table, the matrix of pairs (over 16 ranks, and where it would not fit
/// the terminal: the ten slowest pairs), the overlap, and the slowest. Ends in a newline; empty without any of these.
std::string communication_tables(const std::vector<Record>& records, const Communication& communication,
                                 const std::vector<RankInfo>& members, const TerminalStyle& style);

/// The first table: rank, host, local rank, device, UUID or cores, NUMA node, and the NICs of that node (all of the host's if a
/// node is unknown).
std::string ranks_table(const std::vector<RankInfo>& members, const TerminalStyle& style);

}  // namespace roofmark
