// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/model/measurement.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

/// One rank's verdict on a case.
struct RankVerdict {
  Status status = Status::ok;
  std::string reason;
  double error = 0, bound = 0;  ///< of its verification
  std::size_t wrong = 0;        ///< elements
};
RankVerdict verdict_of(const Record& record);

/// The first rank with the worst status.
std::size_t worst_of(const std::vector<RankVerdict>& ranks);

/// Sets the record's status and reason to those of the worst rank, which `describe` names. A wrong result also gives the record
/// that rank's verification and the number of wrong elements on all ranks.
void join_verdicts(Record& record, const std::vector<RankVerdict>& ranks, const std::function<std::string(int)>& describe);

/// Sets the record's status and reason, as join_verdicts(); `interrupted` as in Team::gather().
void agree_on_status(Team& team, Record& record, Status own_status, const std::string& own_reason, bool interrupted = false);

/// Of all ranks' passed verifications the one nearest to its bound; of a rank that had nothing to verify only where all had.
Verification team_verification(const std::vector<Verification>& ranks, const std::function<std::string(int)>& describe);

/// Gives the record, which all ranks found right, the team's verifications.
void share_verifications(Team& team, Record& record);

/// The bits of one rank's output; `hash` is empty where its launches differ.
struct OutputBits {
  std::string key, hash;
};

/// Identical devices must give identical bits: among ranks with equal keys, those outside the majority differ; without a
/// majority all do. Ranks with differing launches form one group. Absent: a rank without a fingerprint.
std::vector<int> differing_ranks(const std::vector<std::optional<OutputBits>>& all);

/// Sets Fingerprint::differing_ranks.
void compare_fingerprints(Team& team, std::optional<Fingerprint>& own);

/// The times of this rank for the team's record; `own`: statistics of this rank's samples.
RankTimes own_times(const Record& record, const Summary& own);

/// Statistics of each rank's samples; absent for ranks without samples.
std::vector<std::optional<RankTimes>> gather_rank_times(Team& team, const std::vector<Sample>& own_samples,
                                                        const std::optional<Sustained>& own_sustained,
                                                        const Record& own_record);

/// The ranks by what each communicated by.
std::map<std::string, std::vector<int>> gather_transports(Team& team, const std::set<std::string>& own);

}  // namespace roofmark
