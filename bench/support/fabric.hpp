// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/team/rank_info.hpp"
#include "kernels/collectives.hpp"

namespace roofmark {

/// What connects the ranks of a team: where they are, and how groups of them speak.
struct Fabric {
  std::string how;  ///< "mpi", "nccl"
  std::vector<RankInfo> members;
  int rank = 0;
  /// The communicator of the ranks that have this rank's colour; null for a negative one. Called by all ranks together, with
  /// the same colours, by rank; a second call with the same colours gives the same communicator.
  std::function<std::shared_ptr<Communicator>(const std::vector<int>& colours)> split;
  /// Called before every collective: this rank has come so far.
  std::function<void()> step = [] {};
  /// Types that the library reduces, and kinds of memory it offers beside plain.
  std::vector<DataType> types;
  std::vector<Buffer> buffers;
};

}  // namespace roofmark
