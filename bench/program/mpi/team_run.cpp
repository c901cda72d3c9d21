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
#include <map>
#include <memory>
#include <thread>

#include "bench/families/collectives.hpp"
#include "bench/program/flow.hpp"
#include "bench/program/together.hpp"
#include "bench/support/fabric.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/cuda_device.hpp"
#include "harness/machine/facts.hpp"
#include "harness/machine/host.hpp"
#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"
#include "harness/present/tables.hpp"
#include "harness/present/terminal_communication.hpp"
#include "harness/result/device_json.hpp"
#include "harness/result/run_json.hpp"
#include "harness/result/team_json.hpp"
#include "harness/team/gather.hpp"
#include "harness/team/team_watch.hpp"
#include "kernels/base/check.hpp"
#include "kernels/mpi/collectives.hpp"

namespace roofmark {

namespace {

/// This rank's number among the ranks of its host.
int local_rank(const std::vector<std::string>& hosts, int rank) {
  const auto own = hosts.begin() + rank;
  return static_cast<int>(std::count(hosts.begin(), own, *own));
}

/// `auto` takes GPUs if every rank sees one and the CPU if none does.
std::string choose_device(MpiTeam& team, const std::string& value, int local, std::string& note) {
  if (value != "auto" && value != "cuda" && value != "cpu") {
    throw UsageError(fmt::format("--device {}: local rank N uses GPU N of its host; give auto, cuda or cpu", value));
  }
  const CudaDevices cuda = cuda_devices ? cuda_devices() : CudaDevices{{}, "this roofmark was built without CUDA"};
  std::string wanted = value;
  if (wanted == "auto") {
    const std::vector<std::size_t> counts = team.gather(cuda.ordinals.size());
    const auto without = std::count(counts.begin(), counts.end(), 0U);
    if (without != 0 && without != team.size()) {
      const auto rank = static_cast<int>(std::find(counts.begin(), counts.end(), 0U) - counts.begin());
      throw DeviceError(fmt::format("{} sees no GPU and other ranks do: give --device cuda or cpu", team.describe(rank)),
                        false);
    }
    wanted = without == 0 ? "cuda" : "cpu";
    if (without != 0) note = "no GPU can be used, so the CPUs and MPI between them are measured: " + cuda.reason;
  }
  if (wanted == "cpu") return "cpu";
  if (cuda.ordinals.empty()) throw DeviceError("no GPU can be used: " + cuda.reason, false);
  return fmt::format("cuda:{}", cuda.ordinals[static_cast<std::size_t>(local) % cuda.ordinals.size()]);
}

/// What the ranks know of one another before they measure.
struct Crew {
  std::unique_ptr<Device> device;
  DeviceInfo info;  ///< the device's, with the smallest memory of all ranks
  std::vector<RankInfo> ranks;
  std::string note;
};

/// Ranks of a host that may use the same cores divide them; with fewer cores than ranks they take turns.
void share_cores(MpiTeam& team, const std::vector<std::string>& hosts) {
  const std::vector<int> cores = read_cpu_facts("/", allowed_cpus()).cores;
  const auto all = team.gather(std::pair(hosts[static_cast<std::size_t>(team.rank())], cores));
  const auto& own = all[static_cast<std::size_t>(team.rank())];
  const auto sharing = static_cast<std::size_t>(std::count(all.begin(), all.end(), own));
  const auto place = static_cast<std::size_t>(std::count(all.begin(), all.begin() + team.rank(), own));
  if (sharing == 1 || cores.empty()) return;
  std::vector<int> share;
  const std::size_t each = std::max<std::size_t>(1, cores.size() / sharing);
  for (std::size_t i = 0; i < each; ++i) share.push_back(cores[(place * each + i) % cores.size()]);
  keep_to(share);
}

Crew assemble_crew(MpiTeam& team, const TeamOptions& options) {
  Crew crew;
  const std::vector<std::string> hosts = team.gather(host_name());
  const int local = local_rank(hosts, team.rank());
  const auto beside = std::count(hosts.begin(), hosts.end(), hosts[static_cast<std::size_t>(team.rank())]);
  std::string note;
  const std::string id = together(team, [&] { return choose_device(team, options.run.selection.device, local, note); });
  crew.note = note;
  if (id == "cpu") share_cores(team, hosts);
  crew.device = together(team, [&] { return open_device(id); });
  crew.info = crew.device->info();
  RankInfo member = describe_rank(crew.info);
  member.rank = team.rank();
  member.local_rank = local;
  member.versions = {{"roofmark", build_key()}, {"MPI", mpi::library()}};
  if (crew.info.backend == Backend::cuda && &cuda::nccl) {
    member.versions.emplace_back("NCCL", together(team, [] { return std::to_string(cuda::nccl.version()); }));
  }
  for (const Json& rank : team.gather(to_json(member))) crew.ranks.push_back(rank_info_from_json(rank));
  if (const std::string reason = mismatch(crew.ranks); !reason.empty()) throw TeamError(reason);
  // Every rank lists the same cases: the smallest memory bounds the sizes, and ranks of a host or a GPU share its memory.
  const auto sharing = crew.info.backend == Backend::cpu ? beside : ranks_on_gpu(crew.ranks, team.rank());
  for (std::size_t* bytes : {&crew.info.memory_bytes, &crew.info.free_bytes}) {
    *bytes /= static_cast<std::size_t>(sharing);
    *bytes = static_cast<std::size_t>(team.min(static_cast<double>(*bytes)));
  }
  // So that all ranks list the same cases.
  for (std::size_t* bytes : {&crew.info.host_memory_bytes, &crew.info.host_free_bytes}) {
    *bytes /= static_cast<std::size_t>(beside);
    *bytes = static_cast<std::size_t>(team.min(static_cast<double>(*bytes)));
  }
  crew.info.host_cache_bytes = static_cast<std::size_t>(team.max({static_cast<double>(crew.info.host_cache_bytes)}).front());
  return crew;
}

Fabric make_fabric(MpiTeam& team, const Crew& crew) {
  Fabric fabric;
  fabric.members = crew.ranks;
  fabric.rank = team.rank();
  using Made = std::map<std::vector<int>, std::shared_ptr<Communicator>>;
  const auto made = std::make_shared<Made>();
  const auto once = [&team, made](const auto& make) {
    return [&team, made, make](const std::vector<int>& colours) {
      if (const auto found = made->find(colours); found != made->end()) return found->second;
      std::shared_ptr<Communicator> communicator;
      std::exception_ptr thrown;
      try {
        communicator = make(colours);
      } catch (const DeviceError&) {
        thrown = std::current_exception();
      }
      // A communicator that failed on one rank is made again on all ranks when the next case asks for it.
      const bool failed = team.max({thrown ? 1.0 : 0.0}).front() > 0;
      if (thrown) std::rethrow_exception(thrown);
      if (failed) throw DeviceError("another rank could not create its communicator", false);
      return made->emplace(colours, std::move(communicator)).first->second;
    };
  };
  if (crew.info.backend == Backend::cpu) {
    fabric.how = "mpi";
    fabric.types = {DataType::fp32, DataType::fp64};
    fabric.split = once([&team](const std::vector<int>& colours) {
      return mpi::communicator(team.world(), colours[static_cast<std::size_t>(team.rank())]);
    });
    return fabric;
  }
  if (!&cuda::nccl)
    throw Unsupported("this build has no NCCL: build roofmark where nccl.h is installed to measure collectives between GPUs");
  fabric.how = "nccl";
  fabric.types = nccl_types(crew.info.compute_capability);
  fabric.buffers = {Buffer::registered, Buffer::symmetric};
  fabric.split = once([&team](const std::vector<int>& colours) -> std::shared_ptr<Communicator> {
    const auto rank = static_cast<std::size_t>(team.rank());
    const int own = colours[rank];
    // The first rank of each group creates the unique id that its group meets by.
    const auto first = static_cast<std::size_t>(std::find(colours.begin(), colours.end(), own) - colours.begin());
    std::string identity;
    std::exception_ptr thrown;
    try {
      if (own >= 0 && first == rank) identity = cuda::nccl.unique_id();
    } catch (const DeviceError&) {
      thrown = std::current_exception();
    }
    const std::vector<std::string> identities = team.gather(identity);
    if (thrown) std::rethrow_exception(thrown);
    if (own < 0) return nullptr;
    if (identities[first].empty())
      throw DeviceError(team.describe(static_cast<int>(first)) + " could not create an NCCL unique id", false);
    const auto size = static_cast<int>(std::count(colours.begin(), colours.end(), own));
    const auto place = static_cast<int>(std::count(colours.begin(), colours.begin() + team.rank(), own));
    return cuda::nccl.create(identities[first], size, place);
  });
  return fabric;
}

Plan team_plan(MpiTeam& team, TeamJob job, const Crew& crew, const Fabric& fabric, const Selection& selection) {
  Plan plan = together(team, [&] {
    if (job == TeamJob::devices) {
      Selection of_each = selection;
      of_each.only_device = true;
      return roofmark::plan(crew.info, of_each);
    }
    Listing listing{crew.info, selection.suite, selection.cache, selection.memory_fraction, &fabric};
    std::vector<Group> suite = collectives(listing);
    for (Group& group : overlap(listing)) suite.push_back(std::move(group));
    return arranged(link_ceilings(listing), std::move(suite), selection, crew.info.backend);
  });
  std::vector<Case*> cases;
  for (std::vector<Group>* groups : {&plan.ceilings, &plan.suite}) {
    for (Group& group : *groups) {
      for (Case& c : group.cases) cases.push_back(&c);
    }
  }
  std::string names;
  std::vector<std::string> unsupported;
  for (const Case* c : cases) {
    names += c->name() + "\n";
    unsupported.push_back(c->unsupported);
  }
  const std::vector<std::size_t> all = team.gather(std::hash<std::string>()(names));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != all.front()) {
      throw TeamError(fmt::format("{} would measure different cases from {}: their devices differ",
                                  team.describe(static_cast<int>(rank)), team.describe(0)));
    }
  }
  // What one rank cannot do, none does; the reason is the first such rank's.
  const std::vector<std::vector<std::string>> reasons = team.gather(unsupported);
  for (std::size_t rank = 0; rank < reasons.size(); ++rank) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!cases[i]->unsupported.empty() || reasons[rank][i].empty()) continue;
      cases[i]->unsupported = fmt::format("{}: {}", team.describe(static_cast<int>(rank)), reasons[rank][i]);
    }
  }
  return plan;
}

