// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/command_line.hpp"
#include "bench/program/interrupt.hpp"
#include "bench/program/mpi/team_run.hpp"
#include "bench/program/together.hpp"

namespace roofmark {
namespace {

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
    throw UsageError(fmt::format("all ranks need the same arguments: those of {} are '{}', those of {} '{}'", team.describe(0),
                                 fmt::join(all.front(), " "), team.describe(static_cast<int>(rank)),
                                 fmt::join(all[rank], " ")));
  }
}

int main_command(int argc, char** argv, Self& self) {
  MpiTeam team(&interrupted(), [] {});
  self = {team.rank(), team.size(), team.describe(team.rank())};

  std::vector<std::string> words(argv + 1, argv + argc);
  TeamOptions options;
  options.run.arguments.assign(argv, argv + argc);

  CLI::App app("roofmark-mpi measures the links between ranks (one per GPU, started by mpirun or srun) and finds stragglers.",
               "roofmark-mpi");
  app.set_version_flag("--version", version_text("roofmark-mpi"));
  app.footer(kExitStatusHelp);
  app.require_subcommand(1);

  const std::string devices = "auto, cpu, or cuda (local rank N uses GPU N of its host)";
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("--expect-ranks", options.expect_ranks, "stop unless exactly this many ranks started")
        ->check(between(1, 1 << 24));
    return command;
  };
  std::vector<std::string> labels;
  CLI::App* collectives_command =
      add("collectives", "Measure the links between the ranks and the collectives of a suite; write a result file");
  CLI::App* run_command = add("run", "Measure a single-device suite on all ranks at once; write a result file");
  for (CLI::App* command : {collectives_command, run_command}) {
    add_selection(*command, options.run.selection, devices);
    add_run_options(*command, options.run, labels);
  }
  // What collectives carry is fixed, and as in nccl-tests they use the same buffers again and again.
  collectives_command->remove_option(collectives_command->get_option("--data"));
  CLI::App* list_command = add("list", "List the cases of `collectives` with the work that each must do");
  add_selection(*list_command, options.run.selection, devices);
  for (CLI::App* command : {collectives_command, list_command}) command->remove_option(command->get_option("--cache"));
  CLI::App* info_command = add("info", "Show each rank's host, device, NUMA node and network ports; measures nothing");
  info_command->add_option("--device", options.run.selection.device, devices)->capture_default_str();

  check_alike(words, team);
  bool list_tests = false;
  const bool answered = together(team, [&] {
    list_tests = take_benchmark_flags(words, options.run);
    if (parse(app, words, self.rank == 0)) return true;
    take_labels(labels, options.run);
    check_duration(options.run.selection);
    return false;
  });
  if (answered) return kOk;
  check_world(options, team);
  if (*list_command || list_tests) return list_team(team, TeamJob::collectives, options);
  if (*info_command) return team_info(team, options);
  return run_team(team, *run_command ? TeamJob::devices : TeamJob::collectives, options);
}

}  // namespace
}  // namespace roofmark

int main(int argc, char** argv) {
  using namespace roofmark;
  Self self;
  bool alone = false;
  // Rank 0 reports what all ranks throw; a rank reports itself what happened to it alone.
  const auto speaker = [&](const std::exception& error) -> std::string {
    alone = !dynamic_cast<const UsageError*>(&error) && !dynamic_cast<const TeamError*>(&error);
    if (!alone) return self.rank == 0 ? "roofmark-mpi" : "";
    return self.description.empty() ? "roofmark-mpi" : "roofmark-mpi: " + self.description;
  };
  std::optional<MpiSession> mpi;
  const auto command = [&] {
    mpi.emplace(&argc, &argv);
    return main_command(argc, argv, self);
  };
  const int status = guarded_main(command, speaker);
  // Rank 0 learns of it by the channel, completes its files and ends all; unless they have not met yet.
  if (alone) {
    std::fflush(stdout);
    end_all_ranks(status, self.size > 1 ? 60 : 0);
  }
  return status;
}
