// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/analysis.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

// Each ends in a newline. No line is wider than the terminal, where the names allow.

/// With the ids by which `bound by` and `roofmark list` name the resources.
std::string ceilings_table(const Roofline& roofline);
/// A table per family and set of keys, with what is constant above it, in the order of the records; those with a message have
/// tables of their own.
std::string records_table(const std::vector<Record>& records, const TerminalStyle& style);
/// What a load that lasts did to the rate of each case with a duration.
std::string sustained_table(const std::vector<Record>& records, const TerminalStyle& style);
std::string comparisons_table(const std::vector<ComparisonResult>& comparisons, const TerminalStyle& style);

}  // namespace roofmark
