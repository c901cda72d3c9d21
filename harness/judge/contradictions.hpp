// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// Measured ceilings that cannot both be right: an inner memory level slower than an outer one, all cores slower than one,
/// tensor cores slower than the FMAs of the same type, fp32 FMAs slower than fp64. Up to 5 % is noise.
void find_contradictions(const Roofline& roofline, std::vector<Finding>& findings);

}  // namespace roofmark
