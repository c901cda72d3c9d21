// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// The hosts whose ranks may use the same CPU cores and so wait for one another.
std::vector<Finding> shared_cores(const std::vector<RankInfo>& members);

}  // namespace roofmark
