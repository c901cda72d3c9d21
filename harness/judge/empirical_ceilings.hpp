// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/measurement.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// Raises the empirical ceilings by the ok records of the ceilings family, those of each pass apart: by the best rate, amount /
/// median, or where the records say so (SetsCeiling::By::slope) by the inverse slope of
///   seconds of a sample = fixed + launches x seconds per launch
/// over the records of one resource, fitted on relative errors with fixed >= 0. One point, or a line that does not rise, has no
/// slope: then the best rate is the ceiling, which the fixed part can only make too low. Every launch of such records demands
/// the same amount. The ceilings of a GPU also get the clock of their probes.
void set_ceilings(Roofline& roofline, const std::vector<Record>& records);

}  // namespace roofmark
