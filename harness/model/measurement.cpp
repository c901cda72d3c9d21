// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/measurement.hpp"

namespace roofmark {

std::optional<double> Block::clock_hz() const {
  if (mean_clock_hz) return mean_clock_hz;
  if (first_clock_hz && last_clock_hz) return (*first_clock_hz + *last_clock_hz) / 2;
  return last_clock_hz ? last_clock_hz : first_clock_hz;
}

std::optional<double> Measurement::slowest_clock_hz() const {
  const RankTimes* slowest = nullptr;
  for (const auto& rank : ranks) {
    if (rank && (!slowest || rank->median > slowest->median)) slowest = &*rank;
  }
  return slowest && slowest->clock_hz ? slowest->clock_hz : clock_hz;
}

}  // namespace roofmark
