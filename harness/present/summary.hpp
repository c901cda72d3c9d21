// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/health.hpp"
#include "harness/judge/verdict.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"
#include "harness/present/terminal.hpp"
#include "harness/result/run.hpp"

namespace roofmark {

// The texts before and after the tables of a run. Each ends in a newline, or is empty; no line is wider than the terminal.

/// The circumstances with advice, and the unreadable ones.
std::string health_text(const std::vector<Circumstance>& health, const TerminalStyle& style);
/// By severity; the three worst of each kind, the number of the others, and the advice.
std::string findings_text(const std::vector<Finding>& findings, const TerminalStyle& style);
/// Each wrong and failed case with its reason, the others that were not run by reason.
std::string unmeasured_text(const std::vector<Record>& records, const TerminalStyle& style);
/// The link between a GPU and its host, as the driver states it, and the rates measured over it; empty without one, or of
/// several ranks.
std::string link_text(const RunHeader& header, const Roofline& roofline, const TerminalStyle& style);
std::string verdict_text(const RunVerdict& verdict, const TerminalStyle& style);
std::string wall_time_text(const WallTime& wall, double total_seconds, const TerminalStyle& style);

}  // namespace roofmark
