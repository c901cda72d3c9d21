// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/options.hpp"
#include "bench/program/origin.hpp"
#include "bench/program/plan.hpp"
#include "harness/machine/contention.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/comparison.hpp"
#include "harness/present/terminal.hpp"
#include "harness/result/journal.hpp"

namespace roofmark {

/// What was read beside the cases, from when the devices were opened to the end. Where the ranks are out of step, only this
/// one's series is known.
struct Observations {
  TelemetrySeries telemetry;                                 ///< of this rank's device
  std::vector<std::optional<RankTelemetry>> rank_telemetry;  ///< of a team
  std::vector<CounterChange> counters;
  std::vector<Finding> findings;
  std::vector<std::optional<CpuShare>> loads;  ///< by rank
};

/// What may be asked of a run in progress from any thread, about this process's device.
struct Observer {
  std::function<TelemetrySeries(std::size_t first)> telemetry;  ///< without the first readings
  std::function<Observations()> now;                            ///< waits no longer than a driver that hangs is waited for
};

/// A run in progress and its files. A watch's thread may abandon it at any time. Where a file cannot be written, as on a full
/// disk, the run goes on.
class Session {
 public:
  Session(const DeviceInfo& device, const RunOptions& options, std::filesystem::path folder, Plan plan, const Origin& origin,
          std::optional<double> timing_overhead_seconds);

  /// Who is asked until the next call; nobody by an empty one. The journal gets what has been seen every few seconds.
  void observe(Observer observer, std::vector<CounterChange> counters_before);
  /// The case in progress from now on, and the time spent until then.
  void doing(const std::string& case_name, const WallTime& spent);
  void add(const std::vector<Record>& records, const std::vector<Comparison>& comparisons, int pass);
  /// The names of cases that would tell more of what has been measured (Communication::measure_next).
  std::vector<std::string> measure_next();
  /// Cases beside those of the plan.
  void expect(const std::vector<Group>& groups);

  // Both complete the files and give the exit status; cases that were not reached are recorded as not run. After the first
  // call the files stay as they are.
  int finish(bool complete, const WallTime& spent, Observations observed);
  /// From a watch's thread: the case in progress failed with `reason`.
  int abandon(const std::string& reason);

  /// Presents a finished run. Last on stderr: the files that could not be written, and what to do.
  /// False if standard output could not be written.
  bool present(const RunOptions& options, const TerminalStyle& style) const;

 private:
  RunFooter footer(bool complete, const WallTime& wall);
  void add_unreached(const std::string& lost_case, const std::string& reason);
  int complete_files(bool complete, const WallTime& spent, const std::string& lost_case, const std::string& reason);
  void write();
  void journal_seen();
  void note_error(const std::string& error);
  int exit_status_of_files() const;
  std::string way_out() const;

  const char* program_;
  std::filesystem::path folder_;
  double started_, written_ = 0, writing_ = 0, seen_ = 0;  ///< by the host's clock
  Observer observer_;
  const DeviceInfo device_;
  const std::optional<CpuShare> own_load_;  ///< begun with the session
  Plan plan_;
  Journal journal_;
  Run run_;
  Conclusions conclusions_;
  WallTime spent_;
  Observations observed_;
  std::string write_error_;      ///< the first of the run; from finish() on, of the finished files
  bool result_written_ = false;  ///< by finish() or abandon()
  bool finished_ = false;
  mutable std::mutex mutex_;
};

}  // namespace roofmark
