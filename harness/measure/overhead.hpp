// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/device/device.hpp"

namespace roofmark {

/// Median device seconds of samples without a launch: the overhead of timing (on a GPU, the two events behind the gate) in
/// every sample. Repeats until two medians agree, because an idle device's clock rises at first: for 50 ms to half a second.
/// Absent if the device fails or no empty sample is valid; its first case then gives the reason.
std::optional<double> timing_overhead_seconds(Device& device);

/// Median time between two consecutive readings of the host's clock: the part of a single call's measured time that the timing
/// adds.
double clock_overhead_seconds();

}  // namespace roofmark
