// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

namespace roofmark {

/// How far each NUMA node's memory is from each node's CPUs, by the firmware's table; 10: its own. Empty if the kernel reports
/// none.
using NodeDistances = std::map<std::pair<int, int>, int>;

}  // namespace roofmark
