// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>

#include "bench/commands.hpp"
#include "harness/children.hpp"
#include "harness/cpu/contention.hpp"
#include "harness/host.hpp"
#include "harness/journal.hpp"
#include "harness/measure.hpp"
#include "harness/statistics.hpp"
#include "harness/terminal.hpp"
#include "harness/theory.hpp"
#include "harness/units.hpp"
#include "harness/watchdog.hpp"
#include "kernels/check.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

constexpr double kRewriteSeconds = 5;
constexpr double kOneSignalSeconds = 1;

std::atomic<bool> interrupted{false};
std::atomic<double> interrupted_at{0};

// A second signal ends the process at once: the journal has what was finished. What comes within a second is the first one by
// another way: a terminal or a scheduler signals every process, and --device all passes it on to its children.
void on_signal(int signal) {
  const double now = steady_seconds();
  if (!interrupted) {
    interrupted_at = now;
    interrupted = true;
  } else if (now - interrupted_at > kOneSignalSeconds) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
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

Effort effort_of(SuiteName suite, std::optional<double> max_seconds) {
  Effort effort;
  constexpr double seconds[] = {0.25, 1.0, 2.0};
  effort.max_seconds = max_seconds.value_or(seconds[static_cast<int>(suite)]);
  // Who wants a short look wants a short warm-up too; the record says whether it settled.
  effort.warm_up_seconds = std::min(effort.warm_up_seconds, 4 * effort.max_seconds);
  effort.window_seconds = std::min(effort.window_seconds, 0.2 * effort.max_seconds);
  return effort;
}

Json initial_findings(const DeviceInfo& info, bool known) {
  Json findings = Json::array();
  if (!known) {
    findings.push_back(to_json(Finding{
        "unknown_device", "this GPU is not in the table of known ones: its ceilings come from its attributes alone", {}}));
  }
  if (info.details.contains("foreign_processes") && !info.details.at("foreign_processes").empty()) {
    findings.push_back(
        to_json(Finding{"foreign_process",
                        fmt::format("{} other processes use this GPU: {}", info.details.at("foreign_processes").size(),
                                    info.details.at("foreign_processes").dump()),
                        {}}));
  }
  return findings;
}

Json libraries_of(Backend backend) {
  Json libraries = Json::object();
  if (const GemmKernels* gemm = select(backend, &cuda::gemm, &cpu::gemm)) {
    libraries[std::string(gemm->library)] = gemm->version();
  }
  return libraries;
}

/// One run on one device: what has been measured, and the files that say so. Safe for use from the watchdog's thread.
class Session {
 public:
  Session(Device& device, const RunOptions& options, fs::path folder, const Plan& plan)
      : folder_(std::move(folder)),
        started_(steady_seconds()),
        device_(device.info()),
        plan_(plan),
        journal_(folder_ / "result.jsonl") {
    if (device_.backend == Backend::cpu) cpu_time_ = cpu_time("/");
    std::string sku;
    const Roofline theoretical = theoretical_roofline(device.info(), &sku);
    const bool known = device.info().backend == Backend::cpu || !sku.empty();
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
    header["libraries"] = libraries_of(device.info().backend);
    header["host"] = describe_host();
    header["device"] = to_json(device.info(), known);
    header["ceilings"] = to_json(theoretical);
    header["findings"] = initial_findings(device.info(), known);
    journal_.header(header);
  }

  void add(const std::vector<Record>& records, const std::vector<Comparison>& comparisons, int pass) {
    const std::lock_guard lock(mutex_);
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

  /// Completes the files: `lost_case`, if any, failed with `reason`, and what was not reached is not run.
  int finish(bool complete, WallTime wall, const std::string& lost_case, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    add_unreached(lost_case, reason);
    const double start = steady_seconds();
    Analysis analysis;
    const Json findings = final_findings();
    log_.footer = footer(complete, wall, findings);
    assemble(log_, &analysis);  // the verdicts are final from here on
    wall.writing = writing_ + steady_seconds() - start;
    log_.footer = footer(complete, wall, findings);
    journal_.footer(*log_.footer);
    write();
    wall_ = wall;
    analysis_ = std::move(analysis);
    return roofmark::exit_status(log_.records);
  }

  const std::vector<Record>& records() const { return log_.records; }
  const Analysis& analysis() const { return analysis_; }
  const fs::path& folder() const { return folder_; }
  const Json& header() const { return log_.header; }
  std::string wall_time() const { return wall_time_text(wall_, steady_seconds() - started_); }
  /// Of a run that was finished.
  std::vector<Finding> findings() const {
    std::vector<Finding> all;
    for (const Json* part : {&log_.header, &*log_.footer}) {
      for (const Json& finding : part->at("findings")) all.push_back({finding.at("kind"), finding.at("text"), {}});
    }
    all.insert(all.end(), analysis_.findings.begin(), analysis_.findings.end());
    return all;
  }

 private:
  /// What was found of the run as a whole, and cannot be found again from its records.
  Json final_findings() const {
    Json findings = Json::array();
    const auto now = cpu_time_ ? cpu_time("/") : std::nullopt;
    if (!now) return findings;
    const Json& details = device_.details;
    const bool limited = details.contains("cpu_quota_cores") || details.contains("memory_limit_bytes") ||
                         details.at("logical_cpus").get<int>() < now->cpus;
    const auto contention = find_contention(*cpu_time_, *now, device_.multiprocessors, limited);
    if (contention) findings.push_back(to_json(*contention));
    return findings;
  }

  Json footer(bool complete, const WallTime& wall, const Json& findings) const {
    const double total = steady_seconds() - started_;
    const double known = wall.timing + wall.warm_up + wall.preparation + wall.verification + wall.writing;
    return {{"finished_utc", utc_now()},
            {"complete", complete},
            {"interrupted", interrupted.load()},
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

  void add_unreached(const std::string& lost_case, const std::string& reason) {
    const auto reached = [&](const Case& c, int pass) {
      return std::any_of(log_.records.begin(), log_.records.end(),
                         [&, name = c.name()](const Record& record) { return record.name == name && record.pass == pass; });
    };
    const auto add_all = [&](const std::vector<Group>& groups, int pass) {
      for (const Group& group : groups) {
        for (const Case& c : group.cases) {
          if (reached(c, pass)) continue;
          Record record = blank_record(c, pass);
          const bool lost = record.name == lost_case;
          record.status = !c.unsupported.empty() ? Status::unsupported : lost ? Status::failed : Status::not_run;
          record.reason = !c.unsupported.empty()      ? c.unsupported
                          : lost || lost_case.empty() ? reason
                                                      : "device lost to " + lost_case;
          journal_.record(record);
          log_.records.push_back(std::move(record));
        }
      }
    };
    add_all(plan_.ceilings, 1);
    add_all(plan_.suite, 1);
    add_all(plan_.ceilings, 2);
  }

  void write() {
    write_file(folder_ / "result.json", assemble(log_).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    written_ = steady_seconds();
  }

  fs::path folder_;
  double started_, written_ = 0, writing_ = 0;
  const DeviceInfo& device_;
  std::optional<CpuTime> cpu_time_;  ///< at the start, where the CPU is the device
  const Plan& plan_;
  Journal journal_;
  RunLog log_;
  Analysis analysis_;
  WallTime wall_;
  std::mutex mutex_;
};

std::size_t count_cases(const Plan& plan) {
  std::size_t count = 0;
  for (const Group& group : plan.ceilings) count += 2 * group.cases.size();
  for (const Group& group : plan.suite) count += group.cases.size();
  return count;
}

void present(const Session& session, const RunOptions& options, const TerminalStyle& style) {
  if (!options.format.empty()) {
    write_google_benchmark(std::cout, options.format, session.records());
    return;
  }
  if (options.quiet) return;
  const Analysis& analysis = session.analysis();
  const Json& device = session.header().at("device");
  fmt::print("\n{} on {}: {} suite, {} data, seed {}\n\n", device.at("name").get<std::string>(), host_name(),
             session.header().at("suite").get<std::string>(), name(options.data), options.seed);
  for (const std::string& part :
       {ceilings_table(analysis.roofline), records_table(session.records(), style), comparisons_table(analysis.comparisons),
        roofline_plot(analysis.roofline, session.records(), style), findings_text(session.findings(), style)}) {
    if (!part.empty()) fmt::print("{}\n", part);
  }
  std::map<Status, int> counts;
  for (const Record& record : session.records()) ++counts[record.status];
  std::string verdict;
  for (const auto& [status, count] : counts) {
    std::string word(name(status));
    std::replace(word.begin(), word.end(), '_', ' ');
    verdict += fmt::format("{}{} {}", verdict.empty() ? "" : ", ", count, word);
  }
  fmt::print("{}\n{}{}\n", verdict, session.wall_time(), (session.folder() / "result.json").string());
}

/// `note`, if any, is said once nothing about the arguments can be wrong any more.
int run_on(const std::string& id, const RunOptions& options, const std::string& note) {
  const auto device = open_device(id);
  const Plan cases = plan(device->info(), options.selection);
  const fs::path folder = make_folder(options.out);
  if (!options.out_file.empty()) check_writable(options.out_file);
  if (!note.empty()) fmt::print(stderr, "roofmark: {}\n", note);
  Session session(*device, options, folder, cases);

  SoloTeam team(&interrupted);
  Settings settings;
  settings.effort = effort_of(options.selection.suite, options.max_seconds);
  settings.data = options.data;
  settings.seed = options.seed;
  settings.memory_fraction = options.selection.memory_fraction;
  settings.build_key = build_key();
  Runner runner(*device, team, settings);

  TerminalStyle style = terminal_style(stdout);
  if (!options.color.empty()) style.colour = options.color == "yes";
  Progress progress(terminal_style(stderr), options.quiet || !options.format.empty(), count_cases(cases));
  std::string under_way;
  Watchdog watchdog(options.timeout, [&](const std::string& what) {
    const std::string reason = fmt::format("no progress for {} while {}", format_duration(options.timeout), what);
    int status = kNotMeasured;
    try {
      fmt::print(stderr, "\nroofmark: {}: {}\n", under_way, reason);
      status = session.finish(false, runner.wall_time(), under_way, reason);
    } catch (const std::exception& error) {
      fmt::print(stderr, "roofmark: {}\n", error.what());
    }
    std::_Exit(status);  // the measuring thread is stuck inside a driver and cannot be joined
  });
  runner.on_stage([&](const std::string& case_name, std::string_view stage) {
    under_way = case_name;
    watchdog.watch(std::string(stage));
    progress.show(case_name, stage);
  });
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);

  const auto measure = [&](const std::vector<Group>& groups, int pass) {
    for (const Group& group : groups) {
      const std::vector<Record> records = runner.run(group, pass);
      watchdog.rest();
      session.add(records, group.comparisons, pass);
      for (const Record& record : records) progress.done(record);
    }
  };
  bool complete = true;
  try {
    measure(cases.ceilings, 1);
    measure(cases.suite, 1);
    measure(cases.ceilings, 2);
  } catch (const Interrupted&) {
    complete = false;
  }
  watchdog.rest();
  progress.clear();
  const int status = session.finish(complete, runner.wall_time(), {}, "interrupted");
  present(session, options, style);
  if (!options.out_file.empty()) {
    std::ostringstream text;
    write_google_benchmark(text, options.out_format, session.records());
    write_file(options.out_file, text.str());
  }
  return interrupted ? kInterrupted : status;
}

/// This program once more, on one device, in a folder of its own.
pid_t spawn(const RunOptions& options, const std::string& id, const fs::path& folder) {
  std::vector<std::string> words = {"roofmark"};
  for (std::size_t i = 1; i < options.arguments.size(); ++i) {
    const std::string& word = options.arguments[i];
    if (word == "--device" || word == "--out") {
      ++i;
    } else if (word.rfind("--device=", 0) != 0 && word.rfind("--out=", 0) != 0) {
      words.push_back(word);
    }
  }
  for (const std::string& word : {std::string("--device"), id, std::string("--out"), folder.string()}) words.push_back(word);
  return start_process("/proc/self/exe", std::move(words));
}

// What a child's end means, from its wait status. A signal may meet it before it can complete a file.
int exit_status_of(int status) {
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)) return kInterrupted;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kNotMeasured;
}

// The worse of two statuses: interrupted, wrong, could not be measured, ok.
int worse(int a, int b) {
  const auto rank = [](int status) {
    return status == kInterrupted ? 4 : status == kUsage ? 3 : status == kWrong ? 2 : status != kOk;
  };
  return rank(a) >= rank(b) ? a : b;
}

double median_rate_ratio(const fs::path& alone, const fs::path& together, std::size_t& cases) {
  std::vector<double> ratios;
  const auto medians = [](const fs::path& folder) {
    std::map<std::string, double> seconds;
    std::ifstream file(folder / "result.json");
    const Json result = Json::parse(file, nullptr, false);
    if (result.is_discarded()) return seconds;
    for (const Json& entry : result.at("benchmarks")) seconds.emplace(entry.at("name"), entry.at("real_time"));
    return seconds;
  };
  const auto a = medians(alone), b = medians(together);
  for (const auto& [name, seconds] : a) {
    if (const auto found = b.find(name); found != b.end()) ratios.push_back(seconds / found->second);
  }
  cases = ratios.size();
  if (ratios.empty()) return 0;
  return median(std::move(ratios));
}

// One after another and then all at once: what the devices lose when they share power, cooling and the host.
int run_on_all(const std::vector<std::string>& ids, const RunOptions& options) {
  const fs::path folder = make_folder(options.out);
  // The children complete their files, and this process waits for that.
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const auto say = [&](const std::string& line) {
    if (options.quiet) return;
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  const auto place = [&](const char* how, std::string id) {
    std::replace(id.begin(), id.end(), ':', '-');
    return folder / how / id;
  };
  int status = kOk;
  const auto wait = [&](const std::vector<pid_t>& children) {
    for (const int ended : wait_for(children, interrupted)) status = worse(status, exit_status_of(ended));
    if (interrupted) status = kInterrupted;
  };
  for (const std::string& id : ids) {
    say(id + " alone");
    wait({spawn(options, id, place("alone", id))});
    if (status == kInterrupted || status == kUsage) return status;
  }
  say(fmt::format("{} at once", fmt::join(ids, ", ")));
  RunOptions quiet = options;
  quiet.arguments.emplace_back("--quiet");
  std::vector<pid_t> children;
  for (const std::string& id : ids) children.push_back(spawn(quiet, id, place("together", id)));
  wait(children);
  std::vector<std::vector<std::string>> rows = {{"device", "rate together / alone, median", "cases"}};
  for (const std::string& id : ids) {
    std::size_t cases = 0;
    const double ratio = median_rate_ratio(place("alone", id), place("together", id), cases);
    rows.push_back({id, cases ? fmt::format("{:.3f}", ratio) : "-", std::to_string(cases)});
  }
  say("\n" + align(rows) + folder.string());
  return status;
}

// How many records a result file of a run that came to its end has; absent where there is none.
std::optional<std::size_t> finished_records(const fs::path& path) {
  std::ifstream file(path);
  const Json result = Json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("finished_utc")) return std::nullopt;
  return result.value("benchmarks", Json::array()).size() + result.value("unmeasured", Json::array()).size();
}

}  // namespace

int run(const RunOptions& options) {
  std::string note;
  const std::vector<std::string> ids = resolve_devices(options.selection.device, note);
  return options.selection.device == "all" ? run_on_all(ids, options) : run_on(ids.front(), options, note);
}

int recover(const std::string& folder) {
  const fs::path journal = fs::path(folder) / "result.jsonl";
  int skipped = 0;
  RunLog log = read_journal(journal, skipped);
  const fs::path result = fs::path(folder) / "result.json";
  Json assembled;
  try {
    assembled = assemble(log);
  } catch (const nlohmann::json::exception& error) {
    throw ReadError(fmt::format("{} holds what no run writes: {}", journal.string(), error.what()));
  } catch (const std::invalid_argument& error) {
    throw ReadError(fmt::format("{} holds what no run writes: {}", journal.string(), error.what()));
  }
  const auto finished = finished_records(result);
  if (finished && (!log.footer || skipped > 0 || log.records.size() < *finished)) {
    throw ReadError(fmt::format("{} is of a run that came to its end, and {} has been damaged since ({}): nothing is replaced",
                                result.string(), journal.string(),
                                skipped       ? fmt::format("{} lines cannot be read", skipped)
                                : !log.footer ? "its last line is missing"
                                              : fmt::format("{} records of {}", log.records.size(), *finished)));
  }
  write_file(result, assembled.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  fmt::print("{}: {} records{}{}\n", result.string(), log.records.size(),
             log.footer ? ", a whole run" : ", of a run that was cut off",
             skipped ? fmt::format("; {} lines could not be read", skipped) : "");
  return kOk;
}

}  // namespace roofmark
