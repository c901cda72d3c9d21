// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/judge/ranks/places.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// Identical devices must give identical bits: the ranks whose bits differ from the majority's.
std::vector<Finding> differing_fingerprints(const std::vector<Record>& records, const Places& places);

}  // namespace roofmark
