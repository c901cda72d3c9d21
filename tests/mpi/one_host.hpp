// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/support/fabric.hpp"
#include "harness/team/mpi/team.hpp"
#include "kernels/mpi/collectives.hpp"

namespace roofmark {

/// MPI between the ranks of the team, as if all were on one host; each split makes communicators anew.
inline Fabric one_host(const MpiTeam& team, std::vector<DataType> types) {
  Fabric fabric;
  fabric.how = "mpi";
  fabric.rank = team.rank();
  fabric.types = std::move(types);
  for (int rank = 0; rank < team.size(); ++rank) {
    RankInfo member;
    member.rank = member.local_rank = rank;
    member.host = "host";
    fabric.members.push_back(member);
  }
  fabric.split = [&team](const std::vector<int>& colours) {
    return mpi::communicator(team.world(), colours[static_cast<std::size_t>(team.rank())]);
  };
  return fabric;
}

}  // namespace roofmark
