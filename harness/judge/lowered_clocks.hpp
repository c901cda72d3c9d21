// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/device/gpu_facts.hpp"
#include "harness/model/finding.hpp"

namespace roofmark {

/// Application clocks below their default: "1.20 GHz, default 1.98 GHz". Empty if they are not lowered or not known.
std::string lowered_application_clocks(const GpuFacts& gpu);

/// The finding `clock` for them.
std::vector<Finding> find_lowered_clocks(const GpuFacts& gpu);

}  // namespace roofmark
