// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/options.hpp"

namespace roofmark {

/// The footer is made of sections, and is the command's own.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description, const std::string& footer = "");

/// What --device takes: the choices, and what they mean.
struct Devices {
  const char *value, *help;
};
/// --device, --suite, --filter, --exclude, --cache, --memory-fraction.
void add_selection(CLI::App& command, Selection& selection, const Devices& devices);
/// What `run` takes beside its selection; `labels` are for take_labels().
void add_run_options(CLI::App& command, RunOptions& options, std::vector<std::string>& labels);
// One option each.
void add_expected(CLI::App& command, const std::string& flag, std::optional<int>& count, const std::string& help);
CLI::Option* add_folder(CLI::App& command, const std::string& flag, std::string& folder, const std::string& help);
CLI::Option* add_file(CLI::App& command, const std::string& flag, std::string& file, const std::string& help);
void add_age(CLI::App& command, const std::string& flag, std::optional<double>& seconds, const std::string& help);
/// What --case takes.
inline constexpr const char* kCasesHelp =
    "Cases:\n"
    "  gemm/bf16/m:4096/n:1/k:512  a name as `list` shows it; keys other than sizes\n"
    "                              may be left out\n"
    "  bytes:8..1G*2               8, 16, 32, ... 1G; K, M, G, T: powers of 1024\n"
    "  m:64..512+64                64, 128, 192, ... 512\n"
    "  m=n=k:1000,3000             both sizes, each for m, n and k\n"
    "  algo:tuned,default          both, and the first compared with the second\n";
inline constexpr const char* kCollectiveCasesHelp =
    "Cases:\n"
    "  all_reduce/fp32/bytes:1M    a name as `list` shows it; keys other than sizes\n"
    "                              may be left out\n"
    "  bytes:8..4G*2               8, 16, 32, ... 4G; K, M, G, T: powers of 1024\n"
    "  root:0..7+1                 0, 1, 2, ... 7\n"
    "  group:div_4, group:mod_4    groups of 4 consecutive ranks; 4 groups of every\n"
    "                              fourth rank\n"
    "  place:in, op:max            in place; by maximum (sum, max, avg, min, prod)\n"
    "  imbalance:2                 all_to_all: rank `root` gets twice the average\n";
inline constexpr const char* kBenchmarkHelp =
    "Google Benchmark's flags, as in --benchmark_format=json:\n"
    "  filter           as --filter\n"
    "  list_tests       as the command list\n"
    "  format           print console, json or csv instead of tables\n"
    "  out, out_format  write a file too: its name, and its format [json]\n"
    "  color            auto, yes or no\n";
/// Examples, cases by name, the suites and their times, the exit statuses.
std::string run_footer(const std::string& examples);

void take_labels(const std::vector<std::string>& labels, RunOptions& options);
/// Throws UsageError for a duration of a suite that has none, a budget per case of one that has a duration, and for cases by
/// name beside a filter.
void check_selection(const Selection& selection, std::optional<double> max_seconds);

/// Google Benchmark's flags that have a meaning here are taken out of `words`; any other is refused with the name of ours.
/// Gives true for --benchmark_list_tests.
bool take_benchmark_flags(std::vector<std::string>& words, RunOptions& options);

/// Runs a program's command and returns its exit status: 2 for a usage error, 3 if something could not be measured or written.
/// Prints the error on stderr with the prefix that `speaker` returns; prints nothing if it is "". A usage error ends with the
/// help command.
int guarded_main(const std::function<int()>& command, const std::function<std::string(const std::exception&)>& speaker,
                 const std::string& help);

}  // namespace roofmark
