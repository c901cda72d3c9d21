// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/analysis.hpp"
#include "harness/judge/call_lines.hpp"
#include "harness/judge/health.hpp"
#include "harness/judge/ladder.hpp"
#include "harness/judge/loaded_latency.hpp"
#include "harness/judge/ranks/communication.hpp"
#include "harness/judge/sm_latency.hpp"
#include "harness/judge/transfers.hpp"
#include "harness/judge/verdict.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/counter.hpp"
#include "harness/model/scope.hpp"
#include "harness/result/run_facts.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// What is known before the first case.
struct RunHeader {
  RunFacts facts;
  Roofline theoretical;
  std::vector<Finding> findings;
  std::vector<RankInfo> ranks;  ///< by rank; empty without a team
  RunScope scope = {};
  std::vector<Circumstance> health = {};               ///< of the device's environment
  std::optional<double> timing_overhead_seconds = {};  ///< what timing adds to a sample; of a team, the slowest rank's
};

/// What is known after the last case.
struct RunFooter {
  std::string finished_utc;
  bool complete = false, interrupted = false;
  std::vector<Finding> findings;  ///< of the run as a whole
  WallTime wall;
  double total_seconds = 0;
  TelemetrySeries telemetry = {};  ///< of this process's device
  /// Of its readings with the seconds under each throttle reason, which the series in a file lacks.
  std::optional<TelemetrySummary> telemetry_summary = {};
  /// Of every rank's device, over the whole run; empty without a team. Absent: nothing was read.
  std::vector<std::optional<RankTelemetry>> rank_telemetry = {};
  std::vector<CounterChange> counters = {};  ///< of every rank's
  std::optional<RunEnd> ended = {};          ///< absent of a complete run
};

/// What a run in progress has seen of this process's device so far. A footer has all of it.
struct Seen {
  TelemetrySeries telemetry;
  std::vector<CounterChange> counters;  ///< before the run
};

/// One run: what the journal holds, line by line. The rest of a result file follows from it.
struct Run {
  RunHeader header;
  std::vector<Record> records;
  std::vector<Comparison> comparisons;
  std::optional<RunFooter> footer;  ///< absent while the run goes on, and of one that was cut off
  std::string in_progress;          ///< the case that has begun and has no record yet
  Seen seen;                        ///< of a run without a footer

  /// Why the run has not reached its last case; absent where it has.
  std::optional<RunEnd> ended() const;
};

/// What follows from a run.
struct Conclusions {
  Analysis analysis;
  Transfers transfers;
  std::vector<CallLine> call_lines;
  std::vector<Ladder> ladders;
  std::vector<SmLatencies> sm_latencies;
  std::vector<LoadedLatencies> loaded_latencies;
  Communication communication;    ///< of a team
  std::vector<Finding> findings;  ///< the header's, the footer's and the analysis'; communication has its own
  RunVerdict verdict;

  std::vector<Finding> all_findings() const;
};

/// Sets the records' placements.
Conclusions conclude(Run& run);

/// With which the command that makes the run's result ends: 0 unless the verdict is bad; 1 where a result is wrong, bits differ
/// or a device reports faults, 3 where something was not measured.
int exit_status(const Run& run, const Conclusions& conclusions);

}  // namespace roofmark
