// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace roofmark {

/// Per element, after an operation's formula: additions, multiplications, divisions, roots and comparisons; and exponentials,
/// where a tanh and an erf take one each.
struct OperationCounts {
  double flops = 0, exponentials = 0;
};

/// A family's operations stand in one table, a row each, in the order of their enumeration.
template <class Row, std::size_t rows>
constexpr bool rows_in_order(const Row (&table)[rows]) {
  for (std::size_t i = 0; i < rows; ++i) {
    if (static_cast<std::size_t>(table[i].op) != i) return false;
  }
  return true;
}

}  // namespace roofmark
