// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/model/case_name.hpp"

namespace roofmark {

/// How many times faster the numerator is: seconds(denominator) / seconds(numerator) x work_ratio, of two records of one run
/// which differ in the value of one key; where a name lacks it, its absence means a value.
struct Comparison {
  std::string name;       ///< the two values: "tuned against default"
  std::string key;        ///< "algo"
  CaseName numerator;     ///< the case that is expected to be faster
  CaseName denominator;   ///< the case it is compared with
  double work_ratio = 1;  ///< work of the numerator / work of the denominator where rates are compared, not times
};

}  // namespace roofmark
