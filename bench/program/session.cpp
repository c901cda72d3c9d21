// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "bench/program/cpu_share.hpp"
#include "bench/program/interrupt.hpp"
#include "bench/program/present.hpp"
#include "bench/program/settings.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/machine/host.hpp"
#include "harness/machine/libraries.hpp"
#include "harness/measure/case_run.hpp"
#include "harness/measure/overhead.hpp"
#include "harness/result/result_file.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

constexpr double kRewriteSeconds = 5;

}  // namespace

Session::Session(const DeviceInfo& device, const RunOptions& options, fs::path folder, Plan plan, const Origin& origin,
                 std::optional<double> timing_overhead_seconds)
    : program_(options.program),
      folder_(std::move(folder)),
      started_(steady_seconds()),
      device_(device),
      own_load_(begin_share(device)),
      plan_(std::move(plan)),
      journal_(folder_ / "result.jsonl") {
  run_.header.facts = {benchmark_context(options.arguments.empty() ? "roofmark" : options.arguments.front()),
                       std::string(name(options.selection.suite)),
                       options.data,
                       options.seed,
                       options.arguments,
                       options.labels,
                       rate_environment(),
                       plan_.about,
                       budget_seconds(options),
                       utc_now(),
                       clock_overhead_seconds(),
                       describe_build(),
                       loaded_libraries(),
                       describe_host(),
                       device_,
                       origin.known,
                       origin.network};
  run_.header.theoretical = origin.theoretical;
  run_.header.findings = origin.findings;
  run_.header.ranks = origin.ranks;
  run_.header.scope = scope_of(options, plan_);
  run_.header.health = origin.health;
  run_.header.timing_overhead_seconds = timing_overhead_seconds;
  journal_.header(run_.header);
}

void Session::observe(Observer observer, std::vector<CounterChange> counters_before) {
  const std::lock_guard lock(mutex_);
  // Whoever observed until now will not be asked again.
  if (!finished_) journal_seen();
  observer_ = std::move(observer);
  if (finished_ || !observer_.telemetry) return;
  run_.seen.counters = std::move(counters_before);
  if (!run_.seen.counters.empty()) journal_.seen({{}, run_.seen.counters});
}

void Session::journal_seen() {
  seen_ = steady_seconds();
  if (!observer_.telemetry) return;
  TelemetrySeries more = observer_.telemetry(run_.seen.telemetry.readings.size());
  // Also without readings: whoever waits for this process sees that it goes on.
  journal_.seen({more, {}});
  run_.seen.telemetry.gave_up = more.gave_up;
  if (more.readings.empty()) return;
  std::vector<Reading> readings = std::move(run_.seen.telemetry.readings);
  std::move(more.readings.begin(), more.readings.end(), std::back_inserter(readings));
  run_.seen.telemetry = std::move(more);
  run_.seen.telemetry.readings = std::move(readings);
}

void Session::doing(const std::string& case_name, const WallTime& spent) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  // A case has several stages.
  if (case_name != std::exchange(run_.in_progress, case_name)) journal_.begun(case_name);
  spent_ = spent;
  if (steady_seconds() - seen_ > kRewriteSeconds) journal_seen();
}

void Session::add(const std::vector<Record>& records, const std::vector<Comparison>& comparisons, int pass) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  run_.in_progress.clear();
  const double start = steady_seconds();
  for (const Record& record : records) {
    journal_.record(record);
    run_.records.push_back(record);
  }
  for (const Comparison& comparison : comparisons) {
    if (pass == 2) break;
    journal_.comparison(comparison);
    run_.comparisons.push_back(comparison);
  }
  journal_seen();
  if (steady_seconds() - written_ > kRewriteSeconds) write();
  note_error(journal_.error());
  writing_ += steady_seconds() - start;
}

std::vector<std::string> Session::measure_next() {
  const std::lock_guard lock(mutex_);
  return finished_ ? std::vector<std::string>() : conclude(run_).communication.measure_next;
}

void Session::expect(const std::vector<Group>& groups) {
  const std::lock_guard lock(mutex_);
  plan_.suite.insert(plan_.suite.end(), groups.begin(), groups.end());
}

int Session::finish(bool complete, const WallTime& spent, Observations observed) {
  const std::lock_guard lock(mutex_);
  observed_ = std::move(observed);
  return complete_files(complete, spent, {}, "interrupted");
}

int Session::abandon(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  // Of a team, what the other ranks know is out of reach.
  if (!finished_ && observer_.now) observed_ = observer_.now();
  if (run_.header.ranks.empty()) observed_.loads.push_back(end_share(own_load_));
  // A process alone does not know whether a case hung or was slow when the user ended it. Ranks know who never arrived.
  const bool may_be_well = interrupted() && run_.header.ranks.empty();
  const int status = complete_files(false, spent_, may_be_well ? std::string() : run_.in_progress, reason);
  const std::string said = write_error_.empty() ? "results so far: " + (folder_ / "result.json").string() : way_out();
  say(program_, said);
  return status;
}

