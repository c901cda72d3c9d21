// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/analysis.hpp"
#include "harness/judge/call_lines.hpp"
#include "harness/judge/ladder.hpp"
#include "harness/judge/loaded_latency.hpp"
#include "harness/judge/sm_latency.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

// Each ends in a newline. No line is wider than the terminal.

/// With the resources' ids, as in `bound by` and `roofmark list`.
std::string ceilings_table(const Roofline& roofline, const TerminalStyle& style);
/// One table per family and set of keys, in the order of the records, the probes of ceilings last. The title has the settings
/// that all rows share. Records with a message, of one SM, or timed by the host have separate tables. Rows with an interval
/// above +- 20 % are grey.
std::string records_table(const std::vector<Record>& records, const TerminalStyle& style);
/// Times of single calls by the host's clock, one row per case.
std::string calls_table(const std::vector<Record>& records, const TerminalStyle& style);
/// Times of single calls over their number of nodes, kernels or bytes.
std::string call_lines_table(const std::vector<CallLine>& lines, const TerminalStyle& style);
/// Burst and settled rate of each case with a duration.
std::string sustained_table(const std::vector<Record>& records, const TerminalStyle& style);
/// The ladder: levels of latency over size.
std::string ladders_table(const std::vector<Ladder>& ladders, const TerminalStyle& style);
/// The levels of latency over SMs.
std::string sm_latencies_table(const std::vector<SmLatencies>& latencies, const TerminalStyle& style);
/// Latency under load, one row per case.
std::string loaded_latencies_table(const std::vector<LoadedLatencies>& latencies, const TerminalStyle& style);
std::string comparisons_table(const std::vector<ComparisonResult>& comparisons, const TerminalStyle& style);

}  // namespace roofmark
