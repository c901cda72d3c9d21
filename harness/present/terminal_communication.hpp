// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/ranks/communication.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// Of the records with a message: a table each family and type in nccl-tests' words (times in us, GB = 10^9 B, out-of-place
/// and in-place side by side), where a wrong record has its count of wrong elements and no bandwidth; then the fits, the
/// scaling table, the matrix of pairs (of more than 16 ranks the worst ten), the overlap, and who is guilty. Ends in a newline;
/// empty where there is nothing of all that.
std::string communication_tables(const std::vector<Record>& records, const Communication& communication,
                                 const std::vector<RankInfo>& members, const TerminalStyle& style);

/// The table that is printed first: rank, host, local rank, device, UUID or cores, NUMA node, the NICs of that node (all of the
/// host's where either is unknown).
std::string ranks_table(const std::vector<RankInfo>& members);

}  // namespace roofmark
