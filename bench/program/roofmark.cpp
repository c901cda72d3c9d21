// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/program/case_files.hpp"
#include "bench/program/command_line.hpp"
#include "bench/program/commands.hpp"
#include "bench/program/usage.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/judge/acceptance/profile.hpp"

namespace roofmark {
namespace {

/// What the command line says.
struct Arguments {
  RunOptions run;
  std::vector<std::string> labels;
  bool json = false;
  std::string result, recovered;  ///< of recover
  AcceptOptions acceptance;
  std::string profile, profile_device;
};

constexpr Devices kOneDevice = {"auto|cpu|cuda:N", "auto: the first GPU, or the CPU if there is no GPU"};

void add_accept(CLI::App& app, Arguments& arguments) {
  CLI::App* command = add_command(app, "accept", "judge results by a profile",
                                  "Examples:\n"
                                  "  roofmark accept node7 --profile h200_sxm\n"
                                  "  roofmark accept nodes/ --profile own.toml --expect-gpus 64 --max-age 7d\n"
                                  "Exit status:\n"
                                  "  0  accepted\n"
                                  "  1  not accepted\n"
                                  "  2  usage error, or a result or profile that cannot be read\n"
                                  "  3  a file cannot be written\n");
  AcceptOptions& acceptance = arguments.acceptance;
  command->add_option("RESULT", acceptance.results, "result files, or folders to search for result.json")->required();
  command->add_option("--profile", acceptance.profile, "a shipped profile, or a TOML file")
      ->type_name(fmt::format("{}|FILE", fmt::join(shipped_profiles(), "|")))
      ->required();
  add_expected(*command, "--expect-gpus", acceptance.expected_gpus, "number of GPUs ordered");
  add_age(*command, "--max-age", acceptance.max_age_seconds, "maximum age of a result: 90s, 15m, 12h, 7d");
  add_file(*command, "--junit", acceptance.junit, "write every check as JUnit XML");
  add_file(*command, "--json", acceptance.json, "write the verdict as JSON");
}

void add_profile(CLI::App& app, Arguments& arguments) {
  CLI::App* command = add_command(app, "profile", "check or show a profile");
  command->require_subcommand(1);
  CLI::App* check = add_command(*command, "check", "check a profile for mistakes",
                                "Examples:\n"
                                "  roofmark profile check own.toml\n"
                                "Exit status:\n"
                                "  0  no mistake\n"
                                "  1  mistakes, one line each\n"
                                "  2  usage error, or a profile that cannot be read\n"
                                "  3  standard output cannot be written\n");
  CLI::App* show = add_command(*command, "show", "show each limit, as a rate where it is one, with its source",
                               "Examples:\n"
                               "  roofmark profile show h200_sxm\n"
                               "  roofmark profile show own.toml --device cuda:0\n"
                               "Exit status:\n"
                               "  0  shown\n"
                               "  2  usage error, or a profile that cannot be read\n"
                               "  3  a device cannot be used, or standard output cannot be written\n");
  for (CLI::App* one : {check, show}) {
    one->add_option("PROFILE", arguments.profile, "a shipped profile, or a TOML file")
        ->type_name(fmt::format("{}|FILE", fmt::join(shipped_profiles(), "|")))
        ->required();
  }
  show->add_option("--device", arguments.profile_device, "device to compute the limits for")
      ->type_name("auto|cpu|cuda:N")
      ->default_str("the device that the profile is for");
}

void add_commands(CLI::App& app, Arguments& arguments) {
  CLI::App* run_command =
      add_command(app, "run", "measure the ceilings and a suite; write a result file",
                  run_footer("Examples:\n"
                             "  roofmark run --suite quick                 this machine, in minutes\n"
                             "  roofmark run --suite quick --device all    each GPU alone, then all at once\n"
                             "  roofmark run --filter '^gemm/' --exclude fp64\n"
                             "  roofmark run --case 'gemm/bf16,fp8/m=n=k:1K..16K*2'\n"
                             "  roofmark run --suite sustained --seconds 600 --out node7\n"
                             "  roofmark run --suite sustained --case gemm/fp8/m=n=k:8K\n"));
  add_selection(*run_command, arguments.run.selection,
                {"auto|cpu|cuda:N|all",
                 "auto: the first GPU, or the CPU if there is no GPU; all: each GPU alone, then all at once (8 GPUs take about "
                 "9 times as long as one); smoke and sustained: only all at once"});
  add_run_options(*run_command, arguments.run, arguments.labels);
  add_expected(*run_command, "--expect-gpus", arguments.run.expected_gpus,
               "stop unless exactly this many GPUs can be used, also if --device selects fewer");
  CLI::App* list_command = add_command(app, "list", "list the cases of a suite and the work of each",
                                       std::string("Examples:\n"
                                                   "  roofmark list --suite quick --filter '^attention/'\n"
                                                   "  roofmark list --suite full --json\n"
                                                   "  roofmark list --case 'stream/copy/fp64/bytes:1M..4G*4'\n") +
                                           kCasesHelp + kShowingStatusHelp);
  add_selection(*list_command, arguments.run.selection, kOneDevice);
  for (CLI::App* command : {run_command, list_command}) {
    command->add_flag("--only-device", arguments.run.selection.only_device, "skip cases that use other GPUs of this node");
  }
  CLI::App* info_command = add_command(
      app, "info", "show the device, the health of its environment, and its theoretical ceilings with their sources",
      std::string("Examples:\n"
                  "  roofmark info --device cuda:1\n"
                  "  roofmark info --json\n") +
          kShowingStatusHelp);
  info_command->add_option("--device", arguments.run.selection.device, kOneDevice.help)
      ->type_name(kOneDevice.value)
      ->default_str("auto");
  for (CLI::App* command : {list_command, info_command}) command->add_flag("--json", arguments.json, "print JSON");

  CLI::App* recover_command = add_command(app, "recover", "rebuild result.json from the journal of a run that was cut off",
                                          "Examples:\n"
                                          "  roofmark recover node7\n"
                                          "  roofmark recover node7 --out /scratch/node7    if the disk of node7 is full\n"
                                          "Exit status, as the run would have had by its journal:\n"
                                          "  0  everything was measured\n"
                                          "  1  a result is wrong, GPUs or ranks gave different bits, or a device\n"
                                          "     reports faults\n"
                                          "  2  usage error, or a journal that cannot be read: nothing was written\n"
                                          "  3  something was not measured, as in a run that was cut off, or cannot be\n"
                                          "     written\n");
  recover_command->add_option("RESULT", arguments.result, "folder of the run, or its result.json or result.jsonl")->required();
  add_folder(*recover_command, "--out", arguments.recovered, "folder for the new result.json")->default_str("the run's folder");
  CLI::App* show_command = add_command(app, "show", "print a result as its run did, on any machine",
                                       "Examples:\n"
                                       "  roofmark show node7\n"
                                       "Exit status:\n"
                                       "  0  shown, whatever its verdict (`accept` judges)\n"
                                       "  2  usage error, or a result that cannot be read\n"
                                       "  3  standard output cannot be written\n");
  show_command->add_option("RESULT", arguments.result, "a result file, or the folder of a run")->required();
  add_accept(app, arguments);
  add_profile(app, arguments);
}

int main_command(CLI::App& app, Arguments& arguments, std::vector<std::string> words) {
  if (print_documentation(app, words)) return kOk;
  words = with_cases_of_files(words);
  RunOptions& options = arguments.run;
  options.arguments.insert(options.arguments.end(), words.begin(), words.end());
  const bool list_tests = take_benchmark_flags(words, options);
  if (parse(app, words)) return kOk;
  take_labels(arguments.labels, options);
  check_selection(options.selection, options.max_seconds);
  if (app.got_subcommand("list") || list_tests) return list(options, arguments.json);
  if (app.got_subcommand("info")) return info(options.selection.device, arguments.json);
  if (app.got_subcommand("recover")) return recover(arguments.result, arguments.recovered);
  if (app.got_subcommand("show")) return show(arguments.result);
  if (app.got_subcommand("accept")) return accept(arguments.acceptance);
  if (app.got_subcommand("profile")) {
    const bool check = app.get_subcommand("profile")->got_subcommand("check");
    return check ? profile_check(arguments.profile) : profile_show(arguments.profile, arguments.profile_device);
  }
  return run(options);
}

bool commanding = false;

/// Some libraries end the process themselves, with status 1, which means wrong results: OpenMP if it gets no thread, Google
/// Benchmark if it cannot read of the caches.
void end_of_process() {
  if (commanding) std::_Exit(kNotMeasured);
}

}  // namespace

int roofmark_main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Arguments arguments;
  arguments.run.arguments = {argv[0]};
  CLI::App app("measures what a GPU node delivers and compares it with what the hardware can deliver", "roofmark");
  set_up(app);
  add_commands(app, arguments);
  std::atexit(end_of_process);
  commanding = true;
  const int status = guarded_main([&] { return main_command(app, arguments, words); },
                                  [](const std::exception&) { return "roofmark"; }, help_command(app, words));
  commanding = false;
  return status;
}

}  // namespace roofmark
