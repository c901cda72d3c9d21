// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

struct FindingsOfRank {
  const RankInfo* rank = nullptr;
  std::vector<Finding> findings;
};

/// Each finding once, with the ranks that have it and the devices' names before its text, unless all ranks have it.
std::vector<Finding> join_findings(const std::vector<FindingsOfRank>& by_rank);

}  // namespace roofmark
