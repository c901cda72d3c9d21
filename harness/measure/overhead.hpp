// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/device/device.hpp"

namespace roofmark {

/// Device seconds of a sample without a launch, the median of many: what the timing itself (on a GPU the two events behind the
/// gate) adds to every sample. Samples go on until two medians agree, since an idle device's clock rises at first: for 50 ms to
/// half a second. Absent where the device fails or no empty sample is valid: its first case will say why.
std::optional<double> timing_overhead_seconds(Device& device);

/// Median time between two consecutive readings of the host's clock: the part of a single call's measured time that the timing
/// adds.
double clock_overhead_seconds();

}  // namespace roofmark
