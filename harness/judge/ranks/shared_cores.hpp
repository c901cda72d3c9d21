// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// The hosts on which several ranks of CPUs may run on the same cores and wait for each other; and the ranks of GPUs on several
/// hosts that have fewer than three cores although their host has them: there NCCL's threads, which feed the network, share
/// cores with the rank's own, which wait busily. (mpirun of Open MPI binds each of two ranks to one core.)
std::vector<Finding> shared_cores(const std::vector<RankInfo>& members);
/// Ranks of CPUs share cores: their times of pairs say nothing of links.
bool ranks_take_turns(const std::vector<RankInfo>& members);

}  // namespace roofmark
