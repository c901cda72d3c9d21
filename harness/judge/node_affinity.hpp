// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// Per GPU the NUMA node whose memory it reaches faster than that of its own node, if there is one: node_affinity. These
/// records are of transfers. Of each series the largest size counts that was measured on both nodes, and up to 5 % is noise; a
/// node must be faster in more than half of the series.
std::vector<Finding> faster_far_nodes(const std::vector<const Record*>& transfers);

}  // namespace roofmark
