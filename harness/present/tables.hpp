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

/// With the ids by which `bound by` and `roofmark list` name the resources.
std::string ceilings_table(const Roofline& roofline, const TerminalStyle& style);
/// A table per family and set of keys, with what its rows share above it, in the order of the records, the probes of ceilings
/// last; those with a message, those of one SM and those that the host timed have tables of their own. A row whose interval
/// exceeds +- 20 % is grey.
std::string records_table(const std::vector<Record>& records, const TerminalStyle& style);
/// What single calls take by the host's clock, a row per case.
std::string calls_table(const std::vector<Record>& records, const TerminalStyle& style);
/// What single calls take as their number of nodes, kernels or bytes grows.
std::string call_lines_table(const std::vector<CallLine>& lines, const TerminalStyle& style);
/// What a load that lasts did to the rate of each case with a duration.
std::string sustained_table(const std::vector<Record>& records, const TerminalStyle& style);
/// The levels of latency that the records show.
std::string ladders_table(const std::vector<Ladder>& ladders, const TerminalStyle& style);
/// The levels of latency over SMs.
std::string sm_latencies_table(const std::vector<SmLatencies>& latencies, const TerminalStyle& style);
/// Latency over what the rest of the device does, a row per case.
std::string loaded_latencies_table(const std::vector<LoadedLatencies>& latencies, const TerminalStyle& style);
std::string comparisons_table(const std::vector<ComparisonResult>& comparisons, const TerminalStyle& style);

}  // namespace roofmark
