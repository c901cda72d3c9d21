// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// Cases that a run measured more than once with one fingerprint key, as it does the ceilings, before the suite and after it.
struct RepeatedBits {
  int cases = 0;
  std::vector<std::string>
      changed;  ///< names of those whose bits differ: something flipped, in one of the measurements or in all
};

RepeatedBits repeated_bits(const std::vector<Record>& records);

/// The finding `changed_bits` on them; empty where none changed.
std::vector<Finding> find_changed_bits(const std::vector<Record>& records);

}  // namespace roofmark
