// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace roofmark {

namespace {

constexpr std::size_t kGap = 2, kLeastText = 24;

class Layout {
 public:
  Layout(const Grid& grid, const TerminalStyle& style)
      : grid_(grid), style_(style), limit_(static_cast<std::size_t>(std::max(style.columns, 20))) {
    for (std::size_t i = 0; i < grid_.columns.size(); ++i) {
      const Column& column = grid_.columns[i];
      std::size_t& most = widths_.emplace_back(std::max(width(column.heading), width(column.unit)));
      for (const Row& row : grid_.rows) most = std::max(most, width(row[i]));
    }
  }

  std::string text(std::set<std::string>* left_out) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < grid_.columns.size(); ++i) {
      if (any_value(i) || grid_.columns[i].stays) columns.push_back(i);
    }
    std::string above = grid_.title;
    std::erase_if(columns, [&](std::size_t i) {
      const Column& column = grid_.columns[i];
      if (!column.is_shared || !is_constant(i)) return false;
      const std::string& value = grid_.rows.front()[i];
      const bool alone = column.speaks_for_itself || column.heading.empty();
      const std::string said = alone ? value : column.heading + (is_key(i) ? ":" : " ") + value;
      above += (above.empty() ? "" : "  ") + said;
      return true;
    });
    std::string text = above.empty() ? "" : headed(wrapped(above, limit_, kGap)) + "\n";
    if (columns.empty()) return text;
    for (const bool named_above : {false, true}) {
      std::vector<std::size_t> kept = columns;
      std::vector<std::size_t> gone = fit(kept, named_above);
      if (!named_above && total_width(kept, false) > limit_ && names_a_row(columns)) continue;
      if (left_out) {
        for (const std::size_t i : gone) left_out->insert(grid_.columns[i].heading);
      }
      return text + table(kept, named_above);
    }
    return text;
  }

 private:
  bool any_value(std::size_t i) const {
    return std::any_of(grid_.rows.begin(), grid_.rows.end(), [i](const Row& row) { return !row[i].empty() && row[i] != "-"; });
  }
  bool is_constant(std::size_t i) const {
    return std::all_of(grid_.rows.begin(), grid_.rows.end(), [&](const Row& row) { return row[i] == grid_.rows.front()[i]; });
  }
  bool is_key(std::size_t i) const { return i < grid_.keys; }
  bool names_a_row(const std::vector<std::size_t>& columns) const { return is_key(columns.front()) && !is_key(columns.back()); }
  bool wraps(const std::vector<std::size_t>& columns, std::size_t i) const {
    return i == columns.back() && grid_.columns[i].is_text;
  }

  /// With the last column no wider than its words need.
  std::size_t total_width(const std::vector<std::size_t>& columns, bool named_above) const {
    std::size_t sum = named_above ? kGap : 0, gap = 0;
    for (const std::size_t i : columns) {
      if (named_above && is_key(i)) continue;
      sum += gap + (wraps(columns, i) ? std::min(widths_[i], kLeastText) : widths_[i]);
      gap = kGap;
    }
    return sum;
  }

  /// Removes columns in their order until the rest fits; gives those that left.
  std::vector<std::size_t> fit(std::vector<std::size_t>& columns, bool named_above) const {
    std::vector<std::size_t> gone;
    while (total_width(columns, named_above) > limit_) {
      auto least = columns.end();
      for (auto i = columns.begin(); i != columns.end(); ++i) {
        const int order = grid_.columns[*i].leaves;
        if (order > 0 && (least == columns.end() || order < grid_.columns[*least].leaves)) least = i;
      }
      if (least == columns.end()) break;
      const int order = grid_.columns[*least].leaves;
      std::erase_if(columns, [&](std::size_t i) {
        if (grid_.columns[i].leaves == order) gone.push_back(i);
        return grid_.columns[i].leaves == order;
      });
    }
    return gone;
  }

  std::string headed(const std::string& text) const { return bold(style_, text); }

  std::string painted(std::size_t row, const std::string& text) const {
    const Mark mark = grid_.marks.empty() ? Mark::none : grid_.marks[row];
    return mark == Mark::wrong ? red(style_, text) : mark == Mark::uncertain ? grey(style_, text) : text;
  }

  /// One line, or several where the last column's words wrap.
  std::string line(const std::vector<std::size_t>& columns, bool named_above,
                   const std::function<std::string(std::size_t)>& cell) const {
    std::string text(named_above ? kGap : 0, ' ');
    bool first = true;
    for (const std::size_t i : columns) {
      if (named_above && is_key(i)) continue;
      const std::string value = cell(i);
      if (!first) text += std::string(kGap, ' ');
      if (wraps(columns, i)) return wrapped(text + value, limit_, width(text));
      const std::string padding(widths_[i] - width(value), ' ');
      const bool left = (first && !named_above) || grid_.columns[i].is_text;
      text += left ? value + padding : padding + value;
      first = false;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return width(text) > limit_ ? wrapped(text, limit_, 2 * kGap) : text;
  }

  /// The names of the groups, each over its first column.
  std::string group_line(const std::vector<std::size_t>& columns, bool named_above) const {
    std::string text, before;
    std::size_t at = named_above ? kGap : 0;
    for (const std::size_t i : columns) {
      if (named_above && is_key(i)) continue;
      const std::string& group = grid_.columns[i].group;
      if (group != before && !group.empty()) {
        const std::size_t start = at + widths_[i] - width(grid_.columns[i].heading);
        text.resize(std::max(text.empty() ? 0 : text.size() + kGap, start), ' ');
        text += group;
      }
      before = group;
      at += widths_[i] + kGap;
    }
    return text.empty() ? text : headed(text) + "\n";
  }

  std::string table(const std::vector<std::size_t>& columns, bool named_above) const {
    const auto heads = [&](auto member) {
      return line(columns, named_above, [&](std::size_t i) { return grid_.columns[i].*member; });
    };
    const auto names = [&](const auto& cell) {
      std::string text;
      for (const std::size_t i : columns) {
        if (is_key(i) && !cell(i).empty()) text += (text.empty() ? "" : "  ") + cell(i);
      }
      return wrapped(text, limit_, kGap);
    };
    std::string text = group_line(columns, named_above);
    if (named_above) {
      const std::string keys = names([&](std::size_t i) { return grid_.columns[i].heading; });
      if (!keys.empty()) text += headed(keys) + "\n";
    }
    text += headed(heads(&Column::heading)) + "\n";
    if (std::any_of(columns.begin(), columns.end(), [&](std::size_t i) { return !grid_.columns[i].unit.empty(); })) {
      text += headed(heads(&Column::unit)) + "\n";
    }
    for (std::size_t r = 0; r < grid_.rows.size(); ++r) {
      const auto cell = [&](std::size_t i) { return grid_.rows[r][i]; };
      if (named_above) text += painted(r, names(cell)) + "\n";
      text += painted(r, line(columns, named_above, cell)) + "\n";
    }
    return text;
  }

  const Grid& grid_;
  const TerminalStyle& style_;
  std::size_t limit_;
  std::vector<std::size_t> widths_;  ///< by column
};

}  // namespace

std::string to_text(const Grid& grid, const TerminalStyle& style, std::set<std::string>* left_out) {
  return grid.rows.empty() ? std::string() : Layout(grid, style).text(left_out);
}

std::string left_out_text(const std::set<std::string>& headings, const TerminalStyle& style) {
  if (headings.empty()) return {};
  const std::string text = fmt::format("not shown at this width, but in the file: {}", fmt::join(headings, ", "));
  return grey(style, wrapped(text, static_cast<std::size_t>(style.columns), kGap)) + "\n";
}

}  // namespace roofmark
