// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "bench/program/options.hpp"
#include "harness/team/mpi/team.hpp"

namespace roofmark {

struct TeamOptions {
  RunOptions run;
  std::optional<int> expect_ranks;
  bool json = false;  ///< of list and info
};

/// Returns the exit status.
int roofmark_mpi_main(int argc, char** argv);

/// What the ranks measure together.
enum class TeamJob {
  collectives,  ///< what connects them
  devices       ///< the suite of a single device, on every rank's at once
};

/// Prints the number of ranks on rank 0, then throws UsageError on every rank if it differs from the launcher's or the expected
/// number: N independent one-rank programs.
void check_world(const TeamOptions& options, MpiTeam& team);

/// Each gives an exit status, the same on every rank, or throws: a UsageError or TeamError on every rank, anything else on one
/// alone.
int run_team(MpiTeam& team, TeamJob job, const TeamOptions& options);
/// The map of the ranks and what links them, measuring nothing.
int team_info(MpiTeam& team, const TeamOptions& options);
/// The cases that a job would measure.
int list_team(MpiTeam& team, TeamJob job, const TeamOptions& options);

}  // namespace roofmark
