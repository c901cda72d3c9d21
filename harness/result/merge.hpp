// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/result/run.hpp"

namespace roofmark {

/// One of several devices that were measured at the same time, each in its own process.
struct MeasuredDevice {
  RankInfo rank;      ///< its rank is the device's index
  Run run;            ///< what its process recorded
  std::string ended;  ///< why its process recorded no more: "signal 9 (Killed)"; empty: it reached its end

  /// Whether the process recorded anything.
  bool recorded() const { return !run.header.facts.started_utc.empty(); }
};

/// Merges the devices' runs into one run of a team, one rank per device. Each case takes the record of the slowest device, with
/// the times of every device added. A case is wrong if it is wrong on any device; it failed or was not run only where no device
/// has a result. A device that lacks a result of an ok case has no times, and a note of the record says why. The header is that
/// of the first device that recorded anything, with the lowest theoretical ceilings of all. Throws std::invalid_argument where
/// no device recorded anything.
Run merge(const std::vector<MeasuredDevice>& devices);

}  // namespace roofmark
