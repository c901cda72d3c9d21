// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/team/team.hpp"
#include "kernels/base/mpi.hpp"

namespace roofmark {

/// MPI from its beginning to its end, for the thread that makes it. Throws DeviceError; errors of later calls throw too,
/// instead of ending the program, where MPI lets them.
class MpiSession {
 public:
  MpiSession(int* argc, char*** argv);
  /// Ends MPI; not on the way out of an exception, where the other ranks may be inside a collective.
  ~MpiSession();
  /// Of the world.
  int rank() const;
  int size() const;
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

/// Ends the processes of all ranks, with this status wherever the launcher passes it on: for a rank that fails alone, or that
/// waits for one that does not come. Some launchers drop what the other ranks still have to say or to write, so there is some
/// time for that before. From any thread.
[[noreturn]] void end_all_ranks(int status, double grace_seconds);

/// The world's ranks that the launcher says it started, by its variable: OMPI_COMM_WORLD_SIZE, else PMI_SIZE, else
/// SLURM_STEP_NUM_TASKS, which unlike SLURM_NTASKS is of this step. An mpirun inside of a Slurm step inherits the step's, so
/// that the first of them is the one that counts. Absent without one.
struct LauncherCount {
  std::string variable;
  int ranks = 0;
};
std::optional<LauncherCount> launcher_count();

/// The team of all ranks of the world. Before anything else each call lets the ranks exchange whether one has failed or was
/// interrupted, in one reduction of a few bits, which is also the barrier.
class MpiTeam final : public Team {
 public:
  /// `on_step` is called before every exchange; `interrupted` may be null.
  MpiTeam(const std::atomic<bool>* interrupted, std::function<void()> on_step);
  ~MpiTeam() override;
  MpiTeam(const MpiTeam&) = delete;
  MpiTeam& operator=(const MpiTeam&) = delete;

  int size() const override { return size_; }
  int rank() const override { return rank_; }
  void barrier() override;
  bool agree(bool ok) override;
  std::int64_t decide(std::int64_t value) override;
  std::vector<double> max(std::vector<double> values) override;
  std::string describe(int rank) const override;

  MPI_Comm world() const { return world_; }
  int host_count() const;
  /// By rank; distinct_names of its machines.
  const std::vector<std::string>& hosts() const { return hosts_; }
  void on_step(std::function<void()> step) { on_step_ = std::move(step); }

 private:
  bool exchange(bool ok);
  std::vector<std::string> gather_bytes(const std::string& bytes, bool interrupted) override;
  std::vector<std::string> gather_unchecked(const std::string& bytes);

  MPI_Comm world_ = MPI_COMM_NULL;
  int size_ = 1, rank_ = 0;
  const std::atomic<bool>* interrupted_;
  std::function<void()> on_step_;
  std::vector<std::string> hosts_;
};

}  // namespace roofmark
