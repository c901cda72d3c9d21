// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/mpi/team.hpp"

#include <fmt/format.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "harness/machine/host.hpp"
#include "harness/machine/steady_seconds.hpp"

namespace roofmark {

namespace {

/// Of a call that all ranks make.
void in_step(int code) {
  try {
    check_mpi(code);
  } catch (const DeviceError& error) {
    throw TeamBroken(error.what());
  }
}

}  // namespace

MpiSession::MpiSession(int* argc, char*** argv) {
  int provided = 0;
  // Only one thread calls MPI; others (OpenMP's, the channel's) exist beside it.
  check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
  if (provided < MPI_THREAD_FUNNELED)
    throw DeviceError("this MPI supports no threads: roofmark-mpi needs MPI_THREAD_FUNNELED", false);
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

int MpiSession::rank() const {
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  return rank;
}

int MpiSession::size() const {
  int size = 0;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size));
  return size;
}

void end_all_ranks(int status, double grace_seconds) {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (!ended) sleep_seconds(grace_seconds);
  if (begun && !ended) {
    // Where another thread is inside of MPI, to abort may never come back.
    std::thread([status] {
      sleep_seconds(5);
      std::_Exit(status);
    }).detach();
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  std::_Exit(status);
}

std::optional<LauncherCount> launcher_count() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* value = std::getenv(variable)) return LauncherCount{variable, std::atoi(value)};
  }
  return std::nullopt;
}

MpiTeam::MpiTeam(const std::atomic<bool>* interrupted, std::function<void()> on_step)
    : interrupted_(interrupted), on_step_(std::move(on_step)) {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_));
  check_mpi(MPI_Comm_size(world_, &size_));
  check_mpi(MPI_Comm_rank(world_, &rank_));
  const std::vector<std::string> names = gather_unchecked(host_name()), boots = gather_unchecked(boot_id());
  std::vector<MachineIdentity> machines;
  for (std::size_t rank = 0; rank < names.size(); ++rank) machines.push_back({names[rank], boots[rank]});
  hosts_ = distinct_names(machines);
}

MpiTeam::~MpiTeam() {
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&world_);
}

// True when all ranks are well.
bool MpiTeam::exchange(bool ok) {
  constexpr unsigned kFailed = 1, kInterrupted = 2;
  if (on_step_) on_step_();
  unsigned bits = (ok ? 0 : kFailed) | (interrupted_ && interrupted_->load() ? kInterrupted : 0);
  in_step(MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UNSIGNED, MPI_BOR, world_));
  if (bits & kInterrupted) throw Interrupted();
  return !(bits & kFailed);
}

void MpiTeam::barrier() {
  if (!exchange(true)) throw PeerFailed();
}

bool MpiTeam::agree(bool ok) { return exchange(ok); }

std::int64_t MpiTeam::decide(std::int64_t value) {
  barrier();
  in_step(MPI_Bcast(&value, 1, MPI_INT64_T, 0, world_));
  return value;
}

std::vector<double> MpiTeam::max(std::vector<double> values) {
  barrier();
  in_step(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, world_));
  return values;
}

std::vector<std::string> MpiTeam::gather_bytes(const std::string& bytes, bool interrupted) {
  if (!interrupted) barrier();
  return gather_unchecked(bytes);
}

std::vector<std::string> MpiTeam::gather_unchecked(const std::string& bytes) {
  const auto ranks = static_cast<std::size_t>(size_);
  const int length = static_cast<int>(bytes.size());
  std::vector<int> lengths(ranks), starts(ranks);
  in_step(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, world_));
  std::int64_t total = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    starts[r] = static_cast<int>(total);
    total += lengths[r];
    if (total > INT_MAX) throw std::length_error("the ranks gather more bytes than MPI can count");
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  in_step(MPI_Allgatherv(bytes.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, world_));
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < ranks; ++r) {
    parts.push_back(all.substr(static_cast<std::size_t>(starts[r]), static_cast<std::size_t>(lengths[r])));
  }
  return parts;
}

std::string MpiTeam::describe(int rank) const {
  return fmt::format("rank {} ({})", rank, hosts_.at(static_cast<std::size_t>(rank)));
}

int MpiTeam::host_count() const { return static_cast<int>(std::set<std::string>(hosts_.begin(), hosts_.end()).size()); }

}  // namespace roofmark
