// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "bench/program/commands.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/machine/host.hpp"
#include "harness/model/printable.hpp"
#include "harness/present/acceptance.hpp"
#include "harness/present/cells.hpp"
#include "harness/present/terminal.hpp"
#include "harness/result/acceptance_file.hpp"
#include "harness/result/journal.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

struct FoundResults {
  std::vector<fs::path> whole;
  /// Those of single devices, each with a result in `whole` that may be merged from them.
  std::vector<std::pair<fs::path, fs::path>> parts;
};

/// The result files that the arguments name, in the order of their names.
FoundResults found_results(const std::vector<std::string>& arguments) {
  FoundResults all;
  std::error_code unknown;
  for (const std::string& argument : arguments) {
    if (!fs::exists(argument)) throw ReadError(fmt::format("no file or folder {}", argument));
    if (!fs::is_directory(argument)) {
      all.whole.emplace_back(argument);
      continue;
    }
    std::set<fs::path> found;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argument)) {
      if (entry.is_symlink() && entry.is_directory(unknown)) {
        say("roofmark", fmt::format("left out: {} is a link to a folder; results in it count if it is given as well",
                                    entry.path().string()));
      }
      if (entry.path().filename() == "result.json") found.insert(entry.path());
      if (entry.path().filename() == "result.jsonl" && !fs::exists(fs::path(entry.path()).replace_extension(".json"))) {
        throw ReadError(
            fmt::format("{0} holds the journal of a run without its result: `roofmark recover {0}` rebuilds that; what "
                        "is no part of the delivery belongs elsewhere",
                        entry.path().parent_path().string()));
      }
    }
    if (found.empty()) throw ReadError(fmt::format("{} holds no result.json", argument));
    for (const fs::path& path : found) {
      const fs::path folder = path.parent_path().parent_path(), merged = folder.parent_path() / "result.json";
      if (folder.filename() == kTogether && found.contains(merged)) {
        all.parts.emplace_back(path, merged);
      } else {
        all.whole.push_back(path);
      }
    }
  }
  return all;
}

/// Refuses a file to write that would replace one that is read, or the other one.
void check_outputs(const AcceptOptions& options, const FoundResults& results) {
  std::set<fs::path> named{real_path(options.profile)};
  for (const fs::path& result : results.whole) named.insert(real_path(result));
  for (const auto& [part, merged] : results.parts) named.insert(real_path(part));
  for (const auto& [flag, output] : {std::pair("--junit", options.junit), std::pair("--json", options.json)}) {
    if (!output.empty() && !named.insert(real_path(output)).second) {
      throw UsageError(fmt::format("{} {} would replace another file of this command", flag, output));
    }
  }
}

constexpr double kAheadSeconds = 86400;  // clocks differ
/// Of more, the terminal names none that passes.
constexpr std::size_t kFewResults = 4;

struct Delivery {
  std::vector<ResultFile> files;
  std::vector<Evidence> evidence;  ///< of each file
};

