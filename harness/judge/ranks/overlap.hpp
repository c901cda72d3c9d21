// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// Work alone, communication alone, and both together.
struct Overlap {
  CaseName series;  ///< what the three names have in common
  double work_seconds = 0, communication_seconds = 0, together_seconds = 0;
  /// (work + communication - together) / the shorter of the two alone, not clamped: 1 where both take as long as the longer
  /// one, 0 where they take as long as one after the other. The mean of the blocks', without two of them that of the medians.
  double hidden = 0;
  std::optional<double> hidden_half_width;  ///< of its 95 % interval, by the blocks
  /// The share of the communication that the work lasts, 1 at most: hidden x covered is the share of the communication hidden.
  double covered = 0;
  /// together / work - 1, only if the work takes longer: it then ends last, and this is its slow-down.
  std::optional<double> slow_down;
};

/// For each series with three ok parts.
std::vector<Overlap> overlaps_of(const std::vector<Record>& records);

}  // namespace roofmark
