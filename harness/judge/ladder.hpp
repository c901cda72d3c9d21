// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/access_latency.hpp"

namespace roofmark {

/// One size of a series.
struct LadderPoint : AccessLatency {
  std::size_t bytes = 0;      ///< the range of the accesses
  double relative_error = 0;  ///< standard error of the median / the median; 0: unknown
};

/// A plateau of the latency over the size.
struct LadderLevel {
  /// The resource that its largest range demands: a guess from the device's cache sizes, which the search for plateaus does not
  /// use. A plateau that goes on beyond a cache is not that cache's. `step` counts the levels of one resource: the parts of a
  /// cache, or DRAM beyond the reach of the TLB.
  std::string resource;
  int step = 1;
  std::size_t smallest_bytes = 0, largest_bytes = 0;  ///< sizes on the plateau
  std::optional<std::size_t> beyond_bytes;            ///< the next size, which is above it; absent on the last level
  double seconds = 0;                                 ///< per access: the median of its points
  std::optional<double> cycles;                       ///< likewise, each at the clock of its record
  int points = 0;
};

/// The latency of dependent accesses over the size of their range.
struct Ladder {
  CaseName series;  ///< the records' name without its bytes and stride
  std::vector<LadderPoint> points;
  std::vector<LadderLevel> levels;
};

/// For all series of ok records that demand only accesses and whose names differ only in bytes and stride; each size once.
/// Excludes series per SM (SmLatencies) and with a background (LoadedLatencies).
std::vector<Ladder> ladders_of(const std::vector<Record>& records);

/// The plateaus of points that are sorted by size: the partition of the points into levels, and points between levels, with the
/// lowest cost. A level costs kLevel, and for each of its points the square of the distance of its logarithm from the level's
/// median in standard errors, at most kBetween, which a point between levels costs. A level has two points or more, its ends
/// and most of the others within that distance, rises by less than kLeastRise, kFlatter than to the points beside it, and
/// exceeds the level before by kLeastRise.
std::vector<LadderLevel> levels_of(const std::vector<LadderPoint>& points);

}  // namespace roofmark
