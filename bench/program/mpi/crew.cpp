// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/mpi/crew.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "bench/program/together.hpp"
#include "bench/program/usage_error.hpp"
#include "bench/support/fabric.hpp"
#include "bench/support/last_used.hpp"
#include "harness/device/cuda_device.hpp"
#include "harness/machine/facts.hpp"
#include "harness/machine/host.hpp"
#include "harness/result/team_json.hpp"
#include "harness/team/gather.hpp"
#include "kernels/base/check.hpp"
#include "kernels/mpi/collectives.hpp"

namespace roofmark {

namespace {

/// This rank's number among the ranks of its host.
int local_rank(const std::vector<std::string>& hosts, int rank) {
  const auto own = hosts.begin() + rank;
  return static_cast<int>(std::count(hosts.begin(), own, *own));
}

/// What to say of machines that have the same name; empty if none have.
std::string same_names(const std::vector<std::string>& hosts) {
  std::vector<std::string> numbered;
  for (const std::string& host : hosts) {
    const bool is_new = std::find(numbered.begin(), numbered.end(), host) == numbered.end();
    if (is_new && host.find('#') != std::string::npos) numbered.push_back(host);
  }
  if (numbered.empty()) return {};
  return fmt::format("machines with the same host name (their boot_ids differ) are numbered: {}", fmt::join(numbered, ", "));
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
      throw DeviceError(fmt::format("{} sees no GPU, but other ranks do: give --device cuda or cpu", team.describe(rank)),
                        false);
    }
    wanted = without == 0 ? "cuda" : "cpu";
    const std::vector<std::string> broken = team.gather(cuda.unusable > 0 ? unusable_in_words(cuda) : std::string());
    const auto first = std::find_if(broken.begin(), broken.end(), [](const std::string& why) { return !why.empty(); });
    if (without != 0 && first != broken.end()) {
      throw DeviceError(fmt::format("{}: {}", team.describe(static_cast<int>(first - broken.begin())), *first), false);
    }
    if (without != 0) note = "no GPU can be used, so the CPUs and MPI between them are measured: " + cuda.reason;
  }
  if (wanted == "cpu") return "cpu";
  if (cuda.ordinals.empty()) throw DeviceError("no GPU can be used: " + cuda.reason, false);
  return fmt::format("cuda:{}", cuda.ordinals[static_cast<std::size_t>(local) % cuda.ordinals.size()]);
}

/// Ranks of a host that may use the same cores divide them; with fewer cores than ranks they take turns.
void share_cores(MpiTeam& team, const std::vector<std::string>& hosts) {
  const std::vector<int> cores = first_cpus("/", allowed_cpus());
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

}  // namespace

Crew assemble_crew(MpiTeam& team, const TeamOptions& options) {
  Crew crew;
  const std::vector<std::string>& hosts = team.hosts();
  const int local = local_rank(hosts, team.rank());
  const auto beside = std::count(hosts.begin(), hosts.end(), hosts[static_cast<std::size_t>(team.rank())]);
  std::string note;
  const std::string id = together(team, [&] { return choose_device(team, options.run.selection.device, local, note); });
  crew.note = same_names(hosts);
  if (!note.empty()) crew.note = note + (crew.note.empty() ? "" : "; ") + crew.note;
  if (id == "cpu") share_cores(team, hosts);
  crew.device = together(team, [&] { return open_device(id); });
  crew.info = crew.device->info();
  RankInfo member = describe_rank(crew.info);
  member.rank = team.rank();
  member.host = hosts[static_cast<std::size_t>(team.rank())];
  member.local_rank = local;
  member.versions.emplace_back("roofmark", build_key());
  member.versions.emplace_back("MPI", mpi::library());
  if (crew.info.backend == Backend::cuda && &cuda::nccl) {
    member.versions.emplace_back("NCCL", together(team, [] { return std::to_string(cuda::nccl.version()); }));
  }
  crew.ranks = team.gather(member);
  if (const std::string reason = mismatch(crew.ranks); !reason.empty()) throw TeamError(reason);
  // Every rank lists the same cases: the smallest memory bounds the sizes, and ranks of a host or a GPU share its memory.
  const auto sharing = crew.info.backend == Backend::cpu ? beside : ranks_on_gpu(crew.ranks, team.rank());
  crew.info.used_bytes /= static_cast<std::size_t>(sharing);
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

Fabric make_fabric(MpiTeam& team, const Crew& crew, Watch& watch) {
  Fabric fabric;
  fabric.members = crew.ranks;
  fabric.rank = team.rank();
  // All ranks ask for the same colours in the same order, so they close the same communicators at the same time.
  using Made = LastUsed<std::vector<int>, std::shared_ptr<Communicator>>;
  const auto made = std::make_shared<Made>(kKeptCommunicators);
  const auto once = [&team, &watch, made](const auto& make) {
    return [&team, &watch, made, make](const std::vector<int>& colours) {
      if (const std::shared_ptr<Communicator>* const known = made->use(colours)) {
        if (team.max({*known && !(*known)->is_usable() ? 1.0 : 0.0}).front() == 0) return *known;
        made->erase(colours);
      }
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
      if (made->is_full()) watch.named_part("closing the communicator that was used least recently");
      return made->add(colours, std::move(communicator));
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
  fabric.split = once([&team, &watch](const std::vector<int>& colours) -> std::shared_ptr<Communicator> {
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
    watch.named_part(fmt::format("creating an NCCL communicator of {} ranks", size));
    return cuda::nccl.create(identities[first], size, place);
  });
  return fabric;
}

}  // namespace roofmark
