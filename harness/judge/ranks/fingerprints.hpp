// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/judge/ranks/places.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// Finds ranks whose bits differ from the majority's: identical devices must give identical bits.
std::vector<Finding> differing_fingerprints(const std::vector<Record>& records, const Places& places);

}  // namespace roofmark
