// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace roofmark {

// What CLI11 knows of a program, as its errors, --help, the manual page and the shell completion need it. An option's type name
// names its value: NUMBER, or the choices, as in cpu|cuda:N. A footer is made of sections.

/// "Examples:" and the lines below it.
struct Section {
  std::string title;
  std::vector<std::string> lines;
};
std::vector<Section> sections_of(const CLI::App& command);

/// "roofmark profile check"
std::string path_of(const CLI::App& command);
/// "roofmark accept RESULT... --profile PROFILE [flags]"
std::string usage_of(const CLI::App& command);

std::string in_capitals(std::string text);

std::vector<const CLI::App*> commands_of(const CLI::App& command);
/// Null if there is none with this name.
const CLI::App* command_of(const CLI::App& command, const std::string& name);
/// The last command among the words.
const CLI::App& last_command(const CLI::App& app, const std::vector<std::string>& words);

std::vector<const CLI::Option*> flags_of(const CLI::App& command);
std::vector<const CLI::Option*> positionals_of(const CLI::App& command);

bool takes_value(const CLI::Option& option);
bool is_repeatable(const CLI::Option& option);
/// The words among the choices of an option's value; not those that stand for more, as in cuda:N.
std::vector<std::string> choices_of(const CLI::Option& option);
/// Its description and its default.
std::string text_of(const CLI::Option& option);

}  // namespace roofmark
