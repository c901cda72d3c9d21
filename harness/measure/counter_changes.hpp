// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/device/telemetry.hpp"
#include "harness/model/counter.hpp"

namespace roofmark {

// Between two readings, the sums over the parts that were read before. A counter that some part does not give after, or that
// was reset there, is one that could not be read or was reset, unless what is known got worse.

/// The counters of CounterOf::device; also of what could be read only after the run.
std::vector<CounterChange> device_changes(int rank, const CounterReadings& before, const CounterReadings& after);

/// The counters of CounterOf::host; of network ports those that were up before. One that stood at its highest value before the
/// run, where it stays, is not counted.
std::vector<CounterChange> host_changes(int rank, const CounterReadings& before, const CounterReadings& after);

}  // namespace roofmark
