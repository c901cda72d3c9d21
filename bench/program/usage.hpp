// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace roofmark {

/// A program before its commands and flags are added: --help and --version, and the sections that every footer ends with.
void set_up(CLI::App& app);

/// Throws UsageError for what does not fit the commands and flags, and for a value that is wrong. True when --help or --version
/// was answered, which goes to stdout where `speak`.
bool parse(CLI::App& app, const std::vector<std::string>& words, bool speak = true);

/// The words `man` and `completion bash` print what is made from the commands and flags. False for other words;
/// throws UsageError for the completion in another shell.
bool print_documentation(const CLI::App& app, const std::vector<std::string>& words);

/// "roofmark run --help", for what was called.
std::string help_command(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace roofmark
