// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/held_power.hpp"
#include "harness/model/comparison.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// A Comparison whose two cases are both ok.
struct ComparisonResult {
  Comparison comparison;
  double ratio = 0;                 ///< seconds(denominator) / seconds(numerator) x work_ratio
  std::optional<double> low, high;  ///< 95 % interval, from pairs of blocks
};

/// Derived results of one device's records. Recomputed whenever a file is written, so a recovered file equals a complete one.
struct Analysis {
  Roofline roofline;
  std::vector<ComparisonResult> comparisons;
  std::vector<Finding> findings;
  std::set<FindingKind> unseen;  ///< kinds that these records could show but lack the data for
};

/// Sets the empirical ceilings by the ceilings family's records, places every ok record on them, marks the theoretical
/// ceilings that a record exceeds as doubtful, and draws comparisons and findings. No record changes its status.
/// `timing_overhead_seconds`: overhead of timing per sample.
Analysis analyze(Roofline theoretical, std::vector<Record>& records, const std::vector<Comparison>& comparisons,
                 std::optional<double> timing_overhead_seconds = {}, const PowerLimits& power_limits = {});

/// The exit status of a run with these records: the worst that one calls for; ranks, or two measurements of one case, that must
/// give equal bits and differ are wrong.
int exit_status(const std::vector<Record>& records);

}  // namespace roofmark
