// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/program/origin.hpp"
#include "bench/program/plan.hpp"
#include "bench/program/shared_session.hpp"
#include "harness/team/team.hpp"
#include "harness/team/watch.hpp"

namespace roofmark {

/// What a run takes: a device and a plan per rank, the team, and what watches over it.
struct RunSetup {
  Device& device;
  Team& team;
  Watch& watch;
  Plan plan;
  Origin origin;
  std::string note;          ///< said once the arguments have proved right; may be empty
  TerminalStyle style = {};  ///< of stdout
  /// The cases of these names, which what has been measured calls for, the same on all ranks; null: none.
  std::function<std::vector<Group>(const std::vector<std::string>& names)> more = {};
};

/// The way of every run, on one device and on a team: the ceilings, the suite, the ceilings again; then the files and the
/// tables, by rank 0. Gives the exit status, the same on all ranks.
int run_plan(const RunOptions& options, const RunSetup& setup, SharedSession& shared);

}  // namespace roofmark
