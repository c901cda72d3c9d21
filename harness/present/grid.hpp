// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/present/cells.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

struct Column {
  std::string heading;
  int leaves = 0;                  ///< in a table that is too wide, columns with low numbers are dropped first; 0: never
  bool is_shared = false;          ///< a value that all rows share moves to the title
  bool speaks_for_itself = false;  ///< in the title without its heading
  bool stays = false;              ///< even if no row has a value
  std::string unit = {};           ///< below the heading
  std::string group = {};          ///< above the headings of adjacent columns
  bool is_text = false;            ///< to the left; the last column's words may wrap
};

enum class Mark { none, uncertain, wrong };

/// A table that fits the terminal. Columns without a value ("" or "-") are dropped. If the rows are still too wide, the least
/// important columns are dropped, and then a row's name moves to a separate line.
struct Grid {
  std::string title;
  std::vector<Column> columns;
  std::size_t keys = 1;  ///< the first columns, which name a row
  std::vector<Row> rows = {};
  std::vector<Mark> marks = {};  ///< by row; empty: none
};

/// Ends in a newline; empty without rows. Adds the dropped headings to `left_out`.
std::string to_text(const Grid& grid, const TerminalStyle& style, std::set<std::string>* left_out = nullptr);

/// One line that names the dropped columns of a section's tables; empty if none.
std::string left_out_text(const std::set<std::string>& headings, const TerminalStyle& style);

}  // namespace roofmark
