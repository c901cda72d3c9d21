// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace roofmark {

/// Whether the rows of a table stand in the order of the enumeration that `key` is of.
template <class Row, std::size_t size, class Enum>
constexpr bool is_in_order(const Row (&rows)[size], Enum Row::*key) {
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<std::size_t>(rows[i].*key) != i) return false;
  }
  return true;
}

}  // namespace roofmark
