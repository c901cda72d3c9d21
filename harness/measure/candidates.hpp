// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/protocol.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

/// Marks a void sample. In a team, one rank's void sample voids the others' at the same index.
inline constexpr double kVoidSample = std::numeric_limits<double>::infinity();

/// Launches per sample: enough to reach Effort::sample_seconds, within Effort::max_launches. If they are issued as a graph over
/// `graph_slots` slots, more are allowed: a multiple of the slots, so that one graph serves every sample. A case on the gate's
/// path stays there, even if a graph could hold more launches: launch times of the two paths differ.
int launches_per_sample(double seconds_per_launch, const Effort& effort, int graph_slots = 0);

/// Seconds per launch of each candidate, by a short run of the measuring loop; infinity on all ranks if it fails on any. Before
/// each comes `rest`, so that none is slower because a power cap acts since the one before. Every rank calls it at the same
/// point; ranks may have different numbers of candidates. Throws DeviceError if no candidate is left.
std::vector<double> time_candidates(Device& device, Team& team, const Settings& settings, const std::vector<Launch>& candidates,
                                    const Protocol& protocol, int slots, const std::function<void()>& rest);

}  // namespace roofmark
