// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"
#include "harness/model/scope.hpp"

namespace roofmark {

/// good: use the numbers; doubtful: the headline says which numbers are less certain than they look; bad: a result is wrong,
/// something was not measured, or the device reports faults.
enum class Trust { good, doubtful, bad };

inline constexpr std::string_view kTrusts[] = {"good", "doubtful", "bad"};

constexpr std::string_view name(Trust trust) { return kTrusts[static_cast<int>(trust)]; }

constexpr std::optional<Trust> find_trust(std::string_view name) {
  for (int i = 0; i < 3; ++i) {
    if (kTrusts[i] == name) return Trust(i);
  }
  return std::nullopt;
}

/// Why a run ended before its last case.
struct RunEnd {
  std::string reason;
  std::string case_name;  ///< in which it ended; empty: between two
};

/// How far to trust the results of a run, and what to do next.
struct RunVerdict {
  Trust trust = Trust::good;
  std::string headline;
  std::string advice;  ///< empty if there is nothing to do
};

/// Of the run's cases, those without a record: it did not reach them, or its file has lost them.
std::size_t without_record(const RunScope& scope, const std::vector<Record>& records);

/// Whether one says that a device or a host has faults (Doubt::device, Doubt::host): no run that saw them is good, even if each
/// result is right.
bool reports_faults(const std::vector<Finding>& findings);

/// `slow`: for a team, the slow rank, host or link; empty without a team.
RunVerdict judge_run(const RunScope& scope, const std::vector<Record>& records, const std::vector<Finding>& findings,
                     const std::optional<RunEnd>& ended, const std::string& slow);

}  // namespace roofmark
