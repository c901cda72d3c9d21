// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/clock_stamp.hpp"

#include <algorithm>
#include <cstddef>

namespace roofmark {

std::optional<double> median_clock_hz(std::vector<double> clocks, std::optional<double> highest_hz) {
  constexpr double kLeast = 0.025, kMost = 1.25, kAnyLowest = 50e6, kAnyHighest = 10.5e9;
  if (clocks.empty()) return std::nullopt;
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  const double least = highest_hz ? kLeast * *highest_hz : kAnyLowest, most = highest_hz ? kMost * *highest_hz : kAnyHighest;
  return *middle >= least && *middle <= most ? std::optional(*middle) : std::nullopt;
}

std::optional<double> mean_clock_hz(const std::vector<ClockStamp>& first, const std::vector<ClockStamp>& last,
                                    std::optional<double> highest_hz, std::uint64_t least_nanoseconds) {
  std::vector<double> clocks;
  for (const ClockStamp& end : last) {
    const auto begin = std::find_if(first.begin(), first.end(), [&](const ClockStamp& stamp) { return stamp.sm == end.sm; });
    if (begin == first.end() || end.cycles <= begin->cycles || end.nanoseconds < begin->nanoseconds + least_nanoseconds)
      continue;
    clocks.push_back(static_cast<double>(end.cycles - begin->cycles) * 1e9 /
                     static_cast<double>(end.nanoseconds - begin->nanoseconds));
  }
  return median_clock_hz(std::move(clocks), highest_hz);
}

}  // namespace roofmark
