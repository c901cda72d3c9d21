// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/run_all.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "bench/program/interrupt.hpp"
#include "bench/program/present.hpp"
#include "bench/program/run_folder.hpp"
#include "bench/program/settings.hpp"
#include "bench/program/standard_output.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/machine/children.hpp"
#include "harness/machine/host.hpp"
#include "harness/model/statistics.hpp"
#include "harness/present/cells.hpp"
#include "harness/present/terminal_communication.hpp"
#include "harness/result/journal.hpp"
#include "harness/result/merge.hpp"
#include "harness/result/result_file.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

/// The arguments of a process that measures one device. What goes to the terminal or to one file is the merged run's.
std::vector<std::string> words_for(const RunOptions& options, const std::string& id, const fs::path& folder) {
  constexpr std::array kOwn = {"--device", "--out", "--benchmark_format", "--benchmark_out", "--benchmark_out_format"};
  std::vector<std::string> words = {"roofmark"};
  for (std::size_t i = 1; i < options.arguments.size(); ++i) {
    const std::string& word = options.arguments[i];
    if (word == "--device" || word == "--out") {
      ++i;
    } else if (std::find(kOwn.begin(), kOwn.end(), word.substr(0, word.find('='))) == kOwn.end()) {
      words.push_back(word);
    }
  }
  for (const std::string& word : {std::string("--device"), id, std::string("--out"), folder.string()}) words.push_back(word);
  return words;
}

// A process's exit status from its wait status. A signal may end it before it can complete a file.
int exit_status_of(std::optional<int> ended) {
  if (!ended) return kNotMeasured;  // stuck
  const int status = *ended;
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGHUP)) {
    return kInterrupted;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kNotMeasured;
}

