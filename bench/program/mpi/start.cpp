// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/mpi/start.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "harness/machine/host.hpp"
#include "harness/model/exit_status.hpp"
#include "harness/present/terminal.hpp"
#include "harness/team/mpi/team.hpp"

namespace roofmark {

namespace {

/// "rank 2 (node7)", by the launcher's word.
std::string by_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(variable)) return fmt::format("rank {} ({})", rank, host_name());
  }
  return fmt::format("a rank ({})", host_name());
}

}  // namespace

Start::Start(double seconds) : seconds_(seconds), watch_(seconds, [this](const Standstill&) { give_up(); }) {}

void Start::know(int rank, int size) {
  size_ = size;
  rank_ = rank;
  step();
}

void Start::give_up() const {
  const int rank = rank_;
  const std::string who = rank < 0 ? by_launcher() : fmt::format("rank {} ({})", rank, host_name());
  const std::string where = rank < 0 ? "MPI_Init does not return"
                                     : fmt::format("MPI began with {} ranks, and one of them does not answer", size_.load());
  say("roofmark-mpi", fmt::format("{} has waited {:g} s for all ranks to start: {}", who, seconds_, where));
  // The others have waited for as long, and say so.
  end_all_ranks(kNotMeasured, 3);
}

}  // namespace roofmark
