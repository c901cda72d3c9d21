// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "harness/judge/analysis.hpp"
#include "harness/measure/settings.hpp"

namespace roofmark {

/// What a terminal can show; colour unless NO_COLOR is set (no-color.org).
struct TerminalStyle {
  bool interactive = false;  ///< lines can be rewritten
  bool colour = false;
  int columns = 120;
};
TerminalStyle terminal_style(std::FILE* stream);

/// One line that says what is being measured, how far the run is and how long it will take; rewritten on a terminal, one line
/// per case elsewhere. Writes to stderr.
class Progress {
 public:
  Progress(TerminalStyle style, bool quiet, std::size_t cases);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& case_name, std::string_view stage);
  void done(const Record& record);
  void clear();

 private:
  TerminalStyle style_;
  bool quiet_;
  std::size_t cases_, done_ = 0;
  double started_;
  bool shown_ = false;
  std::string last_reason_;  ///< for which a case was not run: the first case alone is named
};

// Each returns text that ends in a newline. No line of a table is wider than the terminal, where its names allow.
/// With the ids by which `bound by` and `roofmark list` name the resources.
std::string ceilings_table(const Roofline& roofline);
/// A table per family and set of keys, with what is constant above it, in the order of the records; those with a message have
/// tables of their own.
std::string records_table(const std::vector<Record>& records, const TerminalStyle& style);
std::string comparisons_table(const std::vector<ComparisonResult>& comparisons, const TerminalStyle& style);
/// A log-log roofline in text: the empirical ceilings of the pipes over that of the outermost memory, and each placed record
/// that has an intensity as a letter of its family. Empty when there is nothing to place.
std::string roofline_plot(const Roofline& roofline, const std::vector<Record>& records, const TerminalStyle& style);
/// By severity; three of each kind, the number of the others, and the advice.
std::string findings_text(const std::vector<Finding>& findings, const TerminalStyle& style);
/// Each wrong and failed case with its reason, the others that were not run by reason, and the number of cases by status.
std::string verdict_text(const std::vector<Record>& records, const TerminalStyle& style);
std::string wall_time_text(const WallTime& wall, double total_seconds);

/// Rows of cells in aligned columns, the first to the left and the others to the right, with two spaces between.
std::string align(const std::vector<std::vector<std::string>>& rows);

}  // namespace roofmark
