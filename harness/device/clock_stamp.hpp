// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace roofmark {

/// The cycle counter of an SM and the device's nanosecond timer, read one after the other by one thread.
struct ClockStamp {
  std::uint32_t sm = 0;
  std::uint64_t cycles = 0, nanoseconds = 0;
};

/// The median of clocks in Hz; absent without any, and where the median lies outside 2.5 % to 125 % of `highest_hz` (a card
/// that boosts exceeds the clock that it states by up to 8 %): a timer that runs at another rate than it says, under some
/// hypervisors, gives what no SM can do.
std::optional<double> median_clock_hz(std::vector<double> clocks, std::optional<double> highest_hz);

/// The mean SM clock between two sets of stamps, idle time included: the median, over the SMs that are in both, of cycles /
/// time. An SM whose counter or timer did not advance (it was reset, or power-gated) counts for nothing. The timer advances in
/// steps of 32 ns to about 1 us, so an SM counts from 1 ms on: there both ends together are 0.2 % off at most, and 0.03 % over
/// a block of 8 ms.
std::optional<double> mean_clock_hz(const std::vector<ClockStamp>& first, const std::vector<ClockStamp>& last,
                                    std::optional<double> highest_hz, std::uint64_t least_nanoseconds = 1'000'000);

}  // namespace roofmark