std::string end_in_words(std::optional<int> ended, double patience_seconds) {
  if (!ended) return fmt::format("no sign of progress for {:g} s: it was given up", patience_seconds);
  const int status = *ended;
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

/// What a process recorded; nothing if it could not begin. The journal has what a process recorded before it was killed.
Run recorded_in(const fs::path& folder) {
  try {
    int skipped = 0;
    return read_journal(folder / "result.jsonl", skipped);
  } catch (const ReadError&) {
    return {};
  }
}

RankInfo rank_info_of(const std::string& id, int rank, pid_t pid, DeviceInfo info) {
  info.id = id;
  info.backend = Backend::cuda;  // nothing is known of a device whose process could not begin
  RankInfo made = describe_rank(info);
  made.rank = made.local_rank = rank;
  made.pid = static_cast<int>(pid);
  made.versions.emplace_back("roofmark", build_key());
  return made;
}

/// The median over the cases of both runs of the time alone / the time together, and the number of these cases.
std::pair<double, std::size_t> median_rate_ratio(const Run& alone, const Run& together) {
  std::map<std::pair<CaseName, int>, double> seconds;
  std::vector<double> ratios;
  for (const Record& record : alone.records) {
    if (record.status == Status::ok) seconds[{record, record.pass}] = record.measurement->summary.median;
  }
  for (const Record& record : together.records) {
    const auto found = seconds.find({record, record.pass});
    if (record.status == Status::ok && found != seconds.end()) {
      ratios.push_back(found->second / record.measurement->summary.median);
    }
  }
  const std::size_t cases = ratios.size();
  return {cases ? median(std::move(ratios)) : 0, cases};
}

/// Whether processes still make progress, by what they add to their journals.
class SignsOfLife {
 public:
  SignsOfLife(std::vector<fs::path> folders, double patience_seconds)
      : folders_(std::move(folders)), patience_seconds_(patience_seconds), last_(folders_.size()) {
    for (Sign& sign : last_) sign.seconds = steady_seconds();
  }

  bool ended_long_ago(std::size_t process) {
    Sign& last = last_.at(process);
    std::error_code ignored;  // it may not have begun
    const auto written = fs::last_write_time(folders_[process] / "result.jsonl", ignored);
    if (!ignored && written != last.written) last = {written, steady_seconds()};
    return steady_seconds() - last.seconds > patience_seconds_;
  }

 private:
  struct Sign {
    fs::file_time_type written = {};  ///< the journal
    double seconds = 0;               ///< when that was seen
  };
  std::vector<fs::path> folders_;
  double patience_seconds_;
  std::vector<Sign> last_;
};

/// The processes of a run on all devices, and what they leave.
class AllDevices {
 public:
  AllDevices(const std::vector<std::string>& ids, const RunOptions& options)
      : ids_(ids), options_(options), folder_(make_folder(options.out)), style_(style_of(options)) {
    if (!options.out_file.empty()) check_writable(options.out_file);
    // Those of an earlier run, which ended before it merged them, are not this run's.
    for (const std::string& id : ids_) {
      for (const char* how : {kAlone, kTogether}) check_unused(place(how, id));
    }
  }

  /// False when the rest has no sense.
  bool measure_alone() {
    for (const std::string& id : ids_) {
      const int before = status_;
      say(id + " alone");
      wait({spawn(id, kAlone, {}, options_.quiet || !options_.format.empty())}, {place(kAlone, id)});
      if (status_ == kUsage && id != ids_.front()) {
        say(fmt::format("only {} has such cases, which use several GPUs", ids_.front()));
        Run& run = alone_.front();
        const bool printed = present(options_, run, conclude(run), place(kAlone, ids_.front()) / "result.json", style_);
        status_ = before;
        if (!printed && status_ == kOk) throw NotPrinted();
        return false;
      }
      if (status_ == kInterrupted || status_ == kUsage) return false;
      alone_.push_back(recorded_in(place(kAlone, id)));
    }
    return true;
  }

  void measure_together() {
    say(fmt::format("{} at once", fmt::join(ids_, ", ")));
    std::vector<pid_t> pids;
    std::vector<fs::path> places;
    for (const std::string& id : ids_) places.push_back(place(kTogether, id));
    // Cases that use other GPUs would disturb them.
    for (const std::string& id : ids_) pids.push_back(spawn(id, kTogether, {"--only-device"}, true));
    const std::vector<std::optional<int>> ends = wait(pids, places);
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      MeasuredDevice& device = together_.emplace_back();
      device.run = recorded_in(place(kTogether, ids_[i]));
      if (!device.run.footer) device.ended = end_in_words(ends[i], patience_seconds());
      const bool known = device.recorded() || alone_.empty();
      device.rank = rank_info_of(ids_[i], static_cast<int>(i), pids[i], (known ? device.run : alone_[i]).header.facts.device);
    }
  }

  int status() const { return status_; }

  void finish() {
    if (std::any_of(together_.begin(), together_.end(), std::mem_fn(&MeasuredDevice::recorded))) {
      Run run = merge(together_);
      run.header.facts.arguments = options_.arguments;
      const Conclusions conclusions = conclude(run);
      status_ = worse_exit(status_, exit_status(run, conclusions));  // only side by side do other bits show
      std::string unwritten;
      try {
        write_run(folder_, run, conclusions);
      } catch (const WriteError& error) {
        unwritten = error.what();
      }
      say("\n" + ranks_table(run.header.ranks, style_) + ratios_table());
      const fs::path file = unwritten.empty() ? folder_ / "result.json" : fs::path();
      const bool printed = present(options_, run, conclusions, file, style_);
      if (!unwritten.empty()) {
        throw WriteError(
            fmt::format("{}; the results of the single devices are in {}", unwritten, (folder_ / kTogether).string()));
      }
      if (!printed && status_ == kOk) throw NotPrinted();
    } else {
      roofmark::say(options_.program,
                    "no device recorded a result while all ran at once; their files are in " + folder_.string());
    }
  }

 private:
  static constexpr const char* kAlone = "alone";

  fs::path place(const char* how, std::string id) const {
    std::replace(id.begin(), id.end(), ':', '-');
    return folder_ / how / id;
  }

  // stdout carries only the result when a format is requested.
  void say(const std::string& line) const {
    if (options_.quiet) return;
    std::FILE* const stream = options_.format.empty() ? stdout : stderr;
    std::fputs((line + "\n").c_str(), stream);
    std::fflush(stream);
  }

  // A silent process tells of errors alone: another one's result is shown.
  pid_t spawn(const std::string& id, const char* how, const std::vector<std::string>& more, bool silent) const {
    std::vector<std::string> words = words_for(options_, id, place(how, id));
    words.insert(words.end(), more.begin(), more.end());
    if (silent && !options_.quiet) words.emplace_back("--quiet");
    return start_process("/proc/self/exe", std::move(words), silent);
  }

  /// A process gives up by itself after the timeout, and then completes its files. While it times a block it writes nothing.
  double patience_seconds() const {
    constexpr double kToComplete = 30;
    return opening_seconds(options_) + kToComplete + options_.max_seconds.value_or(0);
  }

  std::vector<std::optional<int>> wait(const std::vector<pid_t>& pids, std::vector<fs::path> folders) {
    SignsOfLife signs(std::move(folders), patience_seconds());
    auto ends = wait_for(pids, interrupted(), [&](std::size_t process) { return signs.ended_long_ago(process); });
    for (const std::optional<int>& end : ends) status_ = worse_exit(status_, exit_status_of(end));
    if (interrupted()) status_ = kInterrupted;
    return ends;
  }

  /// Empty where no device was measured alone.
  std::string ratios_table() const {
    if (alone_.empty()) return {};
    std::vector<std::vector<std::string>> rows = {{"device", "median rate, together / alone", "cases"}};
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const auto [ratio, cases] = median_rate_ratio(alone_[i], together_[i].run);
      rows.push_back({ids_[i], cases ? fmt::format("{:.3f}", ratio) : "-", std::to_string(cases)});
    }
    return "\n" + align(rows);
  }

  const std::vector<std::string>& ids_;
  const RunOptions& options_;
  fs::path folder_;
  TerminalStyle style_;
  std::vector<Run> alone_;
  std::vector<MeasuredDevice> together_;
  int status_ = kOk;
};

}  // namespace

int run_on_all(const std::vector<std::string>& ids, const RunOptions& options, bool alone) {
  AllDevices devices(ids, options);
  // The processes complete their files; this one waits for them.
  take_signals();
  if (alone && !devices.measure_alone()) return devices.status();
  devices.measure_together();
  devices.finish();
  return devices.status();
}

}  // namespace roofmark
