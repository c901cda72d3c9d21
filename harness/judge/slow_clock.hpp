// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// How far the clock fell below the rated one during a record, and why. In a file of several devices each is judged by its own
/// clock and throttle reasons, and by the driver's clock of it where it fell without a reason.
void find_slow_clock(const Record& record, const Roofline& roofline, std::vector<Finding>& findings);

}  // namespace roofmark
