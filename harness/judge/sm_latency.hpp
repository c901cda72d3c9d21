// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/access_latency.hpp"

namespace roofmark {

/// The key for the SM that a case runs on.
inline constexpr const char* kSmKey = "sm";

struct SmLatency : AccessLatency {
  int sm = 0;
};

/// SMs at one distance from the line that they access.
struct SmLevel {
  std::vector<int> sms;
  double seconds = 0;            ///< the median of its SMs
  std::optional<double> cycles;  ///< likewise, each at the clock of its record
};

/// The latency of the same accesses from several SMs.
struct SmLatencies {
  CaseName series;                ///< the records' name without the SM
  std::vector<SmLatency> points;  ///< from the fastest to the slowest
  /// A level ends where the next SM is slower by kSmStep or more.
  std::vector<SmLevel> levels;
};

/// Above the differences between SMs at the same part of an L2, below those between the two parts on H100 and A100.
inline constexpr double kSmStep = 1.1;

/// For all series of ok records that demand only accesses and whose names differ only in the SM.
std::vector<SmLatencies> sm_latencies(const std::vector<Record>& records);

}  // namespace roofmark
