// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "bench/program/session.hpp"
#include "harness/machine/children.hpp"
#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"
#include "harness/team/solo_watch.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

/// `note`, if any, is said once nothing about the arguments can be wrong any more.
int run_on(const std::string& id, const RunOptions& options, const std::string& note) {
  const auto device = open_device(id);
  const Plan cases = plan(device->info(), options.selection);
  const fs::path folder = make_folder(options.out);
  if (!options.out_file.empty()) check_writable(options.out_file);
  if (!note.empty()) fmt::print(stderr, "roofmark: {}\n", note);
  Session session(device->info(), options, folder, cases, origin_of(device->info()));

  SoloTeam team(&interrupted());
  Runner runner(*device, team, settings_of(options));

  TerminalStyle style = terminal_style(stdout);
  if (!options.color.empty()) style.colour = options.color == "yes";
  Progress progress(terminal_style(stderr), options.quiet || !options.format.empty(), count_cases(cases));
  SoloWatch watch(options.timeout, [&](const Standstill& standstill) {
    int status = kNotMeasured;
    try {
      fmt::print(stderr, "\nroofmark: {}: {}\n", session.under_way(), standstill.reason);
      status = session.abandon(standstill.reason);
    } catch (const std::exception& error) {
      fmt::print(stderr, "roofmark: {}\n", error.what());
    }
    std::_Exit(status);  // the measuring thread is stuck inside a driver and cannot be joined
  });
  take_signals();
  const bool complete = measure(runner, cases,
                                {[&](const std::string& case_name, std::string_view stage) {
                                   session.doing(case_name, runner.wall_time());
                                   watch.doing(std::string(stage));
                                   progress.show(case_name, stage);
                                 },
                                 [&](const Group& group, const std::vector<Record>& records, int pass) {
                                   watch.rest();
                                   session.add(records, group.comparisons, pass);
                                   for (const Record& record : records) progress.done(record);
                                 }});
  watch.rest();
  progress.clear();
  const int status = session.finish(complete, runner.wall_time());
  session.present(options, style);
  session.write_google_benchmark_file(options);
  return interrupted() ? kInterrupted : status;
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
  take_signals();
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
    for (const int ended : wait_for(children, interrupted())) status = worse(status, exit_status_of(ended));
    if (interrupted()) status = kInterrupted;
  };
  for (const std::string& id : ids) {
    say(id + " alone");
    wait({spawn(options, id, place("alone", id))});
    if (status == kInterrupted || status == kUsage) return status;
  }
  say(fmt::format("{} at once", fmt::join(ids, ", ")));
  RunOptions quiet = options;
  quiet.arguments.emplace_back("--quiet");
  quiet.arguments.emplace_back("--only-device");  // what uses the others would disturb them, and they it
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
