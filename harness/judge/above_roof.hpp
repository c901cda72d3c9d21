// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// Cases above the measured roof by more than chance explains among all cases that reach it (FindingKind::above_empirical).
std::vector<Finding> find_above_roof(const std::vector<Record>& records, const Roofline& roofline);

}  // namespace roofmark
