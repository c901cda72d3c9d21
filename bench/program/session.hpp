// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/commands.hpp"
#include "harness/judge/ranks/communication.hpp"
#include "harness/machine/contention.hpp"
#include "harness/measure/runner.hpp"
#include "harness/present/terminal.hpp"
#include "harness/result/journal.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

/// Set by SIGINT and SIGTERM once take_signals() was called; a second signal ends the process at once, the journal has what was
/// finished.
const std::atomic<bool>& interrupted();
void take_signals();

/// The folder of a run, made; empty: one of its own under roofmark-results. Throws UsageError where it holds a result already.
std::filesystem::path make_folder(const std::string& wanted);

Settings settings_of(const RunOptions& options);

/// What the header of a result file takes from the device, or from the team.
struct Origin {
  Roofline theoretical;
  bool known = true;  ///< the device is in the table of known ones
  std::vector<Finding> findings;
  Json libraries = Json::object();
  Json team;  ///< the members, where there are several
};
Origin origin_of(const DeviceInfo& device);

/// One run: what has been measured, and the files that say so. A watchdog's thread may abandon it at any time.
class Session {
 public:
  Session(const DeviceInfo& device, const RunOptions& options, std::filesystem::path folder, Plan plan, const Origin& origin);

  /// The case that is under way from now on, and what was spent until then.
  void doing(const std::string& case_name, const WallTime& spent);
  std::string under_way() const;
  void add(const std::vector<Record>& records, const std::vector<Comparison>& comparisons, int pass);

  // Both complete the files: what was not reached is not run. They give the exit status. Once one was called the files stay as
  // they are.
  int finish(bool complete, const WallTime& spent);
  /// From a watchdog's thread: the case under way failed with `reason`.
  int abandon(const std::string& reason);

  /// Of a run that was finished: the tables, or its records in Google Benchmark's formats.
  void present(const RunOptions& options, const TerminalStyle& style) const;
  void write_google_benchmark_file(const RunOptions& options) const;

 private:
  Json final_findings() const;
  Json footer(bool complete, const WallTime& wall, const Json& findings) const;
  void add_unreached(const std::string& lost_case, const std::string& reason);
  int complete_files(bool complete, WallTime spent, const std::string& lost_case, const std::string& reason);
  void write();
  std::vector<Finding> findings() const;

  std::filesystem::path folder_;
  double started_, written_ = 0, writing_ = 0;
  const DeviceInfo device_;
  std::optional<CpuTime> cpu_time_;  ///< at the start, where the CPU is the device
  const Plan plan_;
  Journal journal_;
  RunLog log_;
  Analysis analysis_;
  Communication communication_;
  WallTime spent_;
  std::string under_way_;
  bool finished_ = false;
  mutable std::mutex mutex_;
};

/// What a run tells while it goes on.
struct Observer {
  std::function<void(const std::string& case_name, std::string_view stage)> stage;
  std::function<void(const Group& group, const std::vector<Record>& records, int pass)> measured;
};

/// The ceilings, the suite, and the ceilings again; false when it was interrupted.
bool measure(Runner& runner, const Plan& plan, const Observer& observer);

/// Cases of a plan, the ceilings twice.
std::size_t count_cases(const Plan& plan);

}  // namespace roofmark
