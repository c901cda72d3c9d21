// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <sstream>
#include <utility>

#include "bench/support/listing.hpp"
#include "harness/judge/theory.hpp"
#include "harness/machine/host.hpp"
#include "harness/model/units.hpp"
#include "harness/present/terminal_communication.hpp"
#include "harness/result/team_json.hpp"
#include "harness/team/rank_info.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

constexpr double kRewriteSeconds = 5;
constexpr double kOneSignalSeconds = 1;

std::atomic<bool> was_interrupted{false};
std::atomic<double> interrupted_at{0};

void note_interruption(double now) {
  interrupted_at = now;
  was_interrupted = true;
}

// A second signal ends the process at once: the journal has what was finished. What comes within a second is the first one by
// another way: a terminal or a scheduler signals every process, and --device all passes it on to its children.
void on_signal(int signal) {
  const double now = steady_seconds();
  if (!was_interrupted) {
    note_interruption(now);
  } else if (now - interrupted_at > kOneSignalSeconds) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

Effort effort_of(SuiteName suite, std::optional<double> max_seconds) {
  Effort effort;
  constexpr double seconds[] = {0.25, 1.0, 2.0, 0.25};
  effort.max_seconds = max_seconds.value_or(seconds[static_cast<int>(suite)]);
  // Who wants a short look wants a short warm-up too; the record says whether it settled.
  effort.warm_up_seconds = std::min(effort.warm_up_seconds, 4 * effort.max_seconds);
  effort.window_seconds = std::min(effort.window_seconds, 0.2 * effort.max_seconds);
  return effort;
}

}  // namespace

const std::atomic<bool>& interrupted() { return was_interrupted; }

void take_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

fs::path make_folder(const std::string& wanted) {
  // Says whether the folder is new.
  const auto create = [](const fs::path& folder) {
    std::error_code error;
    const bool created = fs::create_directories(folder, error);
    if (error) throw WriteError(fmt::format("cannot create {}: {}", folder.string(), error.message()));
    return created;
  };
  if (wanted.empty()) {
    const fs::path parent = "roofmark-results";
    std::string time = utc_now();
    std::replace(time.begin(), time.end(), ':', '-');
    // Runs that start within a second, on nodes that share the folder, each get one of their own.
    fs::path folder = parent / time;
    for (int i = 2; !create(folder); ++i) folder = parent / fmt::format("{}-{}", time, i);
    return folder;
  }
  for (const char* file : {"result.json", "result.jsonl"}) {
    if (fs::exists(fs::path(wanted) / file))
      throw UsageError(fmt::format("{} already holds a {}: name another --out", wanted, file));
  }
  create(wanted);
  return wanted;
}

Settings settings_of(const RunOptions& options) {
  Settings settings;
  settings.effort = effort_of(options.selection.suite, options.max_seconds);
  settings.data = options.data;
  settings.seed = options.seed;
  settings.memory_fraction = options.selection.memory_fraction;
  settings.build_key = build_key();
  return settings;
}

Origin origin_of(const DeviceInfo& device) {
  Origin origin;
  std::string sku;
  origin.theoretical = theoretical_roofline(device, &sku);
  origin.known = device.backend == Backend::cpu || !sku.empty();
  if (!origin.known) {
    origin.findings.push_back({FindingKind::unknown_device,
                               "this GPU is not in the table of known ones: its ceilings come from its attributes alone",
                               {}});
  }
  if (device.details.contains("foreign_processes") && !device.details.at("foreign_processes").empty()) {
    origin.findings.push_back({FindingKind::foreign_process,
                               fmt::format("{} other processes use this GPU: {}", device.details.at("foreign_processes").size(),
                                           device.details.at("foreign_processes").dump()),
                               {}});
  }
  if (const GemmKernels* gemm = select(device.backend, &cuda::gemm, &cpu::gemm)) {
    origin.libraries[std::string(gemm->library)] = gemm->version();
  }
  return origin;
}

