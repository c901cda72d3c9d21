// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

namespace roofmark {

/// The result of a verification. `error` and `bound` are in the units that `detail` names.
struct Verification {
  enum class Status { passed, failed, nothing_to_verify } status = Status::failed;
  double error = 0;
  double bound = 0;
  std::string detail;
  std::size_t wrong = 0;  ///< elements, where they were counted

  static Verification nothing(std::string reason) { return {Status::nothing_to_verify, 0, 0, std::move(reason), 0}; }
  /// Passed when error <= bound; a NaN or infinite error always fails.
  static Verification within(double error, double bound, std::string detail) {
    return {std::isfinite(error) && error <= bound ? Status::passed : Status::failed, error, bound, std::move(detail), 0};
  }
};

}  // namespace roofmark
