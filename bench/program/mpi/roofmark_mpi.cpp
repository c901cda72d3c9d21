// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program/case_files.hpp"
#include "bench/program/command_line.hpp"
#include "bench/program/interrupt.hpp"
#include "bench/program/mpi/start.hpp"
#include "bench/program/mpi/team_run.hpp"
#include "bench/program/settings.hpp"
#include "bench/program/together.hpp"
#include "bench/program/usage.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/model/suite.hpp"

namespace roofmark {
namespace {

/// A launcher starts processes on many hosts one after the other, and they load the program from one file system.
constexpr double kLeastStartSeconds = 10;

/// Known once MPI has begun.
struct Self {
  int rank = 0, size = 1;
  std::string description;
};

/// Ranks with different command lines would deadlock, or their results would look like lost data.
void check_alike(const std::vector<std::string>& words, MpiTeam& team) {
  const std::vector<std::vector<std::string>> all = team.gather(words);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    throw UsageError(fmt::format("all ranks need the same arguments: {} has '{}', {} has '{}'", team.describe(0),
                                 fmt::join(all.front(), " "), team.describe(static_cast<int>(rank)),
                                 fmt::join(all[rank], " ")));
  }
}

/// What the command line says.
struct Arguments {
  TeamOptions team;
  std::vector<std::string> labels;
};

void add_commands(CLI::App& app, Arguments& arguments) {
  const Devices devices = {"auto|cpu|cuda", "local rank N uses GPU N of its host; auto: the CPUs if no rank sees a GPU"};
  TeamOptions& options = arguments.team;
  CLI::App* collectives_command =
      add_command(app, "collectives", "measure the links between the ranks and the collectives of a suite; write a result file",
                  fmt::format("Examples:\n"
                              "  mpirun -np 8 roofmark-mpi collectives --suite quick --expect-ranks 8\n"
                              "  srun --mpi=pmix roofmark-mpi collectives --filter '^all_reduce/' --out rack3\n"
                              "  mpirun -np 8 roofmark-mpi collectives --case 'all_gather/bf16/bytes:8..4G*2'\n"
                              "{}Suites:\n"
                              "  smoke      one all-reduce\n"
                              "  quick      all-reduce, 8 sizes\n"
                              "  baseline   every collective; pairs of ranks, between many hosts a sample of\n"
                              "             them; scaling; overlap with a product\n"
                              "  full       baseline with all pairs, by sum, max and avg in fp32, fp16, bf16\n"
                              "             and fp8 (from Hopper on; CPUs: fp32, fp64), in twice as many sizes\n"
                              "  sustained  an all-reduce and an all-to-all: do rates and bits hold?\n{}{}",
                              kCollectiveCasesHelp, kBenchmarkHelp, kExitStatusHelp));
  CLI::App* run_command = add_command(app, "run", "measure a single-device suite on all ranks at once; write a result file",
                                      run_footer("Examples:\n"
                                                 "  mpirun -np 8 roofmark-mpi run --suite quick    which rank is slow?\n"));
  for (CLI::App* command : {collectives_command, run_command}) {
    add_selection(*command, options.run.selection, devices);
    add_run_options(*command, options.run, arguments.labels);
  }
  // What collectives carry is fixed, and they use the same buffers again and again.
  collectives_command->remove_option(collectives_command->get_option("--data"));
  CLI::App* list_command = add_command(app, "list", "list the cases of collectives and the work of each",
                                       std::string("Examples:\n"
                                                   "  mpirun -np 8 roofmark-mpi list --suite quick\n") +
                                           kCollectiveCasesHelp + kShowingStatusHelp);
  add_selection(*list_command, options.run.selection, devices);
  for (CLI::App* command : {collectives_command, list_command}) {
    command->remove_option(command->get_option("--cache"));
  }
  CLI::App* info_command = add_command(app, "info", "show each rank's host, device, NUMA node and network ports",
                                       std::string("Examples:\n"
                                                   "  mpirun -np 8 roofmark-mpi info\n") +
                                           kShowingStatusHelp);
  info_command->add_option("--device", options.run.selection.device, devices.help)
      ->type_name(devices.value)
      ->default_str("auto");
  for (CLI::App* command : {list_command, info_command}) command->add_flag("--json", options.json, "print JSON");
  for (CLI::App* command : {collectives_command, run_command, list_command, info_command}) {
    add_expected(*command, "--expect-ranks", options.expect_ranks, "stop unless exactly this many ranks started");
  }
}

/// The command line as this rank reads it, before the ranks have met.
struct CommandLine {
  std::vector<std::string> all;    ///< with the names of cases that files have
  std::vector<std::string> words;  ///< these without Google Benchmark's flags
  bool list_tests = false;
  bool asks_for_help = false;
  std::exception_ptr wrong;
};

CommandLine read(CLI::App& app, Arguments& arguments, const std::vector<std::string>& words) {
  CommandLine line{words, words, false, false, nullptr};
  RunOptions& options = arguments.team.run;
  try {
    line.all = line.words = with_cases_of_files(words);
    options.arguments.insert(options.arguments.end(), line.all.begin(), line.all.end());
    line.list_tests = take_benchmark_flags(line.words, options);
    line.asks_for_help = parse(app, line.words, false);
    if (line.asks_for_help) return line;
    take_labels(arguments.labels, options);
    check_selection(options.selection, options.max_seconds);
  } catch (const std::exception&) {
    line.wrong = std::current_exception();
  }
  return line;
}

int main_command(CLI::App& app, const TeamOptions& options, const CommandLine& line, Start& start, Self& self) {
  MpiTeam team(&interrupted(), [&] { start.step(); });
  self = {team.rank(), team.size(), team.describe(team.rank())};
  if (!line.wrong && !line.asks_for_help) say_world(options, team);
  // First, for a file of cases that one host lacks makes the lines differ too.
  together(team, [&] {
    if (line.wrong) std::rethrow_exception(line.wrong);
    return true;
  });
  check_alike(line.all, team);
  if (line.asks_for_help) {
    parse(app, line.words, self.rank == 0);
    return kOk;
  }
  check_world(options, team);
  if (app.got_subcommand("list") || line.list_tests) return list_team(team, TeamJob::collectives, options, start);
  if (app.got_subcommand("info")) return team_info(team, options, start);
  return run_team(team, app.got_subcommand("run") ? TeamJob::devices : TeamJob::collectives, options, start);
}

}  // namespace

