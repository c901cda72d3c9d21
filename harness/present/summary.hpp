// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/measure/settings.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

// What follows the tables of a run. Each ends in a newline.

/// By severity; three of each kind, the number of the others, and the advice.
std::string findings_text(const std::vector<Finding>& findings, const TerminalStyle& style);
/// Each wrong and failed case with its reason, the others that were not run by reason, and the number of cases by status.
std::string verdict_text(const std::vector<Record>& records, const TerminalStyle& style);
std::string wall_time_text(const WallTime& wall, double total_seconds);

}  // namespace roofmark
