// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "bench/program/standard_output.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/judge/acceptance/profile.hpp"
#include "harness/present/terminal.hpp"
#include "harness/result/journal.hpp"
#include "harness/result/words.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

/// In the order in which they are listed.
template <class Value>
using Words = std::vector<std::pair<std::string, Value>>;

template <class Value>
Words<Value> words_of(std::initializer_list<Value> values) {
  Words<Value> words;
  for (const Value value : values) words.emplace_back(name(value), value);
  return words;
}

const Words<SuiteName> kSuites = [] {
  Words<SuiteName> words;
  for (const Suite& suite : suites()) {
    if (suite.offered) words.emplace_back(suite.name, suite.id);
  }
  return words;
}();
const Words<Cache> kCaches = words_of({Cache::cold, Cache::warm});
const Words<Distribution> kData = words_of({Distribution::normal, Distribution::uniform, Distribution::zeros});

/// An option whose value is one of a few words.
template <class Value, class Target>
CLI::Option* add_word(CLI::App& command, const std::string& flag, Target& target, const Words<Value>& known,
                      const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, value] : known) words.push_back(word);
  CLI::Option* option = command.add_option_function<std::string>(
      flag,
      [flag, &target, &known](const std::string& word) {
        for (const auto& [name, value] : known) {
          if (name != word) continue;
          target = value;
          return;
        }
        std::vector<std::string> names;
        for (const auto& [name, value] : known) names.push_back(name);
        throw CLI::ValidationError(flag, fmt::format("'{}' is not one of {}", word, fmt::join(names, ", ")));
      },
      help);
  return option->type_name(fmt::format("{}", fmt::join(words, "|")));
}

/// CLI11 accepts -1 and 2^64 and reads both as the maximum.
CLI::Validator whole_number(std::uint64_t minimum, std::uint64_t maximum) {
  return {[=](std::string& text) {
            std::uint64_t value = 0;
            const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool fits = error == std::errc() && stop == text.data() + text.size() && value >= minimum && value <= maximum;
            return fits ? std::string() : fmt::format("'{}' is not a whole number from {} to {}", text, minimum, maximum);
          },
          ""};
}

/// A number from `minimum` to `maximum`; CLI::Range lets NaN pass.
CLI::Validator between(double minimum, double maximum) {
  return {[=](std::string& text) {
            double value = 0;
            const bool fits = CLI::detail::lexical_cast(text, value) && value >= minimum && value <= maximum;
            return fits ? std::string() : fmt::format("'{}' is not a number from {} to {}", text, minimum, maximum);
          },
          ""};
}

CLI::Validator not_empty(const char* what) {
  return {[what](std::string& text) { return text.empty() ? fmt::format("'' is not {}", what) : std::string(); }, ""};
}

/// What `text` gives of each suite that is offered; a suite of which it gives nothing is left out.
template <class Text>
std::string of_suites(const char* separator, const Text& text) {
  std::vector<std::string> all;
  for (const auto& [word, id] : kSuites) {
    if (std::string one = text(facts_of(id)); !one.empty()) all.push_back(std::move(one));
  }
  return fmt::format("{}", fmt::join(all, separator));
}

std::string suite_times() {
  return "Suites:\n" + of_suites("", [](const Suite& suite) {
           const std::string time =
               suite.limit ? fmt::format("at most {:g} s ({:g} s on a CPU): ", suite.limit->gpu, suite.limit->cpu) : "";
           return fmt::format("  {:<9}  {}{}{}\n", suite.name, time, suite.total_seconds ? "--seconds of load: " : "",
                              suite.help);
         });
}

/// "smoke 0.05, quick 0.25"
std::string case_seconds() {
  return of_suites(", ", [](const Suite& suite) {
    return suite.total_seconds ? "" : fmt::format("{} {:g}", suite.name, suite.case_seconds);
  });
}

