// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// A row of the scaling table. A perfect ring of any length has the same busbw, so efficiencies are ratios of busbw, n ranks
/// against the smallest team n0 of at least 2 in the same series:
///   weak    the same count: each call has as much per rank
///   strong  the same size, where that is of all ranks' parts: each rank has the less, the more there are
/// The size of an all-reduce is that of each rank's buffer: it has no strong efficiency. Sizes that differ by at most 2 % count
/// as equal (they consist of whole chunks). Absent if the other size was not measured.
struct ScalingRow {
  CaseName series;  ///< name without bytes and ranks
  int ranks = 1;
  std::size_t bytes = 0;
  double seconds = 0;
  std::optional<double> busbw;  ///< absent of one rank
  std::optional<double> strong_efficiency, weak_efficiency;
};

/// For series measured with several numbers of ranks.
std::vector<ScalingRow> scaling_of(const std::vector<Record>& records);

}  // namespace roofmark
