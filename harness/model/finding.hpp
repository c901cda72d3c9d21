// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace roofmark {

/// What a reader must know before trusting the numbers.
struct Finding {
  std::string
      kind;  ///< drift, throttle, clock, nondeterministic, above_roof, unsettled, gate, foreign_process, unknown_device, cache
  std::string text;
  std::string case_name;  ///< empty: of the whole run
};

}  // namespace roofmark