/// "120; smoke: 20 on a GPU, 10 on a CPU, once the device is open"
std::string timeouts() {
  return fmt::format("{:g}", kTimeoutSeconds) + of_suites("", [](const Suite& suite) {
           const auto& limit = suite.limit;
           return limit ? fmt::format("; {}: {:g} on a GPU, {:g} on a CPU, once the device is open", suite.name, limit->gpu,
                                      limit->cpu)
                        : "";
         });
}

/// "sustained": the suites that take --seconds.
std::string suites_with_a_duration() {
  return of_suites(", ", [](const Suite& suite) { return std::string(suite.total_seconds ? suite.name : ""); });
}

}  // namespace

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description, const std::string& footer) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer(footer);
  return command;
}

void add_selection(CLI::App& command, Selection& selection, const Devices& devices) {
  command.add_option("--device", selection.device, devices.help)->type_name(devices.value)->default_str(selection.device);
  add_word(command, "--suite", selection.suite, kSuites, "the set of cases and their timing budget")->default_str("baseline");
  command
      .add_option(
          "--case", selection.cases,
          "measure this case, in any size, instead of the suite's cases, and the ceilings that it needs; with the suite "
          "sustained, as a sustained load; repeatable (see Cases); @FILE: names from a file, one per line")
      ->type_name("NAME|@FILE")
      ->allow_extra_args(false);
  command
      .add_option("--filter", selection.filter,
                  "select only cases whose name matches this regular expression, and the ceilings that they need (`list` shows "
                  "the names)")
      ->type_name("EXPRESSION");
  command.add_option("--exclude", selection.exclude, "skip cases whose name matches this regular expression")
      ->type_name("EXPRESSION");
  add_word(command, "--cache", selection.cache, kCaches, "cold or warm caches, for cases that support both")
      ->default_str("each case's default");
  command
      .add_option("--memory-fraction", selection.memory_fraction,
                  "largest share of free memory that one case may use, 0.001 to 0.95")
      ->type_name("SHARE")
      ->check(between(0.001, 0.95))
      ->default_str("0.9");
}

void add_run_options(CLI::App& command, RunOptions& options, std::vector<std::string>& labels) {
  add_folder(command, "--out", options.out, "folder for result.json and result.jsonl")
      ->default_str("roofmark-results/<UTC time>");
  add_word(command, "--data", options.data, kData, "distribution of the operands")->default_str("normal");
  command.add_option("--seed", options.seed, "seed of the operands")
      ->type_name("NUMBER")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->default_str("1");
  command
      .add_option("--max-seconds", options.max_seconds,
                  fmt::format("timing budget per case, in seconds, 0.001 to {:g}", kMostCaseSeconds))
      ->type_name("SECONDS")
      ->check(between(0.001, kMostCaseSeconds))
      ->default_str(case_seconds());
  command
      .add_option("--seconds", options.selection.seconds,
                  fmt::format("total duration of the suite {}, 1 to {:.0f}; filling and checking the memory takes extra time",
                              suites_with_a_duration(), kMostTotalSeconds))
      ->type_name("SECONDS")
      ->check(between(1, kMostTotalSeconds))
      ->default_str(of_suites(
          ", ", [](const Suite& suite) { return suite.total_seconds ? fmt::format("{:g}", *suite.total_seconds) : ""; }));
  command.add_option("--timeout", options.timeout, "give up after this many seconds without progress, 1 to 86400")
      ->type_name("SECONDS")
      ->check(between(1, 86400))
      ->default_str(timeouts());
  command.add_option("--label", labels, "copied to the result file; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--no-telemetry", options.no_telemetry,
                   "do not sample clocks, power, temperatures and error counters during the run");
  command.add_flag("--quiet", options.quiet, "print only errors and the path of the result file");
}

void add_expected(CLI::App& command, const std::string& flag, std::optional<int>& count, const std::string& help) {
  command.add_option(flag, count, help)->type_name("NUMBER")->check(whole_number(1, 1 << 30));
}

