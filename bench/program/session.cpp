// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <utility>

#include "bench/program/interrupt.hpp"
#include "bench/support/listing.hpp"
#include "harness/judge/health.hpp"
#include "harness/judge/theory.hpp"
#include "harness/machine/host.hpp"
#include "harness/measure/case_run.hpp"
#include "harness/model/units.hpp"
#include "harness/present/run.hpp"
#include "harness/result/device_json.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/words.hpp"
#include "harness/team/rank_info.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

constexpr double kRewriteSeconds = 5;

Effort effort_of(SuiteName suite, std::optional<double> max_seconds) {
  Effort effort;
  constexpr double seconds[] = {0.05, 0.25, 1.0, 2.0, 1.0, 0.25};
  effort.max_seconds = max_seconds.value_or(seconds[static_cast<int>(suite)]);
  // A short timing budget gets a short warm-up; the record says whether it settled.
  effort.warm_up_seconds = std::min(effort.warm_up_seconds, 4 * effort.max_seconds);
  effort.window_seconds = std::min(effort.window_seconds, 0.2 * effort.max_seconds);
  if (suite == SuiteName::smoke) effort.blocks = 3;
  return effort;
}

}  // namespace

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
    // Runs that start within the same second, on nodes that share the folder, get a folder each.
    fs::path folder = parent / time;
    for (int i = 2; !create(folder); ++i) folder = parent / fmt::format("{}-{}", time, i);
    return folder;
  }
  for (const char* file : {"result.json", "result.jsonl"}) {
    if (fs::exists(fs::path(wanted) / file))
      throw UsageError(fmt::format("{} already holds a {}: choose another --out", wanted, file));
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

Origin origin_of(const DeviceInfo& device, const Fabric* fabric) {
  Origin origin;
  std::string sku;
  origin.theoretical = theoretical_roofline(device, &sku);
  if (fabric) {
    const Roofline links = theoretical_links(fabric->members);
    for (const Ceiling& link : links.ceilings()) origin.theoretical.at(link.resource) = link;
  }
  origin.known = device.backend == Backend::cpu || !sku.empty();
  if (!origin.known) {
    origin.findings.push_back({FindingKind::unknown_device,
                               "this GPU is not in the table of known GPUs: its ceilings come from its attributes alone",
                               {}});
  }
  if (device.details.contains("foreign_processes") && !device.details.at("foreign_processes").empty()) {
    origin.findings.push_back({FindingKind::foreign_process,
                               "other processes use this GPU: " + name_processes(device.details.at("foreign_processes")),
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
  // Other ranks of a team are no foreign programs.
  if (device_.backend == Backend::cpu && origin.ranks.empty()) cpu_time_ = cpu_time("/");
  Json& facts = run_.header.facts;
  facts["context"] = benchmark_context(options.arguments.empty() ? "roofmark" : options.arguments.front());
  facts["schema_version"] = kSchemaVersion;
  facts["suite"] = name(options.selection.suite);
  facts["data"] = name(options.data);
  facts["seed"] = options.seed;
  facts["arguments"] = options.arguments;
  facts["labels"] = options.labels;
  facts["environment"] = rate_environment();
  facts["started_utc"] = utc_now();
  facts["build"] = describe_build();
  facts["libraries"] = origin.libraries;
  facts["host"] = describe_host();
  facts["device"] = to_json(device_, origin.known);
  run_.header.theoretical = origin.theoretical;
  run_.header.findings = origin.findings;
  run_.header.ranks = origin.ranks;
  journal_.header(run_.header);
}

void Session::doing(const std::string& case_name, const WallTime& spent) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  in_progress_ = case_name;
  spent_ = spent;
}

void Session::add(const std::vector<Record>& records, const std::vector<Comparison>& comparisons, int pass) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  in_progress_.clear();
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
  if (steady_seconds() - written_ > kRewriteSeconds) write();
  writing_ += steady_seconds() - start;
}

int Session::finish(bool complete, const WallTime& spent, TelemetrySeries telemetry, std::vector<CounterChange> counters) {
  const std::lock_guard lock(mutex_);
  telemetry_ = std::move(telemetry);
  counters_ = std::move(counters);
  return complete_files(complete, spent, {}, "interrupted");
}

int Session::abandon(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const int status = complete_files(false, spent_, in_progress_, reason);
  fmt::print(stderr, "results so far: {}\n", (folder_ / "result.json").string());
  return status;
}

int Session::complete_files(bool complete, const WallTime& spent, const std::string& lost_case, const std::string& reason) {
  if (std::exchange(finished_, true)) return exit_status(run_.records);
  add_unreached(lost_case, reason);
  const double start = steady_seconds();
  run_.footer = footer(complete, spent);
  conclusions_ = conclude(run_);
  run_.footer->wall.writing = writing_ + steady_seconds() - start;
  run_.footer->total_seconds = steady_seconds() - started_;
  journal_.footer(*run_.footer);
  write_with_checksum(folder_ / "result.json", result_text(run_, conclusions_));
  return exit_status(run_.records);
}

// A device's own processes are no contention for other devices; the CPU shares its cores with every other program.
std::vector<Finding> Session::contention() const {
  const auto now = cpu_time_ ? cpu_time("/") : std::nullopt;
  if (!now) return {};
  const Json& details = device_.details;
  const bool limited = details.contains("cpu_quota_cores") || details.contains("memory_limit_bytes") ||
                       details.at("logical_cpus").get<int>() < now->cpus;
  const auto found = find_contention(*cpu_time_, *now, device_.multiprocessors, limited);
  if (!found) return {};
  return {{FindingKind::foreign_process, *found, {}}};
}

RunFooter Session::footer(bool complete, const WallTime& wall) {
  return {utc_now(),
          complete,
          interrupted().load(),
          contention(),
          wall,
          steady_seconds() - started_,
          std::move(telemetry_),
          std::move(counters_)};
}

void Session::add_unreached(const std::string& lost_case, const std::string& reason) {
  bool found_lost = false;  // a ceiling is measured twice, but lost once
  const auto reached = [&](const Case& c, int pass) {
    return std::any_of(run_.records.begin(), run_.records.end(),
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
  write_file(folder_ / "result.json", result_text(run_, so_far));
  written_ = steady_seconds();
}

void present(const RunOptions& options, const Run& run, const Conclusions& conclusions, const fs::path& file,
             const TerminalStyle& style) {
  if (!options.format.empty()) {
    write_google_benchmark(std::cout, options.format, run.records);
  } else if (!options.quiet) {
    fmt::print("{}{}\n", run_text(run, conclusions, style), file.string());
  }
  if (options.out_file.empty()) return;
  std::ostringstream text;
  write_google_benchmark(text, options.out_format, run.records);
  write_file(options.out_file, text.str());
}

void Session::present(const RunOptions& options, const TerminalStyle& style) const {
  roofmark::present(options, run_, conclusions_, folder_ / "result.json", style);
}

Session* SharedSession::open(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  shared_ = session_.get();
  return session_.get();
}

int SharedSession::abandon(const std::string& reason) const {
  Session* const session = shared_;
  return session ? session->abandon(reason) : kNotMeasured;
}

}  // namespace roofmark
