// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "bench/program/flow.hpp"
#include "bench/program/interrupt.hpp"
#include "harness/machine/children.hpp"
#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"
#include "harness/team/solo_watch.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

int run_on(const std::string& id, const RunOptions& options, const std::string& note) {
  const auto device = open_device(id);
  const auto fabric = fabric_of(device->info(), options.selection);
  SoloTeam team(&interrupted());
  SharedSession session;
  SoloWatch watch(options.timeout, [&](const Standstill& standstill) {
    int status = kNotMeasured;
    try {
      fmt::print(stderr, "\nroofmark: {}\n", standstill.reason);
      status = session.abandon(standstill.reason);
    } catch (const std::exception& error) {
      fmt::print(stderr, "roofmark: {}\n", error.what());
    }
    std::_Exit(status);  // the measuring thread is stuck inside a driver and cannot be joined
  });
  TerminalStyle style = terminal_style(stdout);
  if (!options.color.empty()) style.colour = options.color == "yes";
  return run_plan(options,
                  {"roofmark", *device, team, watch, plan(device->info(), options.selection, fabric.get()),
                   origin_of(device->info(), fabric.get()), note, style},
                  session);
}

/// Starts this program on one device, with a folder of its own.
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

// A child's exit status from its wait status. A signal may end it before it can complete a file.
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

// Each device alone, then all at once: shows what they lose to shared power, cooling and host.
int run_on_all(const std::vector<std::string>& ids, const RunOptions& options) {
  const fs::path folder = make_folder(options.out);
  // The children complete their files; this process waits for them.
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
  quiet.arguments.emplace_back("--only-device");  // cases that use other GPUs would disturb them
  std::vector<pid_t> children;
  for (const std::string& id : ids) children.push_back(spawn(quiet, id, place("together", id)));
  wait(children);
  std::vector<std::vector<std::string>> rows = {{"device", "median rate, together / alone", "cases"}};
  for (const std::string& id : ids) {
    std::size_t cases = 0;
    const double ratio = median_rate_ratio(place("alone", id), place("together", id), cases);
    rows.push_back({id, cases ? fmt::format("{:.3f}", ratio) : "-", std::to_string(cases)});
  }
  say("\n" + align(rows) + folder.string());
  return status;
}

}  // namespace

int run(const RunOptions& options) {
  std::string note;
  const std::vector<std::string> ids = resolve_devices(options.selection.device, note);
  return options.selection.device == "all" ? run_on_all(ids, options) : run_on(ids.front(), options, note);
}

}  // namespace roofmark
