// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/model/measurement.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

/// Sets the record's status and reason to the worst of the ranks' (wrong, failed, not run, unsupported), with the rank named. A
/// wrong result also gives the record that rank's verification and the number of wrong elements on all ranks.
void agree_on_status(Team& team, Record& record, Status own_status, const std::string& own_reason);

/// Sets Fingerprint::differing_ranks. Identical devices must give identical bits: among ranks with equal keys the majority
/// decides who differs; without a majority all of them do. Ranks whose own launches differ count as one group of their own.
void compare_fingerprints(Team& team, std::optional<Fingerprint>& own);

/// Each rank's statistics of its own samples; absent for ranks that have none.
std::vector<std::optional<RankTimes>> gather_rank_times(Team& team, const std::vector<double>& own_seconds,
                                                        const Measurement& own_measurement);

}  // namespace roofmark