int roofmark_mpi_main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Arguments arguments;
  arguments.team.run.program = "roofmark-mpi";
  arguments.team.run.arguments = {argv[0]};
  CLI::App app("measures the links between ranks (one per GPU, started by mpirun or srun) and finds stragglers",
               "roofmark-mpi");
  set_up(app);
  add_commands(app, arguments);
  Self self;
  bool alone = false;
  // Rank 0 reports what all ranks throw; a rank reports itself what happened to it alone.
  const auto speaker = [&](const std::exception& error) -> std::string {
    alone = !dynamic_cast<const UsageError*>(&error) && !dynamic_cast<const TeamError*>(&error);
    if (!alone) return self.rank == 0 ? "roofmark-mpi" : "";
    return self.description.empty() ? "roofmark-mpi" : "roofmark-mpi: " + self.description;
  };
  std::optional<MpiSession> mpi;
  std::optional<Start> start;
  const auto command = [&] {
    // Without MPI, so without a launcher.
    if (print_documentation(app, words)) return kOk;
    const CommandLine line = read(app, arguments, words);
    start.emplace(std::max(opening_seconds(arguments.team.run), kLeastStartSeconds));
    start->begin();
    mpi.emplace(&argc, &argv);
    start->know(mpi->rank(), mpi->size());
    return main_command(app, arguments.team, line, *start, self);
  };
  const int status = guarded_main(command, speaker, help_command(app, words));
  if (start) start->end();
  // Rank 0 learns of it by the channel, completes its files and ends all; unless they have not met yet.
  if (mpi && alone) {
    std::fflush(stdout);
    end_all_ranks(status, self.size > 1 ? 60 : 0);
  }
  return status;
}

}  // namespace roofmark
