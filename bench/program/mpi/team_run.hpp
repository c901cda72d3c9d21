// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "bench/program/mpi/start.hpp"
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

/// On rank 0: the number of ranks and hosts, if there are several ranks.
void say_world(const TeamOptions& options, const MpiTeam& team);
/// Throws UsageError on every rank if their number differs from the launcher's or the expected one: N independent one-rank
/// programs. Tells a rank that is alone on purpose how to start more.
void check_world(const TeamOptions& options, MpiTeam& team);

/// Each gives an exit status, the same on every rank, or throws: a UsageError or TeamError on every rank, anything else on one
/// alone. `start` ends when the ranks have their channel.
int run_team(MpiTeam& team, TeamJob job, const TeamOptions& options, Start& start);
/// The map of the ranks and what links them, measuring nothing.
int team_info(MpiTeam& team, const TeamOptions& options, Start& start);
/// The cases that a job would measure.
int list_team(MpiTeam& team, TeamJob job, const TeamOptions& options, Start& start);

}  // namespace roofmark
