// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// A Comparison whose two cases are both ok.
struct ComparisonResult {
  Comparison comparison;
  double ratio = 0;                 ///< seconds(denominator) / seconds(numerator)
  std::optional<double> low, high;  ///< 95 % interval, from pairs of blocks
};

/// All that follows from the records of one device; made anew from them whenever a file is written, so that a recovered file
/// says what a whole one would.
struct Analysis {
  Roofline roofline;
  std::vector<ComparisonResult> comparisons;
  std::vector<Finding> findings;
};

/// Raises the empirical ceilings from the ceilings family's records, places every ok record on them (an impossible rate turns
/// it into wrong), and draws comparisons and findings.
Analysis analyze(Roofline theoretical, std::vector<Record>& records, const std::vector<Comparison>& comparisons);

/// The exit status that the records call for: 1 anything wrong, else 3 something could not be measured, else 0.
int exit_status(const std::vector<Record>& records);

}  // namespace roofmark
