// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/mpi/team_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "bench/program/flow.hpp"
#include "bench/program/interrupt.hpp"
#include "bench/program/mpi/crew.hpp"
#include "bench/program/origin.hpp"
#include "bench/program/plan.hpp"
#include "bench/program/print_plan.hpp"
#include "bench/program/settings.hpp"
#include "bench/program/shared_session.hpp"
#include "bench/program/suite.hpp"
#include "bench/program/together.hpp"
#include "bench/program/usage_error.hpp"
#include "bench/support/listing.hpp"
#include "harness/judge/ranks/findings_of_ranks.hpp"
#include "harness/judge/ranks/host_networks.hpp"
#include "harness/judge/ranks/variables_health.hpp"
#include "harness/machine/host.hpp"
#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"
#include "harness/present/tables.hpp"
#include "harness/present/terminal_communication.hpp"
#include "harness/result/device_json.hpp"
#include "harness/result/facts_json.hpp"
#include "harness/result/run_json.hpp"
#include "harness/result/team_json.hpp"
#include "harness/team/gather.hpp"
#include "harness/team/team_watch.hpp"
#include "kernels/collectives.hpp"

namespace roofmark {

namespace {

/// All ranks list the same cases, and what one rank cannot do, none does; the reason is the first such rank's.
void agree(MpiTeam& team, const std::vector<std::vector<Group>*>& all_groups) {
  std::vector<Case*> cases;
  for (std::vector<Group>* groups : all_groups) {
    for (Group& group : *groups) {
      for (Case& c : group.cases) cases.push_back(&c);
    }
  }
  std::string names;
  std::vector<std::pair<std::size_t, std::string>> unsupported;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    names += cases[i]->name() + "\n";
    if (!cases[i]->unsupported.empty()) unsupported.emplace_back(i, cases[i]->unsupported);
  }
  const std::vector<std::size_t> all = team.gather(std::hash<std::string>()(names));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != all.front()) {
      throw TeamError(fmt::format("{} and {} would measure different cases: their devices differ",
                                  team.describe(static_cast<int>(rank)), team.describe(0)));
    }
  }
  const auto reasons = team.gather(unsupported);
  for (std::size_t rank = 0; rank < reasons.size(); ++rank) {
    for (const auto& [i, reason] : reasons[rank]) {
      std::string& known = cases.at(i)->unsupported;
      if (known.empty()) known = fmt::format("{}: {}", team.describe(static_cast<int>(rank)), reason);
    }
  }
}

Listing listing_of(const Crew& crew, const Fabric& fabric, const Selection& selection) {
  return {crew.info, selection.suite, selection.cache, selection.memory_fraction, &fabric};
}

Plan team_plan(MpiTeam& team, TeamJob job, const Crew& crew, const Fabric& fabric, const Selection& selection) {
  Plan plan = together(team, [&] {
    if (job == TeamJob::devices) {
      Selection of_each = selection;
      of_each.only_device = true;
      return roofmark::plan(crew.info, of_each);
    }
    return arranged(lists_of(listing_of(crew, fabric, selection), selection, true), selection, crew.info.backend);
  });
  agree(team, {&plan.ceilings, &plan.suite});
  return plan;
}

/// Only collectives use NCCL.
std::vector<Circumstance> variables_health(const Crew& crew, TeamJob job) {
  std::vector<Circumstance> rows;
  if (job == TeamJob::collectives) rows = limiting_variables_health(crew.ranks);
  for (Circumstance& one : differing_variables_health(crew.ranks)) rows.push_back(std::move(one));
  return rows;
}

Origin origin_of(MpiTeam& team, const Crew& crew, TeamJob job) {
  Origin origin = roofmark::origin_of(crew.info);
  if (job == TeamJob::collectives) {
    origin.theoretical = theoretical_links(crew.ranks);
  } else {
    origin.theoretical = lowest(team.gather(origin.theoretical));
  }
  origin.ranks = crew.ranks;
  // Each rank knows its own device.
  const std::vector<std::vector<Finding>> findings = team.gather(origin.findings);
  std::vector<FindingsOfRank> of_ranks;
  for (std::size_t rank = 0; rank < findings.size(); ++rank) of_ranks.push_back({&crew.ranks.at(rank), findings[rank]});
  origin.findings = join_findings(of_ranks);
  origin.health = team_health(team.gather(origin.health));
  for (Circumstance& one : variables_health(crew, job)) origin.health.push_back(std::move(one));
  for (Finding& finding : find_network_faults(crew.ranks)) origin.findings.push_back(std::move(finding));
  for (Circumstance& one : networks_health(crew.ranks)) origin.health.push_back(std::move(one));
  return origin;
}

