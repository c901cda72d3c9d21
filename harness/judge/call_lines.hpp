// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/model/comparison.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// time = fixed + n x each, over the values n of one key, by fit_line_relative(): for calls timed by the host, and for device
/// times without Work, such as barriers. Needs three values.
struct CallLine {
  CaseName series;           ///< the records' name without the key
  std::string key;           ///< "nodes", "bytes"
  double fixed_seconds = 0;  ///< 0 where the line starts at its lower bound
  double each_seconds = 0;
  std::optional<double> r2;  ///< of the same weighted fit; absent where all times are equal
  int points = 0;            ///< values of the key

  /// For the flatter of two compared lines: the measured range's count from which it is faster (0: always), and the other
  /// line's series. Absent if either fit is not a straight line (kLeastR2), if each count costs about the same on both, or if
  /// the lines cross beyond what was measured.
  std::optional<double> faster_from = {};
  std::optional<CaseName> than = {};
  double least = 0, most = 0;  ///< values of the key
};

/// `comparisons`: pairs of cases; the lines of the two are compared.
std::vector<CallLine> call_lines(const std::vector<Record>& records, const std::vector<Comparison>& comparisons);

}  // namespace roofmark
