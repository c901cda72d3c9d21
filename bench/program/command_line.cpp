// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <map>

#include "bench/support/listing.hpp"
#include "harness/judge/acceptance/profile.hpp"
#include "harness/machine/host.hpp"
#include "harness/result/journal.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

const std::map<std::string, SuiteName> kSuites = {{"smoke", SuiteName::smoke},
                                                  {"quick", SuiteName::quick},
                                                  {"baseline", SuiteName::baseline},
                                                  {"full", SuiteName::full},
                                                  {"sustained", SuiteName::sustained}};
const std::map<std::string, Cache> kCaches = {{"cold", Cache::cold}, {"warm", Cache::warm}};
const std::map<std::string, Distribution> kData = {
    {"normal", Distribution::normal}, {"uniform", Distribution::uniform}, {"zeros", Distribution::zeros}};

/// An option whose value is one of a few words.
template <class Value, class Target>
CLI::Option* add_word(CLI::App& command, const std::string& flag, Target& target, const std::map<std::string, Value>& known,
                      const std::string& help) {
  return command.add_option_function<std::string>(
      flag,
      [flag, &target, &known](const std::string& word) {
        const auto found = known.find(word);
        if (found == known.end()) {
          std::vector<std::string> words;
          for (const auto& entry : known) words.push_back(entry.first);
          throw CLI::ValidationError(flag, fmt::format("'{}' is not one of {}", word, fmt::join(words, ", ")));
        }
        target = found->second;
      },
      help);
}

/// CLI11 accepts -1 and 2^64 and reads both as the maximum.
CLI::Validator whole_number() {
  return {[](std::string& text) {
            std::uint64_t value = 0;
            const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool fits = error == std::errc() && stop == text.data() + text.size();
            return fits ? std::string() : fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", text);
          },
          ""};
}

}  // namespace

CLI::Validator between(double minimum, double maximum) {
  return {[=](std::string& text) {
            double value = 0;
            const bool fits = CLI::detail::lexical_cast(text, value) && value >= minimum && value <= maximum;
            return fits ? std::string() : fmt::format("'{}' is not a number from {} to {}", text, minimum, maximum);
          },
          fmt::format("{} to {}", minimum, maximum)};
}

void add_selection(CLI::App& command, Selection& selection, const std::string& devices) {
  command.add_option("--device", selection.device, devices)->capture_default_str();
  add_word(command, "--suite", selection.suite, kSuites,
           "smoke (at most 20 s), quick, baseline, full, or sustained (a load that lasts)")
      ->default_str("baseline");
  command.add_option("--filter", selection.filter,
                     "take only cases whose names match this regular expression (`list` shows the names)");
  add_word(command, "--cache", selection.cache, kCaches,
           "cold or warm caches, for cases that offer both [default of the case]");
  command.add_option("--memory-fraction", selection.memory_fraction, "largest share of free memory that one case may use")
      ->check(between(0, 0.95))
      ->capture_default_str();
}

void add_run_options(CLI::App& command, RunOptions& options, std::vector<std::string>& labels) {
  command.add_option("--out", options.out, "folder for result.json and result.jsonl [roofmark-results/<UTC time>]");
  add_word(command, "--data", options.data, kData, "distribution of the operands: normal, uniform or zeros")
      ->default_str("normal");
  command.add_option("--seed", options.seed, "seed of the operands")->check(whole_number())->capture_default_str();
  command
      .add_option("--max-seconds", options.max_seconds,
                  "timing budget per case, in seconds [smoke 0.05, quick 0.25, baseline 1, full 2]")
      ->check(between(0.001, 3600));
  command.add_option("--seconds", options.selection.seconds, "duration of the suite sustained, divided among its cases [300]")
      ->check(between(1, 7 * 86400));
  command.add_option("--timeout", options.timeout, "give up after this many seconds without progress")
      ->check(between(1, 86400))
      ->capture_default_str();
  command.add_option("--label", labels, "key=value, copied to the result file; repeatable")->allow_extra_args(false);
  command.add_flag("--quiet", options.quiet, "print errors only");
}