Delivery read_all(const std::vector<fs::path>& paths) {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  Delivery delivery{std::vector<ResultFile>(paths.size()), std::vector<Evidence>(paths.size())};
  std::vector<std::exception_ptr> thrown(paths.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < paths.size(); ++i) {
    try {
      delivery.files[i] = read_result(paths[i]);
      delivery.evidence[i] = take_evidence(delivery.files[i], now);
      if (delivery.evidence[i].age_seconds.value_or(0) < -kAheadSeconds) {
        throw ReadError(fmt::format("{} was finished in the future: check the clock of its host", paths[i].string()));
      }
    } catch (const nlohmann::json::exception& error) {
      thrown[i] = std::make_exception_ptr(ReadError(fmt::format("{} is damaged: {}", paths[i].string(), error.what())));
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  }
  for (const std::exception_ptr& error : thrown) {
    if (error) std::rethrow_exception(error);
  }
  return delivery;
}

/// Whether a run has a rank for the device that this result is of: it is merged from it.
bool replaces(const Evidence& run, const fs::path& part) {
  const std::string place = part.parent_path().filename().string();  // "cuda-0"
  return run.together && std::any_of(run.devices.begin(), run.devices.end(), [&](const DeliveredDevice& device) {
           std::string id = device.id.substr(0, device.id.find(','));
           std::replace(id.begin(), id.end(), ':', '-');
           return id == place;
         });
}

/// All but the parts of merged results, so no measurement counts twice.
Delivery read_all(const FoundResults& results) {
  Delivery delivery = read_all(results.whole);
  std::vector<fs::path> others;
  for (const auto& [part, merged] : results.parts) {
    const auto place = std::find(results.whole.begin(), results.whole.end(), merged) - results.whole.begin();
    if (!replaces(delivery.evidence.at(static_cast<std::size_t>(place)), part)) others.push_back(part);
  }
  Delivery more = read_all(others);
  std::move(more.files.begin(), more.files.end(), std::back_inserter(delivery.files));
  std::move(more.evidence.begin(), more.evidence.end(), std::back_inserter(delivery.evidence));
  return delivery;
}

/// What no verdict can be drawn from: the same run twice, two runs of one device, none of the profile's devices.
void check_fit(const Profile& profile, const std::vector<Evidence>& evidence) {
  std::map<std::tuple<std::pair<std::string, std::string>, std::string, bool>, const Evidence*> runs;
  std::set<std::string> others;
  bool any = false;
  const DeviceSearch is_for(profile);
  for (const Evidence& run : evidence) {
    for (const DeliveredDevice& device : run.devices) {
      const auto [found, first] = runs.try_emplace({device.key(), run.suite, run.together}, &run);
      if (!first && found->second != &run) {
        throw UsageError(fmt::format("{} and {} both hold the suite {} on {}: give only one of them", found->second->file,
                                     run.file, run.suite, device.label()));
      }
      const bool matches = is_for(device.name);
      any |= matches;
      if (!matches) others.insert(device.name);
    }
  }
  if (!any) {
    throw UsageError(fmt::format("the profile {} is for {}, the results are from {}: use another profile (shipped: {})",
                                 profile.name, profile.devices_in_words(), fmt::join(others, ", "),
                                 fmt::join(shipped_profiles(), ", ")));
  }
}

}  // namespace

int accept(const AcceptOptions& options) {
  const Profile profile = read_profile(options.profile);
  const FoundResults results = found_results(options.results);
  check_outputs(options, results);
  const auto [files, evidence] = read_all(results);
  check_fit(profile, evidence);
  const AcceptanceTerms terms{options.expected_gpus, options.max_age_seconds};
  const Judgement judgement = judge(profile, evidence, terms);
  const TerminalStyle style = terminal_style(stdout);
  const auto say = [&](const std::string& text) {
    fmt::print("{}\n", wrapped(text, static_cast<std::size_t>(style.columns), 2));
  };
  say(fmt::format("Profile {}: {}", profile.name, profile.title));
  std::map<std::string, int> not_held;
  for (const ResultFile& file : files) {
    const std::string lacks = fmt::format("{}", fmt::join(file.not_held, ", "));
    if (files.size() <= kFewResults) {
      say(fmt::format("{}  {}{}", file.sha256, printable(file.path.string()),
                      lacks.empty() ? "" : fmt::format("  ({})", lacks)));
    } else if (!lacks.empty()) {
      ++not_held[lacks];
    }
  }
  if (files.size() > kFewResults) say(fmt::format("{} results; --json FILE keeps the name and SHA-256 of each", files.size()));
  for (const auto& [lacks, count] : not_held) say(fmt::format("{} of them: {}", count, lacks));
  fmt::print("\n{}", acceptance_text(judgement, style));
  if (!options.junit.empty()) write_named_file(options.junit, to_junit(judgement, profile));
  if (!options.json.empty()) {
    write_named_file(
        options.json,
        to_json(judgement, profile, terms, files, utc_now()).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  return judgement.accepted() ? kOk : kWrong;
}

}  // namespace roofmark