/// Rank 0's watch listens; MPI tells the others where.
std::unique_ptr<TeamWatch> meet(MpiTeam& team, const TeamWatch::Setup& setup) {
  std::unique_ptr<TeamWatch> channel = together(team, [&] {
    return team.rank() == 0 ? std::make_unique<TeamWatch>(setup, std::string()) : std::unique_ptr<TeamWatch>();
  });
  const std::string address = team.gather(channel ? channel->address() : std::string()).front();
  std::unique_ptr<TeamWatch> others = together(
      team, [&] { return team.rank() == 0 ? std::unique_ptr<TeamWatch>() : std::make_unique<TeamWatch>(setup, address); });
  return channel ? std::move(channel) : std::move(others);
}

/// An error that NCCL found while the main thread waits for its GPU.
std::string nccl_fault() {
  std::string text = &cuda::nccl ? cuda::nccl.late_error() : std::string();
  if (text.empty()) return text;
  const std::vector<std::string> warnings = cuda::nccl.warnings();
  if (!warnings.empty() && text.find(warnings.back()) == std::string::npos) text += "; NCCL warned: " + warnings.back();
  return text;
}

std::vector<std::string> nccl_clues() {
  std::vector<std::string> clues = &cuda::nccl ? cuda::nccl.warnings() : std::vector<std::string>();
  for (std::string& clue : clues) clue = "NCCL warned: " + clue;
  return clues;
}

/// While this lives, every step of the team is reported to the watch, so that no rank waits forever.
class Watched {
 public:
  /// `session` is that of a run, which is abandoned from the channel's thread.
  Watched(MpiTeam& team, const RunOptions& options, Start& start, const SharedSession* session = nullptr)
      : team_(team), program_(options.program), session_(session) {
    TeamWatch::Setup setup;
    setup.rank = team.rank();
    setup.size = team.size();
    setup.timeout_seconds = opening_seconds(options);
    setup.describe = [&team](int rank) { return team.describe(rank); };
    setup.say = [this](const std::string& line) { say(line); };
    if (session) setup.way_back = [session] { return session->way_back(); };
    setup.interrupted = [] { return interrupted().load(); };
    setup.interrupt = note_interruption;
    setup.fault = nccl_fault;
    setup.clues = nccl_clues;
    setup.on_standstill = [this](const Standstill& standstill) { complete(standstill.reason); };
    // Leaves time for the other waiting ranks to report, and for a failing rank 0 to receive their answers.
    setup.leave = [] { end_all_ranks(interrupted() ? kInterrupted : kNotMeasured, 3); };
    channel_ = meet(team, setup);
    channel_->doing("opening the devices");
    team.on_step([this] { channel_->step(); });
    channel_->step();
    start.end();
  }
  ~Watched() { team_.on_step({}); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  template <class Work>
  int during(const Work& work) const {
    try {
      return work(*channel_);
    } catch (const UsageError&) {
      throw;
    } catch (const TeamError&) {
      throw;
    } catch (const std::exception& error) {
      // If a killed rank is the cause, the watch finds out, ends all ranks, and does not return.
      if (team_.size() > 1) std::this_thread::sleep_for(std::chrono::seconds(1));
      channel_->fail();
      complete(error.what());
      throw;
    }
  }

 private:
  void say(const std::string& text) const { roofmark::say(program_, text); }

  void complete(const std::string& reason) const {
    try {
      if (session_) session_->abandon(reason);
    } catch (const std::exception& error) {
      say(error.what());
    }
  }

  MpiTeam& team_;
  const char* program_;
  const SharedSession* session_;
  std::unique_ptr<TeamWatch> channel_;
};

/// Where messages before the result go: stdout carries only the result when a format is requested.
std::FILE* said_beside(const TeamOptions& options) { return options.run.format.empty() && !options.json ? stdout : stderr; }

TerminalStyle team_style(const RunOptions& run) { return style_of(run, launcher_count().has_value()); }

int measure_team(MpiTeam& team, TeamJob job, const TeamOptions& options, Watch& watch, SharedSession& session) {
  const RunOptions& run = options.run;
  const Crew crew = assemble_crew(team, options);
  if (team.rank() == 0 && !run.quiet) {
    fmt::print(said_beside(options), "{}", ranks_table(crew.ranks, team_style(run)));
    std::fflush(said_beside(options));
  }
  watch.doing("listing the cases");
  Fabric fabric = job == TeamJob::collectives ? together(team, [&] { return make_fabric(team, crew, watch); }) : Fabric();
  fabric.step = [&] { watch.part(); };
  watch.set_timeout(timeout_seconds(run));
  RunSetup setup = {
      *crew.device, team,           watch, team_plan(team, job, crew, fabric, run.selection), origin_of(team, crew, job),
      crew.note,    team_style(run)};
  // Pairs that stand out in their rounds are measured again, alone, unless the suite's time is given.
  const Suite& suite = facts_of(run.selection.suite);
  if (job == TeamJob::collectives && !suite.total_seconds && !suite.limit) {
    setup.more = [&](const std::vector<std::string>& names) {
      std::vector<Group> groups;
      // What all ranks throw leaves the results as they are.
      const auto leave_out = [&](const std::exception& error) {
        if (team.rank() == 0) say(run.program, fmt::format("no pairs are measured alone: {}", error.what()));
        groups.clear();
      };
      try {
        groups = together(team, [&] { return cases_of(names, listing_of(crew, fabric, run.selection), run.selection, true); });
        agree(team, {&groups});
      } catch (const UsageError& error) {
        leave_out(error);
      } catch (const TeamError& error) {
        leave_out(error);
      }
      if (team.rank() == 0 && !run.quiet && !groups.empty()) {
        say(run.program, "somebody stands out in the rounds of pairs: measuring their pairs alone");
      }
      return groups;
    };
  }
  return run_plan(run, setup, session);
}

}  // namespace