Session::Session(const DeviceInfo& device, const RunOptions& options, fs::path folder, Plan plan, const Origin& origin)
    : folder_(std::move(folder)),
      started_(steady_seconds()),
      device_(device),
      plan_(std::move(plan)),
      journal_(folder_ / "result.jsonl") {
  // Other ranks of a team are no strangers.
  if (device_.backend == Backend::cpu && origin.team.is_null()) cpu_time_ = cpu_time("/");
  Json& header = log_.header;
  header["context"] = benchmark_context(options.arguments.empty() ? "roofmark" : options.arguments.front());
  header["schema_version"] = kSchemaVersion;
  header["suite"] = name(options.selection.suite);
  header["data"] = name(options.data);
  header["seed"] = options.seed;
  header["arguments"] = options.arguments;
  header["labels"] = options.labels;
  header["environment"] = rate_environment();
  header["started_utc"] = utc_now();
  header["build"] = describe_build();
  header["libraries"] = origin.libraries;
  header["host"] = describe_host();
  header["device"] = to_json(device_, origin.known);
  header["ceilings"] = to_json(origin.theoretical);
  header["findings"] = Json::array();
  for (const Finding& finding : origin.findings) header["findings"].push_back(to_json(finding));
  if (!origin.team.is_null()) header["team"] = origin.team;
  journal_.header(header);
}

void Session::doing(const std::string& case_name, const WallTime& spent) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  under_way_ = case_name;
  spent_ = spent;
}

std::string Session::under_way() const {
  const std::lock_guard lock(mutex_);
  return under_way_;
}

void Session::add(const std::vector<Record>& records, const std::vector<Comparison>& comparisons, int pass) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  under_way_.clear();
  const double start = steady_seconds();
  for (const Record& record : records) {
    journal_.record(record);
    log_.records.push_back(record);
  }
  for (const Comparison& comparison : comparisons) {
    if (pass == 2) break;
    journal_.comparison(comparison);
    log_.comparisons.push_back(comparison);
  }
  if (steady_seconds() - written_ > kRewriteSeconds) write();
  writing_ += steady_seconds() - start;
}

int Session::finish(bool complete, const WallTime& spent) {
  const std::lock_guard lock(mutex_);
  return complete_files(complete, spent, {}, "interrupted");
}

int Session::abandon(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  return complete_files(false, spent_, under_way_, reason);
}

int Session::complete_files(bool complete, WallTime spent, const std::string& lost_case, const std::string& reason) {
  if (std::exchange(finished_, true)) return roofmark::exit_status(log_.records);
  add_unreached(lost_case, reason);
  const double start = steady_seconds();
  Analysis analysis;
  const Json findings = final_findings();
  log_.footer = footer(complete, spent, findings);
  assemble(log_, &analysis, &communication_);  // the verdicts are final from here on
  spent.writing = writing_ + steady_seconds() - start;
  log_.footer = footer(complete, spent, findings);
  journal_.footer(*log_.footer);
  write();
  spent_ = spent;
  analysis_ = std::move(analysis);
  return roofmark::exit_status(log_.records);
}

/// Of a run that was finished.
std::vector<Finding> Session::findings() const {
  std::vector<Finding> all;
  for (const Json* part : {&log_.header, &*log_.footer}) {
    for (const Json& finding : part->at("findings"))
      all.push_back({finding_kind(finding.at("kind").get<std::string>()), finding.at("text"), {}});
  }
  all.insert(all.end(), analysis_.findings.begin(), analysis_.findings.end());
  return all;
}

Json Session::final_findings() const {
  Json findings = Json::array();
  const auto now = cpu_time_ ? cpu_time("/") : std::nullopt;
  if (!now) return findings;
  const Json& details = device_.details;
  const bool limited = details.contains("cpu_quota_cores") || details.contains("memory_limit_bytes") ||
                       details.at("logical_cpus").get<int>() < now->cpus;
  const auto contention = find_contention(*cpu_time_, *now, device_.multiprocessors, limited);
  if (contention) {
    findings.push_back(to_json(Finding{
        FindingKind::foreign_process, *contention + ": rates are too low, and these roofs are not ones to sign for", {}}));
  }
  return findings;
}

