// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// How far the clock fell below the rated one, and why. Of several ranks each cause once, with all ranks that have it; a fall
/// without a cause that the driver names is one of the rank alone whose telemetry the record has.
void find_slow_clock(const Record& record, const Roofline& roofline, std::vector<Finding>& findings);

}  // namespace roofmark
