// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/documentation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "bench/program/command_model.hpp"
#include "harness/present/cells.hpp"

namespace roofmark {

namespace {

constexpr std::size_t kColumns = 80, kTextColumn = 26;

/// "--profile a|b|...|" on one line and "c|d" on the next, so that none has more than kColumns.
std::string in_lines_of_choices(std::string heading) {
  constexpr std::size_t kLeft = 2, kIndent = 6;
  for (std::size_t begin = 0, indent = kLeft; indent + heading.size() - begin > kColumns; indent = kIndent) {
    const std::size_t bar = heading.rfind('|', begin + kColumns - indent - 1);
    if (bar == std::string::npos || bar < begin) break;
    heading.insert(bar + 1, "\n" + std::string(kIndent, ' '));
    begin = bar + 2 + kIndent;
  }
  return heading;
}

std::string row(const std::string& name, const std::string& text) {
  const std::string indent(kTextColumn, ' ');
  if (2 + name.size() + 2 > kTextColumn) {
    return fmt::format("  {}\n{}\n", in_lines_of_choices(name), wrapped(indent + text, kColumns, kTextColumn));
  }
  return wrapped(fmt::format("  {:<{}}{}", name, kTextColumn - 2, text), kColumns, kTextColumn) + "\n";
}

/// "-h, --help", "--suite quick|full", "RESULT..."
std::string heading_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true, false) + (is_repeatable(option) ? "..." : "");
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  return takes_value(option) ? names + " " + option.get_type_name() : names;
}

std::string escaped(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    switch (c) {
      case '\\':
        roff += "\\e";
        break;
      case '-':
        roff += "\\-";
        break;
      case '\'':
        roff += "\\(aq";
        break;
      case '`':
        roff += "\\(ga";
        break;
      case '^':
        roff += "\\(ha";
        break;
      case '~':
        roff += "\\(ti";
        break;
      case '|':
        roff += "|\\:";  // lines may break between choices
        break;
      default:
        roff += c;
    }
  }
  return roff.starts_with('.') ? "\\&" + roff : roff;
}

std::string capital(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string roff_lines(const Section& section) {
  std::string roff = ".nf\n";
  for (const std::string& line : section.lines) roff += escaped(line) + "\n";
  return roff + ".fi\n";
}

std::string roff_options(const CLI::App& command) {
  std::string roff;
  for (const auto& options : {positionals_of(command), flags_of(command)}) {
    for (const CLI::Option* option : options) {
      // Of all commands, described once.
      if (command.get_parent() && option == command.get_help_ptr()) continue;
      roff += fmt::format(".TP\n.B {}\n{}\n", escaped(heading_of(*option)), escaped(text_of(*option)));
    }
  }
  return roff;
}

/// Commands that have none of their own.
std::vector<const CLI::App*> all_commands(const CLI::App& app) {
  std::vector<const CLI::App*> all;
  for (const CLI::App* command : commands_of(app)) {
    const std::vector<const CLI::App*> inner = all_commands(*command);
    if (inner.empty()) all.push_back(command);
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

/// " profile check", as the script knows a place on the command line.
std::string place_of(const CLI::App& command, const std::string& program) { return path_of(command).substr(program.size()); }

}  // namespace

std::string help_text(const CLI::App& command) {
  const std::string what = command.get_description() + ".";
  std::string text = wrapped(command.get_parent() ? capital(what) : command.get_name() + " " + what, kColumns);
  text += fmt::format("\n\nusage: {}\n", usage_of(command));
  const std::vector<const CLI::App*> commands = commands_of(command);
  if (!commands.empty()) text += "\ncommands:\n";
  for (const CLI::App* one : commands) text += row(one->get_name(), one->get_description());
  const std::vector<const CLI::Option*> positionals = positionals_of(command);
  if (!positionals.empty()) text += "\narguments:\n";
  for (const CLI::Option* option : positionals) text += row(heading_of(*option), text_of(*option));
  text += "\nflags:\n";
  for (const CLI::Option* option : flags_of(command)) text += row(heading_of(*option), text_of(*option));
  for (const Section& section : sections_of(command)) {
    text += fmt::format("\n{}:\n", section.title);
    for (const std::string& line : section.lines) text += "  " + line + "\n";
  }
  return text;
}

std::string manual_page(const CLI::App& app, const std::string& version) {
  const std::string& name = app.get_name();
  std::string roff = fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.nf\n",
                                 escaped(in_capitals(name)), escaped(version), escaped(name), escaped(app.get_description()));
  const std::vector<const CLI::App*> commands = all_commands(app);
  for (const CLI::App* command : commands) roff += fmt::format(".B {}\n", escaped(usage_of(*command)));
  roff += ".fi\n.SH COMMANDS\n";
  const std::vector<Section> common = sections_of(app);
  for (const CLI::App* command : commands) {
    roff += fmt::format(".SS {}\n{}\n{}", escaped(path_of(*command)), escaped(capital(command->get_description()) + "."),
                        roff_options(*command));
    for (const Section& section : sections_of(*command)) {
      const bool is_common = std::any_of(common.begin(), common.end(), [&](const Section& one) {
        return one.title == section.title && one.lines == section.lines;
      });
      if (!is_common) roff += fmt::format(".PP\n{}:\n.RS 4\n{}.RE\n", escaped(section.title), roff_lines(section));
    }
  }
  roff += ".SH FLAGS OF ALL COMMANDS\n" + roff_options(app);
  for (const Section& section : common) {
    roff += fmt::format(".SH {}\n{}", escaped(in_capitals(section.title)), roff_lines(section));
  }
  return roff;
}

std::string bash_completion(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string function = "_" + name;
  std::replace(function.begin(), function.end(), '-', '_');
  std::vector<const CLI::App*> commands = {&app};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::vector<const CLI::App*> inner = commands_of(*commands[i]);
    commands.insert(commands.end(), inner.begin(), inner.end());
  }
  std::string known, values, words;
  for (const CLI::App* command : commands) {
    const std::string place = place_of(*command, name);
    if (command != &app) known += fmt::format("{}\"{}\"", known.empty() ? "" : " | ", place);
    std::vector<std::string> flags, others;
    for (const CLI::Option* option : flags_of(*command)) {
      for (const std::string& flag : option->get_lnames()) {
        flags.push_back("--" + flag);
        if (takes_value(*option)) {
          values += fmt::format("    \"{} --{}\") words=\"{}\" ;;\n", place, flag, fmt::join(choices_of(*option), " "));
        }
      }
    }
    for (const CLI::App* inner : commands_of(*command)) others.push_back(inner->get_name());
    const std::vector<const CLI::Option*> positionals = positionals_of(*command);
    for (const CLI::Option* option : positionals) {
      for (const std::string& choice : choices_of(*option)) others.push_back(choice);
    }
    if (others.empty() && positionals.empty()) others = flags;
    words += fmt::format("    \"{0}:-\") words=\"{1}\" ;;\n    \"{0}:\"*) words=\"{2}\" ;;\n", place, fmt::join(flags, " "),
                         fmt::join(others, " "));
  }
  return fmt::format(R"(# shellcheck shell=bash
# Completes {0} in bash; made by `{0} completion bash`. Where there is no word to offer, bash offers files.
{1}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' words='' i
  # A flag and its value are split at "=".
  if [[ $word == "=" ]]; then
    word=
  elif [[ $previous == "=" ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {2}) command+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command:${{word:0:1}}" in
{4}  esac
  case "$command $previous" in
{3}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F {1} {0}
)",
                     name, function, known, values, words);
}

}  // namespace roofmark
