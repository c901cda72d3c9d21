// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// The time of one dependent access.
struct AccessLatency {
  std::string case_name;
  double seconds = 0;
  std::optional<double> clock_hz;  ///< of the record
  std::string resource;            ///< that the record demands

  std::optional<double> cycles() const { return clock_hz ? std::optional(seconds * *clock_hz) : std::nullopt; }
};

/// For an ok record that demands only accesses of one resource.
std::optional<AccessLatency> access_latency(const Record& record);

}  // namespace roofmark