int Session::complete_files(bool complete, const WallTime& spent, const std::string& lost_case, const std::string& reason) {
  if (std::exchange(finished_, true)) return exit_status_of_files();
  add_unreached(lost_case, reason);
  const double start = steady_seconds();
  // A team that fails has nobody left to ask: what was seen so far remains.
  if (observed_.telemetry.readings.empty()) observed_.telemetry = std::move(run_.seen.telemetry);
  if (observed_.counters.empty()) observed_.counters = std::move(run_.seen.counters);
  run_.footer = footer(complete, spent);
  run_.seen = {};
  if (!complete) run_.footer->ended = RunEnd{reason, run_.in_progress};
  conclusions_ = conclude(run_);
  run_.footer->wall.writing = writing_ + steady_seconds() - start;
  run_.footer->total_seconds = steady_seconds() - started_;
  journal_.footer(*run_.footer);
  write_error_ = journal_.error();
  try {
    write_with_checksum(folder_ / "result.json", result_text(run_, conclusions_));
    result_written_ = true;
  } catch (const WriteError& error) {
    write_error_ = error.what();
  }
  return exit_status_of_files();
}

int Session::exit_status_of_files() const {
  return worse_exit(exit_status(run_, conclusions_), write_error_.empty() ? kOk : kNotMeasured);
}

void Session::note_error(const std::string& error) {
  if (error.empty() || !std::exchange(write_error_, error).empty()) return;
  say(program_, error + ": the run continues and retries after each result");
}

std::string Session::way_out() const {
  const std::string folder = folder_.string();
  if (result_written_)
    return fmt::format("{}; {}/result.json is complete without it: remove the journal", write_error_, folder);
  std::set<std::string> planned, kept;
  for (const Record& record : run_.records) planned.insert(record.name());
  try {
    int skipped = 0;
    for (const Record& record : read_journal(folder_ / "result.jsonl", skipped).records) kept.insert(record.name());
  } catch (const ReadError&) {
    // A missing journal holds no cases.
  }
  return fmt::format(
      "{0}; the journal {1}/result.jsonl holds {2} of {3} cases: free disk space and run `roofmark recover {1}`, or write to "
      "another disk with `roofmark recover {1} --out FOLDER`",
      write_error_, folder, kept.size(), planned.size());
}

RunFooter Session::footer(bool complete, const WallTime& wall) {
  std::optional<TelemetrySummary> summary = summarize(observed_.telemetry.readings);
  std::vector<Finding> findings = foreign_load(observed_.loads, run_.header.ranks);
  std::move(observed_.findings.begin(), observed_.findings.end(), std::back_inserter(findings));
  return {utc_now(),
          complete,
          interrupted().load(),
          std::move(findings),
          wall,
          steady_seconds() - started_,
          std::move(observed_.telemetry),
          std::move(summary),
          std::move(observed_.rank_telemetry),
          std::move(observed_.counters)};
}

void Session::add_unreached(const std::string& lost_case, const std::string& reason) {
  bool found_lost = false;  // a ceiling is measured twice, but lost once
  const auto reached = [&](const Case& c, int pass) {
    return std::any_of(run_.records.begin(), run_.records.end(),
                       [&](const Record& record) { return same_case(record, c) && record.pass == pass; });
  };
  const auto add_all = [&](const std::vector<Group>& groups, int pass) {
    for (const Group& group : groups) {
      for (const Case& c : group.cases) {
        if (reached(c, pass)) continue;
        const bool lost = !found_lost && c.name() == lost_case;
        found_lost |= lost;
        Record record = left_out(c, pass, lost || lost_case.empty() ? reason : "the run ended in " + lost_case);
        if (lost && c.unsupported.empty()) record.status = Status::failed;
        journal_.record(record);
        run_.records.push_back(std::move(record));
      }
    }
  };
  add_all(plan_.ceilings, 1);
  add_all(plan_.suite, 1);
  if (plan_.ceilings_again) add_all(plan_.ceilings, 2);
}

void Session::write() {
  const Conclusions so_far = conclude(run_);
  try {
    write_file(folder_ / "result.json", result_text(run_, so_far));
  } catch (const WriteError& error) {
    note_error(error.what());
  }
  written_ = steady_seconds();
}

bool Session::present(const RunOptions& options, const TerminalStyle& style) const {
  const fs::path file = result_written_ ? folder_ / "result.json" : fs::path();
  const bool printed = roofmark::present(options, run_, conclusions_, file, style);
  if (!write_error_.empty()) say(program_, way_out());
  return printed;
}

}  // namespace roofmark
