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

/// What connects the ranks of a team: where they are, and how groups of them communicate.
struct Fabric {
  std::string how;  ///< "mpi", "nccl"
  std::vector<RankInfo> members;
  int rank = 0;
  /// The communicator of the ranks with this rank's colour; null for a negative colour. All ranks call it together with the
  /// same colours, by rank. The same colours give the same communicator again.
  std::function<std::shared_ptr<Communicator>(const std::vector<int>& colours)> split;
  /// Called before every collective, to report progress.
  std::function<void()> step = [] {};
  /// Types that the library reduces, and kinds of memory that it has beside plain.
  std::vector<DataType> types;
  std::vector<Buffer> buffers;
};

}  // namespace roofmark
