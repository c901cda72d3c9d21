// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace roofmark {

/// Seconds by the host's clock that never goes back, std::chrono::steady_clock, since its epoch. Nanoseconds are lost after
/// months without a reboot: durations that short are taken from the clock itself.
double steady_seconds();

/// Lets the calling thread sleep, not at all where `seconds` is not above 0.
void sleep_seconds(double seconds);

}  // namespace roofmark