CLI::Option* add_folder(CLI::App& command, const std::string& flag, std::string& folder, const std::string& help) {
  return command.add_option(flag, folder, help)->type_name("FOLDER")->check(not_empty("a folder"));
}

CLI::Option* add_file(CLI::App& command, const std::string& flag, std::string& file, const std::string& help) {
  return command.add_option(flag, file, help)->type_name("FILE")->check(not_empty("a file"));
}

void add_age(CLI::App& command, const std::string& flag, std::optional<double>& seconds, const std::string& help) {
  command
      .add_option_function<std::string>(
          flag,
          [flag, &seconds](const std::string& text) {
            static const std::map<std::string, double> units = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
            double number = 0;
            const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            const auto unit = units.find({stop, text.data() + text.size()});
            if (error != std::errc() || unit == units.end() || !(number >= 0 && number <= 1e9)) {
              throw CLI::ValidationError(flag, fmt::format("'{}' is not an age such as 90s, 15m, 12h or 7d", text));
            }
            seconds = number * unit->second;
          },
          help)
      ->type_name("AGE");
}

std::string run_footer(const std::string& examples) {
  return fmt::format("{}{}{}{}{}", examples, kCasesHelp, suite_times(), kBenchmarkHelp, kExitStatusHelp);
}

void take_labels(const std::vector<std::string>& labels, RunOptions& options) {
  for (const std::string& label : labels) {
    const auto equals = label.find('=');
    if (equals == std::string::npos || equals == 0) throw UsageError("--label '" + label + "' is not key=value");
    options.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
}

void check_selection(const Selection& selection, std::optional<double> max_seconds) {
  if (!selection.cases.empty() && !(selection.filter.empty() && selection.exclude.empty())) {
    throw UsageError("--case chooses cases by name; --filter and --exclude choose among the cases of a suite");
  }
  if (max_seconds && facts_of(selection.suite).total_seconds) {
    throw UsageError(fmt::format("--max-seconds is the budget of a case; the suite {} takes --seconds", name(selection.suite)));
  }
  if (selection.seconds && !facts_of(selection.suite).total_seconds) {
    throw UsageError(fmt::format("--seconds is for --suite {}; the suite {} takes --max-seconds", suites_with_a_duration(),
                                 name(selection.suite)));
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
          fmt::format("roofmark does not support --benchmark_{}; supported Google Benchmark flags: filter, list_tests, format, "
                      "out, out_format, color",
                      key));
    }
  }
  words = std::move(rest);
  return list_tests;
}

int guarded_main(const std::function<int()>& command, const std::function<std::string(const std::exception&)>& speaker,
                 const std::string& help) {
  const auto fail = [&](const std::exception& error, int status, const std::string& more = "") {
    if (const std::string who = speaker(error); !who.empty()) say(who, error.what() + more);
    return status;
  };
  const std::string see = fmt::format("; see `{}`", help);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reaches the limit on its size is then as a full disk
  try {
    const int status = command();
    if (print_out("") || status != kOk) return status;
    throw NotPrinted();
  } catch (const UsageError& error) {
    return fail(error, kUsage, see);
  } catch (const std::invalid_argument& error) {
    return fail(error, kUsage, see);
  } catch (const ReadError& error) {
    return fail(error, kUsage);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(ReadError(fmt::format("cannot read {}: {}", error.path1().string(), error.code().message())), kUsage);
  } catch (const std::bad_alloc&) {
    return fail(std::runtime_error("out of memory"), kNotMeasured);
  } catch (const ProfileError& error) {
    return fail(error, kUsage);
  } catch (const std::exception& error) {
    // As fmt says it of a stream.
    if (std::string_view(error.what()).starts_with("cannot write to file")) {
      return fail(NotPrinted(), kNotMeasured);
    }
    return fail(error, kNotMeasured);
  }
}

}  // namespace roofmark