void take_labels(const std::vector<std::string>& labels, RunOptions& options) {
  for (const std::string& label : labels) {
    const auto equals = label.find('=');
    if (equals == std::string::npos || equals == 0) throw UsageError("--label '" + label + "' is not key=value");
    options.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
}

void check_duration(const Selection& selection) {
  if (selection.seconds && selection.suite != SuiteName::sustained) {
    throw UsageError(
        fmt::format("--seconds is for --suite sustained; the suite {} takes --max-seconds", name(selection.suite)));
  }
}

bool take_benchmark_flags(std::vector<std::string>& words, RunOptions& options) {
  bool list_tests = false;
  std::vector<std::string> rest;
  for (const std::string& word : words) {
    const std::string prefix = "--benchmark_";
    if (word.rfind(prefix, 0) != 0) {
      rest.push_back(word);
      continue;
    }
    const auto equals = word.find('=');
    const std::string key = word.substr(prefix.size(), equals == std::string::npos ? equals : equals - prefix.size());
    const std::string value = equals == std::string::npos ? "true" : word.substr(equals + 1);
    const auto expect = [&](const std::vector<std::string>& known) {
      if (std::find(known.begin(), known.end(), value) == known.end()) {
        throw UsageError(fmt::format("--benchmark_{}: '{}' is not one of {}", key, value, fmt::join(known, ", ")));
      }
    };
    if (key == "filter") {
      options.selection.filter = value;
    } else if (key == "list_tests") {
      expect({"true", "false"});
      list_tests = value == "true";
    } else if (key == "format") {
      expect({"console", "json", "csv"});
      options.format = value;
    } else if (key == "out") {
      options.out_file = value;
    } else if (key == "out_format") {
      expect({"console", "json", "csv"});
      options.out_format = value;
    } else if (key == "color") {
      expect({"auto", "yes", "no", "true", "false"});
      options.color = value == "auto" ? "" : value == "yes" || value == "true" ? "yes" : "no";
    } else {
      throw UsageError(
          fmt::format("--benchmark_{} does not fit how roofmark measures; of Google Benchmark's flags it takes filter, "
                      "list_tests, format, out, "
                      "out_format and color",
                      key));
    }
  }
  words = rest;
  return list_tests;
}

std::string version_text(const std::string& program) {
  const Json build = describe_build();
  return fmt::format("{} {} ({}{})", program, build.at("version").get<std::string>(), build.at("commit").get<std::string>(),
                     build.at("dirty") ? ", modified" : "");
}

bool parse(CLI::App& app, std::vector<std::string> words, bool speak) {
  if (!words.empty() && !words.front().empty() && words.front().front() != '-') {
    std::vector<std::string> known;
    for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
    if (std::find(known.begin(), known.end(), words.front()) == known.end()) {
      throw UsageError(fmt::format("'{}' is not one of {}", words.front(), fmt::join(known, ", ")));
    }
  }
  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(error.what());
    if (speak) app.exit(error);
    return true;
  }
  return false;
}

int guarded_main(const std::function<int()>& command, const std::function<std::string(const std::exception&)>& speaker) {
  const auto fail = [&](const std::exception& error, int status) {
    if (const std::string who = speaker(error); !who.empty()) fmt::print(stderr, "{}: {}\n", who, error.what());
    return status;
  };
  try {
    return command();
  } catch (const UsageError& error) {
    return fail(error, kUsage);
  } catch (const std::invalid_argument& error) {
    return fail(error, kUsage);
  } catch (const ReadError& error) {
    return fail(error, kUsage);
  } catch (const ProfileError& error) {
    return fail(error, kUsage);
  } catch (const std::exception& error) {
    return fail(error, kNotMeasured);
  }
}

}  // namespace roofmark
