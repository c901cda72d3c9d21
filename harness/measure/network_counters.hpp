// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/model/counter.hpp"

namespace roofmark {

/// Readings by port, each by the ids of kCounters.
using PortReadings = std::map<std::string, std::map<std::string, double>>;

/// The counters of CounterOf::host between two readings: over the ports that were up before, the sums of before and after. A
/// counter that some port does not give after, or that was reset there, is one that could not be read or was reset, unless what
/// is known got worse. One that stood at its highest value before the run, where it stays, is not counted.
std::vector<CounterChange> network_changes(int rank, const PortReadings& before, const PortReadings& after);

}  // namespace roofmark
