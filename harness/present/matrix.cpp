// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/present/cells.hpp"
#include "harness/present/grid.hpp"

namespace roofmark {

std::string matrix_text(const std::string& title, const std::vector<MatrixEnd>& rows, const std::vector<MatrixEnd>& columns,
                        const std::function<std::string(std::size_t row, std::size_t column)>& cell,
                        const TerminalStyle& style) {
  if (std::max(rows.size(), columns.size()) > kLargestMatrix) return {};
  std::vector<Row> lines = {{title}};
  const auto across = [&](Row& line, const std::function<std::string(std::size_t)>& text) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      if (column > 0 && columns[column - 1].group != columns[column].group) line.emplace_back("|");
      line.push_back(text(column));
    }
  };
  across(lines.back(), [&](std::size_t column) { return columns[column].heading; });
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row > 0 && rows[row - 1].group != rows[row].group) lines.emplace_back();
    lines.push_back({rows[row].label});
    across(lines.back(), [&](std::size_t column) { return cell(row, column); });
  }
  const std::string table = align(lines);
  const auto line = table.find('\n');
  if (widest_line(table) > static_cast<std::size_t>(style.columns)) return {};
  return bold(style, table.substr(0, line)) + table.substr(line);
}

std::string worst_cells_text(const std::string& title, const std::string& unit,
                             const std::vector<std::pair<std::string, std::string>>& cells, const TerminalStyle& style) {
  constexpr std::size_t kWorst = 10;
  const std::size_t shown = std::min(cells.size(), kWorst);
  Grid grid{"", {{.heading = fmt::format("{}: the worst {} of {} pairs", title, shown, cells.size())}, {.heading = unit}}};
  for (std::size_t i = 0; i < shown; ++i) grid.rows.push_back({cells[i].first, cells[i].second});
  return to_text(grid, style);
}

}  // namespace roofmark
