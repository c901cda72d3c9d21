// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/commands.hpp"
#include "harness/machine/contention.hpp"
#include "harness/measure/settings.hpp"
#include "harness/present/terminal.hpp"
#include "harness/result/journal.hpp"

namespace roofmark {

/// The folder of a run, made; empty: one of its own under roofmark-results. Throws UsageError where it holds a result already.
std::filesystem::path make_folder(const std::string& wanted);

Settings settings_of(const RunOptions& options);

/// What the header of a result file takes from the device, or from the team.
struct Origin {
  Roofline theoretical;
  bool known = true;  ///< the device is in the table of known ones
  std::vector<Finding> findings;
  Json libraries = Json::object();
  std::vector<RankInfo> ranks;  ///< of a team
};
/// `fabric`: the links to the other devices of this process, if any.
Origin origin_of(const DeviceInfo& device, const Fabric* fabric = nullptr);

/// Shows a run that has ended: the tables and its file, or its records in Google Benchmark's formats. Writes --benchmark_out.
void present(const RunOptions& options, const Run& run, const Conclusions& conclusions, const std::filesystem::path& file,
             const TerminalStyle& style);

/// A run in progress and its files. A watch's thread may abandon it at any time.
class Session {
 public:
  Session(const DeviceInfo& device, const RunOptions& options, std::filesystem::path folder, Plan plan, const Origin& origin);

  /// The case in progress from now on, and the time spent until then.
  void doing(const std::string& case_name, const WallTime& spent);
  void add(const std::vector<Record>& records, const std::vector<Comparison>& comparisons, int pass);

  // Both complete the files and give the exit status; cases that were not reached are recorded as not run. After the first
  // call the files stay as they are.
  int finish(bool complete, const WallTime& spent, TelemetrySeries telemetry, std::vector<CounterChange> counters);
  /// From a watch's thread: the case in progress failed with `reason`.
  int abandon(const std::string& reason);

  /// Of a finished run.
  void present(const RunOptions& options, const TerminalStyle& style) const;

 private:
  std::vector<Finding> contention() const;
  RunFooter footer(bool complete, const WallTime& wall);
  void add_unreached(const std::string& lost_case, const std::string& reason);
  int complete_files(bool complete, const WallTime& spent, const std::string& lost_case, const std::string& reason);
  void write();

  std::filesystem::path folder_;
  double started_, written_ = 0, writing_ = 0;
  const DeviceInfo device_;
  std::optional<CpuTime> cpu_time_;  ///< at the start, where the CPU is the device
  const Plan plan_;
  Journal journal_;
  Run run_;
  Conclusions conclusions_;
  WallTime spent_;
  TelemetrySeries telemetry_;
  std::vector<CounterChange> counters_;
  std::string in_progress_;
  bool finished_ = false;
  mutable std::mutex mutex_;
};

/// The session of the rank that writes the files, which a watch's thread may complete; empty on other ranks.
class SharedSession {
 public:
  Session* open(std::unique_ptr<Session> session);
  /// From any thread. Gives the exit status.
  int abandon(const std::string& reason) const;

 private:
  std::unique_ptr<Session> session_;
  std::atomic<Session*> shared_ = nullptr;
};

}  // namespace roofmark
