// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// Whether NCCL's log says what a case whose traffic belongs on NVLink went by.
bool tells_nvlink(const std::vector<Record>& records);

/// nvlink_unused, of ranks that NVLink connects and that NCCL connects otherwise: within hosts by the host's memory or a
/// network, between hosts of one NVLink domain by a network. Shown by cases whose work is on NVLink, which then connects all
/// ranks of such a case that are in one domain: none of them needs the host's memory, nor a network where the work has none.
/// `members`: empty of the GPUs of one process.
std::vector<Finding> find_unused_nvlink(const std::vector<Record>& records, const std::vector<RankInfo>& members);

}  // namespace roofmark