Origin origin_of(MpiTeam& team, const Crew& crew, TeamJob job) {
  Origin origin = roofmark::origin_of(crew.info);
  if (job == TeamJob::collectives) {
    origin.theoretical = theoretical_links(crew.ranks);
  } else {
    std::vector<Roofline> rooflines;
    for (const Json& ceilings : team.gather(to_json(origin.theoretical))) rooflines.push_back(roofline_from_json(ceilings));
    origin.theoretical = lowest(rooflines);
  }
  origin.ranks = crew.ranks;
  if (crew.ranks.size() > 1) {
    for (Finding& finding : origin.findings) finding.ranks = {0};  // each rank knows its own device
  }
  std::vector<std::vector<Circumstance>> by_rank;
  for (const Json& one : team.gather(to_json(origin.health))) by_rank.push_back(health_from_json(one));
  origin.health = team_health(by_rank);
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

/// While this lives, every step of the team is reported to the watch, so that no rank waits forever.
class Watched {
 public:
  /// `session` is that of a run, which is abandoned from the channel's thread.
  Watched(MpiTeam& team, const RunOptions& options, const SharedSession* session = nullptr)
      : team_(team), program_(options.program), session_(session) {
    TeamWatch::Setup setup;
    setup.rank = team.rank();
    setup.size = team.size();
    setup.timeout_seconds = options.timeout;
    setup.describe = [&team](int rank) { return team.describe(rank); };
    setup.say = [this](const std::string& line) { say(line); };
    if (session) setup.way_back = [session] { return session->way_back(); };
    setup.on_standstill = [this](const Standstill& standstill) { complete(standstill.reason); };
    // Leaves time for the other waiting ranks to report, and for a failing rank 0 to receive their answers.
    setup.leave = [] { end_all_ranks(kNotMeasured, 3); };
    channel_ = meet(team, setup);
    channel_->doing("opening the devices");
    team.on_step([this] { channel_->step(); });
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

TerminalStyle team_style(const RunOptions& run) {
  TerminalStyle style = terminal_style(stdout);
  // A launcher may give its ranks a terminal whatever its own output goes to.
  if (launcher_count()) style.interactive = style.colour = false;
  if (!run.color.empty()) style.colour = run.color == "yes";
  return style;
}

int measure_team(MpiTeam& team, TeamJob job, const TeamOptions& options, Watch& watch, SharedSession& session) {
  const RunOptions& run = options.run;
  const Crew crew = assemble_crew(team, options);
  if (team.rank() == 0 && !run.quiet) {
    fmt::print(said_beside(options), "{}", ranks_table(crew.ranks, team_style(run)));
    std::fflush(said_beside(options));
  }
  watch.doing("listing the cases");
  Fabric fabric = job == TeamJob::collectives ? together(team, [&] { return make_fabric(team, crew); }) : Fabric();
  fabric.step = [&] { watch.part(); };
  return run_plan(run,
                  {*crew.device, team, watch, team_plan(team, job, crew, fabric, run.selection), origin_of(team, crew, job),
                   crew.note, team_style(run)},
                  session);
}

}  // namespace

void check_world(const TeamOptions& options, MpiTeam& team) {
  const int size = team.size();
  together(team, [&] {
    if (const auto launcher = launcher_count(); launcher && launcher->ranks != size) {
      throw UsageError(
          fmt::format("MPI reports {} rank{}, the launcher {} ({}): this program was built with a different MPI from "
                      "the one that started it, so each process runs alone; use the launcher of that MPI",
                      size, size == 1 ? "" : "s", launcher->ranks, launcher->variable));
    }
    if (options.expect_ranks && *options.expect_ranks != size) {
      throw UsageError(
          fmt::format("--expect-ranks {}, but {} rank{} started", *options.expect_ranks, size, size == 1 ? "" : "s"));
    }
    return true;
  });
  if (team.rank() == 0 && !options.run.quiet)
    fmt::print(said_beside(options), "{}\n",
               size == 1 ? "1 rank: nothing crosses a link; start more with mpirun -np N or srun -n N"
                         : fmt::format("{} ranks", size));
}

int run_team(MpiTeam& team, TeamJob job, const TeamOptions& options) {
  SharedSession session;
  const Watched watched(team, options.run, &session);
  return watched.during([&](Watch& watch) { return measure_team(team, job, options, watch, session); });
}

int team_info(MpiTeam& team, const TeamOptions& options) {
  const Watched watched(team, options.run);
  return watched.during([&](Watch&) {
    const Crew crew = assemble_crew(team, options);
    if (team.rank() != 0) return kOk;
    if (!crew.note.empty()) say(options.run.program, crew.note);
    const Roofline links = theoretical_links(crew.ranks);
    if (options.json) {
      Json ranks = Json::array();
      for (const RankInfo& rank : crew.ranks) ranks.push_back(to_json(rank));
      const Json all = {{"ranks", ranks}, {"ceilings", to_json(links)}, {"build", describe_build()}};
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
    return kOk;
  });
}

int list_team(MpiTeam& team, TeamJob job, const TeamOptions& options) {
  const Watched watched(team, options.run);
  return watched.during([&](Watch&) {
    const Crew crew = assemble_crew(team, options);
    const Fabric fabric = together(team, [&] { return make_fabric(team, crew); });
    const Plan cases = team_plan(team, job, crew, fabric, options.run.selection);
    if (team.rank() == 0) print_plan(cases, options.run, "collectives", options.json, team_style(options.run));
    return kOk;
  });
}

}  // namespace roofmark
