// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/listing.hpp"

namespace roofmark {

std::string_view name(SuiteName suite) {
  constexpr std::string_view names[] = {"smoke", "quick", "baseline", "full", "sustained", "contract"};
  return names[static_cast<int>(suite)];
}

}  // namespace roofmark
