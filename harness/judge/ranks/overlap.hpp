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
  double hidden = 0;                        ///< (work + communication - together) / communication; not clamped
  std::optional<double> hidden_half_width;  ///< of its 95 % interval, by those of the three medians
  /// together / work - 1, only if the work takes longer: it then ends last, and this is its slow-down.
  std::optional<double> slow_down;
};

/// For each series with three ok parts.
std::vector<Overlap> overlaps_of(const std::vector<Record>& records);

}  // namespace roofmark
