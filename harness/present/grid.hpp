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
  int leaves = 0;                  ///< of a table that is too wide the column with the lowest number leaves first; 0: never
  bool is_shared = false;          ///< a value that all rows share stands above the table
  bool speaks_for_itself = false;  ///< above the table without its heading
  bool stays = false;              ///< even where no row has a value
  std::string unit = {};           ///< below the heading
  std::string group = {};          ///< above the headings of adjacent columns
  bool is_text = false;            ///< to the left; the last column's words may wrap
};

enum class Mark { none, uncertain, wrong };

/// A table that fits the terminal. Columns in which no row has a value ("" or "-") go. If the rows are too wide, columns leave;
/// if that is not enough, what names a row gets a line of its own.
struct Grid {
  std::string title;
  std::vector<Column> columns;
  std::size_t keys = 1;  ///< the first columns, which name a row
  std::vector<Row> rows = {};
  std::vector<Mark> marks = {};  ///< by row; empty: none
};

/// Ends in a newline; empty without rows. Adds the headings that left to `left_out`.
std::string to_text(const Grid& grid, const TerminalStyle& style, std::set<std::string>* left_out = nullptr);

/// Says what the tables of a section left out; empty: nothing.
std::string left_out_text(const std::set<std::string>& headings, const TerminalStyle& style);

}  // namespace roofmark
