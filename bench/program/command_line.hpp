// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "bench/program/commands.hpp"

namespace roofmark {

/// A number from `least` to `most`; CLI::Range lets NaN pass.
CLI::Validator between(double minimum, double maximum);

/// --device, --suite, --filter, --cache, --memory-fraction.
void add_selection(CLI::App& command, Selection& selection, const std::string& devices);
/// What `run` takes beside its selection; `labels` are for take_labels().
void add_run_options(CLI::App& command, RunOptions& options, std::vector<std::string>& labels);
void take_labels(const std::vector<std::string>& labels, RunOptions& options);
/// Throws UsageError for a duration of a suite that has none.
void check_duration(const Selection& selection);

/// Google Benchmark's flags that have a meaning here are taken out of `words`; any other is refused with the name of ours.
/// Gives true for --benchmark_list_tests.
bool take_benchmark_flags(std::vector<std::string>& words, RunOptions& options);

/// "roofmark 0.1.0 (commit)"
std::string version_text(const std::string& program);

/// Throws UsageError for what CLI11 does not understand, and for a first word that is no subcommand. True when --help or
/// --version was answered, which goes to stdout where `speak`.
bool parse(CLI::App& app, std::vector<std::string> words, bool speak = true);

/// Runs a program's command and gives its exit status: 2 for a usage error, 3 for what could not be measured or written, said
/// on stderr by whom `speaker` names; by nobody where it gives "".
int guarded_main(const std::function<int()>& command, const std::function<std::string(const std::exception&)>& speaker);

}  // namespace roofmark
