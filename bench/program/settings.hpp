// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/program/plan.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/scope.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

Settings settings_of(const RunOptions& options, Backend backend);
/// Without progress for so long, a run is given up.
double timeout_seconds(const RunOptions& options);
/// The same until the devices are open: at least kOpeningSeconds, unless --timeout says otherwise.
double opening_seconds(const RunOptions& options);
/// RunFacts::budget_seconds.
double budget_seconds(const RunOptions& options);

/// Of stdout, as --benchmark_color has it. `launched`: a launcher of ranks, which may give them a terminal whatever its own
/// output goes to, started the program.
TerminalStyle style_of(const RunOptions& options, bool launched = false);

/// What these options and the plan that follows from them take of the suite.
RunScope scope_of(const RunOptions& options, const Plan& plan);

}  // namespace roofmark
