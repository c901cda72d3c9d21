// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "harness/machine/steady_seconds.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

struct Course;

/// Capabilities of a terminal: none if TERM is dumb, as in an editor; colour unless NO_COLOR is set (no-color.org).
struct TerminalStyle {
  bool interactive = false;  ///< lines can be rewritten
  bool colour = false;
  int columns = 120;
};
/// A terminal's width, else COLUMNS, else 120.
TerminalStyle terminal_style(std::FILE* stream);

/// A message on stderr: "roofmark: text". Wraps if the width is known (a terminal's, or COLUMNS); in a log a message is one
/// line. A closed terminal is ignored.
void say(const std::string& program, const std::string& text);

/// One line that says what is being measured, how far the run is and how long it will take, or how a load that lasts goes;
/// rewritten on a terminal, one line per case elsewhere, and every 10 s of a long one, which begins with the program's name.
/// Writes to stderr.
class Progress {
 public:
  Progress(std::string program, TerminalStyle style, bool quiet, std::size_t cases,
           std::function<double()> clock = steady_seconds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Both: on a terminal at once, elsewhere a line every 10 s.
  void show(const std::string& case_name, std::string_view stage);
  void show(const std::string& case_name, const Course& course);
  void done(const Record& record);
  /// More cases than it was made for.
  void expect(std::size_t more_cases) { cases_ += more_cases; }
  void clear();

 private:
  void put(const std::string& text) const;
  /// Whether a line that is not the end of a case is due.
  bool is_due(double now, double since) const;
  void show_line(std::string line);

  std::string program_;
  TerminalStyle style_;
  bool quiet_;
  std::size_t cases_, done_ = 0;
  std::function<double()> clock_;
  double started_;
  std::string stage_;       ///< with its case
  double stage_since_ = 0;  ///< begin of the stage, or the last course in it
  double last_line_ = 0;    ///< when one was printed
  bool shown_ = false;
  std::string last_reason_;  ///< why the last case was not run; only the first case per reason is printed
};

}  // namespace roofmark
