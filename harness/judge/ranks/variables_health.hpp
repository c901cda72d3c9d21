// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/judge/health.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// The variables that limit NCCL between these ranks. Empty for CPUs.
std::vector<Circumstance> limiting_variables_health(const std::vector<RankInfo>& members);

/// The variables that differ between ranks, without those that are in the other list.
std::vector<Circumstance> differing_variables_health(const std::vector<RankInfo>& members);

}  // namespace roofmark