void say_world(const TeamOptions& options, const MpiTeam& team) {
  if (team.rank() != 0 || team.size() == 1 || options.run.quiet) return;
  const int hosts = team.host_count();
  fmt::print(said_beside(options), "{} ranks on {} host{}\n", team.size(), hosts, hosts == 1 ? "" : "s");
  std::fflush(said_beside(options));
}

void check_world(const TeamOptions& options, MpiTeam& team) {
  const int size = team.size();
  together(team, [&] {
    if (const auto launcher = launcher_count(); launcher && launcher->ranks != size) {
      throw UsageError(
          fmt::format("MPI reports {} rank{}, the launcher {} ({}): the launcher belongs to a different MPI from the one this "
                      "program was built with, so each process runs alone; use that MPI's launcher",
                      size, size == 1 ? "" : "s", launcher->ranks, launcher->variable));
    }
    if (options.expect_ranks && *options.expect_ranks != size) {
      throw UsageError(
          fmt::format("--expect-ranks {}, but {} rank{} started", *options.expect_ranks, size, size == 1 ? "" : "s"));
    }
    return true;
  });
  if (size == 1 && !options.run.quiet) {
    fmt::print(said_beside(options), "1 rank: no data crosses a link; start more ranks with mpirun -np N or srun -n N\n");
  }
}

int run_team(MpiTeam& team, TeamJob job, const TeamOptions& options, Start& start) {
  SharedSession session;
  const Watched watched(team, options.run, start, &session);
  return watched.during([&](Watch& watch) { return measure_team(team, job, options, watch, session); });
}

int team_info(MpiTeam& team, const TeamOptions& options, Start& start) {
  const Watched watched(team, options.run, start);
  return watched.during([&](Watch&) {
    const Crew crew = assemble_crew(team, options);
    if (team.rank() != 0) return kOk;
    if (!crew.note.empty()) say(options.run.program, crew.note);
    const Roofline links = theoretical_links(crew.ranks);
    const std::vector<Circumstance> around = variables_health(crew, TeamJob::collectives);
    const std::vector<Circumstance> networks = networks_health(crew.ranks);
    const std::vector<Finding> findings = find_network_faults(crew.ranks);
    if (options.json) {
      Json ranks = Json::array();
      for (const RankInfo& rank : crew.ranks) ranks.push_back(to_json(rank));
      Json conditions = Json::array();
      for (const auto* rows : {&around, &networks}) {
        for (const Circumstance& one : *rows) conditions.push_back(to_json(one));
      }
      const Json all = {{"ranks", ranks},
                        {"ceilings", to_json(links)},
                        {"health", conditions},
                        {"findings", to_json(findings)},
                        {"build", to_json(describe_build())}};
      fmt::print("{}\n", all.dump(1, ' ', false, Json::error_handler_t::replace));
      return kOk;
    }
    const TerminalStyle style = team_style(options.run);
    fmt::print("{}\n", ranks_table(crew.ranks, style));
    if (const std::string table = ceilings_table(links, style); !table.empty()) fmt::print("{}\n", table);
    for (const Ceiling& ceiling : links.ceilings()) {
      if (!ceiling.theoretical_source.empty()) {
        fmt::print("{}\n", wrapped(fmt::format("{}: {}", ceiling.resource.title, ceiling.theoretical_source),
                                   static_cast<std::size_t>(style.columns), 2));
      }
    }
    for (const Circumstance& one : around) {
      fmt::print("{}\n", wrapped(fmt::format("{}={}: {}", one.what, one.state, one.advice),
                                 static_cast<std::size_t>(style.columns), 2));
    }
    for (const Finding& finding : findings) {
      fmt::print("{}\n", wrapped("network ports: " + finding.text, static_cast<std::size_t>(style.columns), 2));
    }
    return kOk;
  });
}

int list_team(MpiTeam& team, TeamJob job, const TeamOptions& options, Start& start) {
  const Watched watched(team, options.run, start);
  return watched.during([&](Watch& watch) {
    const Crew crew = assemble_crew(team, options);
    watch.doing("listing the cases");
    const Fabric fabric = together(team, [&] { return make_fabric(team, crew, watch); });
    const Plan cases = team_plan(team, job, crew, fabric, options.run.selection);
    if (team.rank() == 0) print_plan(cases, options.run, "collectives", options.json, team_style(options.run));
    return kOk;
  });
}

}  // namespace roofmark
