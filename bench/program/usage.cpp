// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "bench/program/command_model.hpp"
#include "bench/program/documentation.hpp"
#include "bench/program/standard_output.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/machine/host.hpp"

namespace roofmark {

namespace {

/// Letters to insert, delete or replace to make one word of the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (letter == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// " (did you mean --out?)", or nothing where no word is near.
std::string nearest(const std::string& given, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = 2 + given.size() / 4;
  for (const std::string& word : known) {
    const std::size_t far = word.starts_with(given) ? 0 : distance(given, word);
    if (far < least) {
      least = far;
      best = word;
    }
  }
  return best.empty() ? "" : fmt::format(" (did you mean {}?)", best);
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

UsageError unknown_flag(const CLI::App& command, const std::string& flag) {
  std::vector<std::string> known;
  for (const CLI::Option* option : flags_of(command)) known.push_back("--" + option->get_lnames().front());
  std::string hint = nearest(flag, known);
  for (const CLI::App* inner : commands_of(command)) {
    if (inner->get_option_no_throw(flag)) hint = fmt::format(" before a command: write `{} {}`", path_of(*inner), flag);
    if (!hint.empty()) break;
  }
  return UsageError(fmt::format("unknown flag {}{}", flag, hint));
}

/// Of a word that is no command here but one of another program or a script: "; it is `roofmark-mpi collectives`".
std::string elsewhere(const std::string& word) {
  constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
      {"collectives", "roofmark-mpi collectives"},
      {"accept", "roofmark accept"},
      {"profile", "roofmark profile"},
      {"recover", "roofmark recover"},
      {"show", "roofmark show"},
      {"compare", "scripts/compare"},
      {"fleet", "scripts/fleet"},
      {"report", "scripts/report"},
      {"table", "scripts/table"},
  };
  for (const auto& [command, whole] : kElsewhere) {
    if (command == word) return fmt::format("; it is `{}`", whole);
  }
  return "";
}

UsageError unknown_command(const CLI::App& command, const std::string& word) {
  const std::vector<std::string> known = names_of(commands_of(command));
  const std::string another = command.get_parent() ? "" : elsewhere(word);
  const std::string hint = another.empty() ? nearest(word, known) : another;
  return UsageError(fmt::format("unknown command '{}'{}", word,
                                hint.empty() ? fmt::format("; the commands are {}", fmt::join(known, ", ")) : hint));
}

void check_required(const CLI::App& command, const std::set<const CLI::Option*>& given) {
  if (!commands_of(command).empty()) {
    throw UsageError(fmt::format("no command; the commands are {}", fmt::join(names_of(commands_of(command)), ", ")));
  }
  for (const auto& options : {positionals_of(command), flags_of(command)}) {
    for (const CLI::Option* option : options) {
      if (option->get_required() && !given.contains(option)) throw UsageError(option->get_name() + " is missing");
    }
  }
}

/// Throws for words that are not flags, values or commands; CLI11 judges the values. --help answers whatever follows it.
void check_words(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::set<const CLI::Option*> given;
  std::vector<const CLI::Option*> places;  // of the words that are no flags
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word.front() != '-') {
      if (const CLI::App* next = command_of(*command, word)) {
        command = next;
        places = positionals_of(*command);
        continue;
      }
      if (!commands_of(*command).empty()) throw unknown_command(*command, word);
      if (places.empty()) throw UsageError(fmt::format("unexpected argument '{}'", word));
      given.insert(places.front());
      if (!is_repeatable(*places.front())) places.erase(places.begin());
      continue;
    }
    const std::string flag = word.substr(0, word.find('='));
    const CLI::Option* option = command->get_option_no_throw(flag);
    if (!option) throw unknown_flag(*command, flag);
    if (option == command->get_help_ptr() || option == command->get_version_ptr()) return;
    if (!takes_value(*option)) {
      if (flag != word) throw UsageError(flag + " takes no value");
      continue;
    }
    if (!given.insert(option).second && !is_repeatable(*option)) throw UsageError(flag + " is given twice");
    if (flag != word && flag.size() + 1 < word.size()) continue;
    if (flag != word || ++i == words.size() || command->get_option_no_throw(words[i].substr(0, words[i].find('=')))) {
      throw UsageError(fmt::format("{} needs a value: {}", flag, option->get_type_name()));
    }
  }
  check_required(*command, given);
}

std::string version_text(const std::string& program) {
  const Build build = describe_build();
  return fmt::format("{} {} ({}{})", program, build.version, build.commit, build.dirty ? ", modified" : "");
}

}  // namespace

void set_up(CLI::App& app) {
  app.set_help_flag("-h,--help", "show this help");
  app.set_version_flag("-v,--version", version_text(app.get_name()), "show the version and the commit");
  app.formatter_fn([](const CLI::App* command, const std::string&, CLI::AppFormatMode) { return help_text(*command); });
  app.footer(
      fmt::format("{}More:\n"
                  "  {} COMMAND --help             flags and examples of a command\n"
                  "  {} man | man -l -             the manual page\n"
                  "  source <({} completion bash)  completion in this shell\n",
                  kExitStatusHelp, app.get_name(), app.get_name(), app.get_name()));
  app.require_subcommand(1);
}

bool parse(CLI::App& app, const std::vector<std::string>& words, bool speak) {
  check_words(app, words);
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(error.what());
    std::ostringstream said;
    app.exit(error, said, said);
    if (speak && !print_out(said.str())) throw NotPrinted();
    return true;
  }
  return false;
}

bool print_documentation(const CLI::App& app, const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"man"}) {
    fmt::print("{}", manual_page(app, version_text(app.get_name())));
    return true;
  }
  if (!words.empty() && words.front() == "completion") {
    if (words != std::vector<std::string>{"completion", "bash"}) {
      throw UsageError(fmt::format("the only completion is `{} completion bash`", app.get_name()));
    }
    fmt::print("{}", bash_completion(app));
    return true;
  }
  return false;
}

std::string help_command(const CLI::App& app, const std::vector<std::string>& words) {
  return path_of(last_command(app, words)) + " --help";
}

}  // namespace roofmark
