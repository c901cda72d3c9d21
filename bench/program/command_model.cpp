// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/command_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace roofmark {

std::vector<Section> sections_of(const CLI::App& command) {
  std::vector<Section> sections;
  std::istringstream footer(command.get_footer());
  for (std::string line; std::getline(footer, line);) {
    if (line.empty()) continue;
    if (line.front() != ' ') {
      sections.push_back({line.substr(0, line.size() - 1), {}});
    } else {
      sections.back().lines.push_back(line.substr(2));
    }
  }
  return sections;
}

std::string path_of(const CLI::App& command) {
  return (command.get_parent() ? path_of(*command.get_parent()) + " " : "") + command.get_name();
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string usage_of(const CLI::App& command) {
  std::string usage = path_of(command);
  if (!commands_of(command).empty()) return usage + " COMMAND";
  for (const CLI::Option* option : positionals_of(command)) {
    usage += fmt::format(" {}{}", option->get_name(true, false), is_repeatable(*option) ? "..." : "");
  }
  for (const CLI::Option* option : flags_of(command)) {
    if (option->get_required()) usage += fmt::format(" {} {}", option->get_name(), in_capitals(option->get_lnames().front()));
  }
  return usage + " [flags]";
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) { return command.get_subcommands({}); }

const CLI::App* command_of(const CLI::App& command, const std::string& name) {
  for (const CLI::App* one : commands_of(command)) {
    if (one->get_name() == name) return one;
  }
  return nullptr;
}

const CLI::App& last_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* last = &app;
  for (const std::string& word : words) {
    const CLI::App* next = command_of(*last, word);
    if (!next) break;
    last = next;
  }
  return *last;
}

std::vector<const CLI::Option*> flags_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool is_repeatable(const CLI::Option& option) {
  return option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::vector<std::string> choices;
  std::istringstream value(option.get_type_name());
  for (std::string word; std::getline(value, word, '|');) {
    const bool stands_for_more = std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); });
    if (!stands_for_more) choices.push_back(word);
  }
  return choices;
}

std::string text_of(const CLI::Option& option) {
  const std::string value = option.get_default_str();
  return option.get_description() + (value.empty() ? "" : fmt::format(" [{}]", value));
}

}  // namespace roofmark