Json Session::footer(bool complete, const WallTime& wall, const Json& findings) const {
  const double total = steady_seconds() - started_;
  const double known = wall.timing + wall.warm_up + wall.preparation + wall.verification + wall.writing;
  return {{"finished_utc", utc_now()},
          {"complete", complete},
          {"interrupted", was_interrupted.load()},
          {"findings", findings},
          {"wall_time",
           {{"total_seconds", total},
            {"timing_seconds", wall.timing},
            {"warm_up_seconds", wall.warm_up},
            {"preparation_seconds", wall.preparation},
            {"verification_seconds", wall.verification},
            {"writing_seconds", wall.writing},
            {"other_seconds", std::max(0.0, total - known)}}}};
}

void Session::add_unreached(const std::string& lost_case, const std::string& reason) {
  bool found_lost = false;  // what would be measured again later is not lost a second time
  const auto reached = [&](const Case& c, int pass) {
    return std::any_of(log_.records.begin(), log_.records.end(),
                       [&, name = c.name()](const Record& record) { return record.name == name && record.pass == pass; });
  };
  const auto add_all = [&](const std::vector<Group>& groups, int pass) {
    for (const Group& group : groups) {
      for (const Case& c : group.cases) {
        if (reached(c, pass)) continue;
        Record record = blank_record(c, pass);
        const bool lost = !found_lost && record.name == lost_case;
        found_lost |= lost;
        record.status = !c.unsupported.empty() ? Status::unsupported : lost ? Status::failed : Status::not_run;
        record.reason = !c.unsupported.empty()      ? c.unsupported
                        : lost || lost_case.empty() ? reason
                                                    : "the run ended in " + lost_case;
        journal_.record(record);
        log_.records.push_back(std::move(record));
      }
    }
  };
  add_all(plan_.ceilings, 1);
  add_all(plan_.suite, 1);
  add_all(plan_.ceilings, 2);
}

void Session::write() {
  write_file(folder_ / "result.json", assemble(log_).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  written_ = steady_seconds();
}

std::size_t count_cases(const Plan& plan) {
  std::size_t count = 0;
  for (const Group& group : plan.ceilings) count += 2 * group.cases.size();
  for (const Group& group : plan.suite) count += group.cases.size();
  return count;
}

void Session::present(const RunOptions& options, const TerminalStyle& style) const {
  if (!options.format.empty()) {
    write_google_benchmark(std::cout, options.format, log_.records);
    return;
  }
  if (options.quiet) return;
  const Json& device = log_.header.at("device");
  std::vector<RankInfo> members;
  for (const Json& member : log_.header.value("team", Json::array())) members.push_back(rank_info_from_json(member));
  const std::string where = members.empty() ? host_name()
                                            : fmt::format("{} rank{}, {} first", members.size(), members.size() == 1 ? "" : "s",
                                                          members.front().host);
  fmt::print("\n{} on {}: {} suite, {} data, seed {}\n\n", device.at("name").get<std::string>(), where,
             log_.header.at("suite").get<std::string>(), name(options.data), options.seed);
  const std::string communication = communication_tables(log_.records, communication_, members, style);
  for (const std::string& part : {ceilings_table(analysis_.roofline), communication, records_table(log_.records, style),
                                  comparisons_table(analysis_.comparisons, style),
                                  roofline_plot(analysis_.roofline, log_.records, style), findings_text(findings(), style)}) {
    if (!part.empty()) fmt::print("{}\n", part);
  }
  fmt::print("{}{}{}\n", verdict_text(log_.records, style), wall_time_text(spent_, steady_seconds() - started_),
             (folder_ / "result.json").string());
}

void Session::write_google_benchmark_file(const RunOptions& options) const {
  if (options.out_file.empty()) return;
  std::ostringstream text;
  write_google_benchmark(text, options.out_format, log_.records);
  write_file(options.out_file, text.str());
}

bool measure(Runner& runner, const Plan& plan, const Observer& observer) {
  runner.on_stage(observer.stage);
  const auto measure_all = [&](const std::vector<Group>& groups, int pass) {
    for (const Group& group : groups) observer.measured(group, runner.run(group, pass), pass);
  };
  try {
    measure_all(plan.ceilings, 1);
    measure_all(plan.suite, 1);
    measure_all(plan.ceilings, 2);
  } catch (const Interrupted&) {
    if (!was_interrupted) note_interruption(steady_seconds());  // the signal was another rank's
    return false;
  }
  return true;
}

}  // namespace roofmark
