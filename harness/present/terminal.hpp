// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "harness/model/measurement.hpp"

namespace roofmark {

struct Course;

/// Capabilities of a terminal; colour unless NO_COLOR is set (no-color.org).
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
/// rewritten on a terminal, one line per case elsewhere, which begins with the program's name. Writes to stderr.
class Progress {
 public:
  Progress(std::string program, TerminalStyle style, bool quiet, std::size_t cases);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& case_name, std::string_view stage);
  /// On a terminal at once, elsewhere a line every 10 s.
  void show(const std::string& case_name, const Course& course);
  void done(const Record& record);
  void clear();

 private:
  void put(const std::string& text) const;
  void show_line(std::string line);

  std::string program_;
  TerminalStyle style_;
  bool quiet_;
  std::size_t cases_, done_ = 0;
  double started_;
  double last_course_ = 0;  ///< when it was printed
  bool shown_ = false;
  std::string last_reason_;  ///< why the last case was not run; only the first case per reason is printed
};

}  // namespace roofmark
