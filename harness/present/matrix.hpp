// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/present/terminal.hpp"

namespace roofmark {

inline constexpr std::size_t kLargestMatrix = 16;

/// A row or a column of a matrix.
struct MatrixEnd {
  std::string heading;     ///< of its column
  std::string label;       ///< of its row
  std::string group = {};  ///< groups are separated by a line
};

/// Ends in a newline; empty if it has more rows or columns than kLargestMatrix, or does not fit the terminal.
std::string matrix_text(const std::string& title, const std::vector<MatrixEnd>& rows, const std::vector<MatrixEnd>& columns,
                        const std::function<std::string(std::size_t row, std::size_t column)>& cell,
                        const TerminalStyle& style);

/// In place of a matrix, the first ten of these cells, which are sorted: the name and the value of each.
std::string worst_cells_text(const std::string& title, const std::string& unit,
                             const std::vector<std::pair<std::string, std::string>>& cells, const TerminalStyle& style);

}  // namespace roofmark
