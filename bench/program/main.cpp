// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "bench/program/command_line.hpp"

namespace roofmark {
namespace {

int main_command(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  RunOptions options;
  options.arguments.assign(argv, argv + argc);
  const bool list_tests = take_benchmark_flags(words, options);

  CLI::App app("roofmark measures what a GPU node delivers and compares it with what the hardware can deliver.", "roofmark");
  app.set_version_flag("--version", version_text("roofmark"));
  app.footer(kExitStatusHelp);
  app.require_subcommand(1);

  CLI::App* run_command = app.add_subcommand("run", "Measure the ceilings and a suite; write a result file");
  add_selection(*run_command, options.selection, "auto, cpu, cuda:N, or all (each GPU alone, then all GPUs at once)");
  std::vector<std::string> labels;
  add_run_options(*run_command, options, labels);
  const auto add_only_device = [&](CLI::App& command) {
    command.add_flag("--only-device", options.selection.only_device, "leave out cases that use other GPUs of this node");
  };
  add_only_device(*run_command);

  bool json = false;
  CLI::App* list_command = app.add_subcommand("list", "List the cases of a suite with the work that each must do");
  add_selection(*list_command, options.selection, "auto, cpu or cuda:N");
  add_only_device(*list_command);
  list_command->add_flag("--json", json, "print a JSON array");

  CLI::App* info_command = app.add_subcommand(
      "info", "Show the device, the health of its environment, and its theoretical ceilings with their sources");
  info_command->add_option("--device", options.selection.device, "auto, cpu or cuda:N")->capture_default_str();
  info_command->add_flag("--json", json, "print a JSON object");

  std::string folder;
  CLI::App* recover_command = app.add_subcommand("recover", "Rebuild result.json from the journal of a run that was cut off");
  recover_command->add_option("folder", folder, "folder that holds result.jsonl")->required();

  AcceptOptions acceptance;
  CLI::App* accept_command = app.add_subcommand("accept", "Judge results by a profile: exit status 0 accepted, 1 not accepted");
  accept_command->add_option("results", acceptance.results, "result files, or folders that are searched for result.json")
      ->required();
  accept_command->add_option("--profile", acceptance.profile, "profile of the program, or a TOML file")->required();
  accept_command->add_option("--expect-gpus", acceptance.expected_gpus, "GPUs that were ordered")->check(between(1, 1e9));
  accept_command->add_option("--max-age", acceptance.max_age_seconds, "age above which a result fails, as 90s, 12h or 7d")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}},
                                        CLI::AsNumberWithUnit::UNIT_REQUIRED));
  accept_command->add_option("--junit", acceptance.junit, "write every check as JUnit XML");
  accept_command->add_option("--json", acceptance.json, "write the judgement as JSON");

  std::string profile, profile_device;
  CLI::App* profile_command = app.add_subcommand("profile", "Check or show a profile");
  profile_command->require_subcommand(1);
  CLI::App* check_command = profile_command->add_subcommand("check", "Find what is wrong with a profile");
  CLI::App* show_command = profile_command->add_subcommand("show", "Show what each limit comes to, and where it is from");
  for (CLI::App* command : {check_command, show_command}) {
    command->add_option("profile", profile, "profile of the program, or a TOML file")->required();
  }
  show_command->add_option("--device", profile_device, "cpu or cuda:N; without it, the kind of device that the profile names");

  if (parse(app, std::move(words))) return kOk;
  take_labels(labels, options);
  check_duration(options.selection);
  if (*list_command || list_tests) return list(options.selection, json);
  if (*info_command) return info(options.selection.device, json);
  if (*recover_command) return recover(folder);
  if (*accept_command) return accept(acceptance);
  if (*check_command) return profile_check(profile);
  if (*show_command) return profile_show(profile, profile_device);
  return run(options);
}

}  // namespace
}  // namespace roofmark

int main(int argc, char** argv) {
  using namespace roofmark;
  return guarded_main([&] { return main_command(argc, argv); }, [](const std::exception&) { return "roofmark"; });
}
