// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/fabric.hpp"
#include "bench/support/listing.hpp"
#include "harness/model/measurement.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// The arguments are wrong: exit status 2, before anything is measured.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The exit statuses of every command.
inline constexpr int kOk = 0, kWrong = 1, kUsage = 2, kNotMeasured = 3, kInterrupted = 130;
inline constexpr const char* kExitStatusHelp =
    "Exit status:\n"
    "  0    everything was measured\n"
    "  1    a result is wrong, or GPUs or ranks gave different bits\n"
    "  2    usage error: nothing was measured\n"
    "  3    something could not be measured or written\n"
    "  130  interrupted (SIGINT, SIGTERM or SIGHUP)\n";

/// Which cases run on which device.
struct Selection {
  std::string device = "auto";
  SuiteName suite = SuiteName::baseline;
  std::string filter;   ///< an Expression searched for in the names of cases; empty: all
  std::string exclude;  ///< of these, without those in which this one is found; empty: none
  std::optional<Cache> cache;
  double memory_fraction = 0.9;
  bool only_device = false;
  std::optional<double> seconds;  ///< in all, of a suite with Suite::total_seconds; absent: these
};

inline constexpr double kTimeoutSeconds = 120;

struct RunOptions {
  const char* program = "roofmark";  ///< named in messages
  Selection selection;
  std::string out;  ///< folder; empty: roofmark-results/<UTC time>
  Distribution data = Distribution::normal;
  std::uint64_t seed = 1;
  std::optional<double> max_seconds;  ///< timing budget per case; absent: the suite's
  std::optional<double> timeout;      ///< absent: kTimeoutSeconds, or the suite's own limit
  std::map<std::string, std::string> labels;
  bool quiet = false;
  bool no_telemetry = false;
  std::vector<std::string> arguments;
  // Google Benchmark's flags that are passed on.
  std::string format, out_file, out_format = "json", color;
};

/// A selection of a suite on a device. The ceilings come first and are never filtered.
struct Plan {
  std::vector<Group> ceilings;
  std::vector<Group> suite;
  bool ceilings_again = true;                ///< the ceilings are measured after the suite too
  std::optional<double> limit_seconds = {};  ///< of the whole run: what has not begun by then is left out
  std::size_t suite_cases = 0;               ///< of the suite as it is defined, each ceiling once
};
Plan plan(const DeviceInfo& info, const Selection& selection, const Fabric* fabric = nullptr);
/// The connections to the other GPUs of this process, where the selection takes them.
std::unique_ptr<Fabric> fabric_of(const DeviceInfo& info, const Selection& selection);
/// Throws UsageError when a filter is malformed or nothing is left.
Plan filtered(std::vector<Group> ceilings, std::vector<Group> suite, const Selection& selection);
/// With what Suite says of ceilings, limit and duration.
Plan arranged(std::vector<Group> ceilings, std::vector<Group> suite, const Selection& selection, Backend backend);
/// The scope, one line per case with its memory and work, and the command that measures them; or a JSON array.
void print_plan(const Plan& cases, const RunOptions& options, std::string_view command, bool json, const TerminalStyle& style);

// Each returns an exit status.
int run(const RunOptions& options);
int list(const RunOptions& options, bool json);
int info(const std::string& device, bool json);
/// From a folder, or one of the files in it; to `out`, or beside the journal where that is empty. Throws ReadError if a damaged
/// journal would replace the result file of a finished run.
int recover(const std::string& result_or_folder, const std::string& out);

struct AcceptOptions {
  std::vector<std::string> results;  ///< files, or folders that are searched for result.json
  std::string profile;
  std::optional<int> expected_gpus;
  std::optional<double> max_age_seconds;
  std::string junit, json;  ///< files to write; empty: none
};
/// Judges results by a profile. 0: accepted, 1: not accepted.
int accept(const AcceptOptions& options);
/// What is wrong with a profile, one line each. 0: nothing.
int profile_check(const std::string& profile_name);
/// What each limit comes to on a device; empty: on the kind of device that the profile names.
int profile_show(const std::string& profile_name, const std::string& device_id);

/// The records in one of Google Benchmark's own formats: json, console or csv.
void write_google_benchmark(std::ostream& out, const std::string& format, const std::vector<Record>& records);

}  // namespace roofmark
