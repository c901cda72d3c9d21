// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// The hosts on which several ranks may run on the same CPU cores and wait for each other.
std::vector<Finding> shared_cores(const std::vector<RankInfo>& members);

}  // namespace roofmark
