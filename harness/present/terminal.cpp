// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/measure/settings.hpp"
#include "harness/model/printable.hpp"
#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"

namespace roofmark {

namespace {

constexpr double kEverySeconds = 10;  // a line of a long case in a log
constexpr std::size_t kFewCases = 5;  // too few to say from them how long the others take

std::optional<int> known_columns(int file) {
  winsize size{};
  if (::isatty(file) && ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  // What a launcher or a pager passes on has a terminal at its end, too.
  if (const char* columns = std::getenv("COLUMNS"); columns && std::atoi(columns) > 0) return std::atoi(columns);
  return std::nullopt;
}

std::string message(const std::string& program, const std::string& text) {
  const std::string line = program + ": " + printable(text);
  const auto columns = known_columns(STDERR_FILENO);
  return (columns ? wrapped(line, static_cast<std::size_t>(std::max(*columns, 20)), 2) : line) + "\n";
}

}  // namespace

TerminalStyle terminal_style(std::FILE* stream) {
  TerminalStyle style;
  const int file = ::fileno(stream);
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal && std::string_view(terminal) == "dumb";
  style.interactive = ::isatty(file) != 0 && !is_dumb;
  const char* no_color = std::getenv("NO_COLOR");
  style.colour = style.interactive && !(no_color && *no_color);
  style.columns = known_columns(file).value_or(style.columns);
  return style;
}

void say(const std::string& program, const std::string& text) { std::fputs(message(program, text).c_str(), stderr); }

Progress::Progress(std::string program, TerminalStyle style, bool quiet, std::size_t cases, std::function<double()> clock)
    : program_(std::move(program)), style_(style), quiet_(quiet), cases_(cases), clock_(std::move(clock)), started_(clock_()) {}

Progress::~Progress() { clear(); }

bool Progress::is_due(double now, double since) const {
  return !quiet_ && (style_.interactive || now - std::max(last_line_, since) >= kEverySeconds);
}

void Progress::show(const std::string& case_name, std::string_view stage) {
  const double now = clock_();
  const std::string of_case = fmt::format("{} {}", stage, case_name);
  if (of_case != std::exchange(stage_, of_case)) stage_since_ = now;
  if (!is_due(now, stage_since_)) return;
  last_line_ = now;
  std::string text = fmt::format("[{}/{}] ", done_ + 1, cases_);
  if (done_ >= kFewCases) {
    text += format_duration((now - started_) / double(done_) * double(cases_ - done_)) + " left  ";
  }
  text += stage;
  if (now - stage_since_ >= kEverySeconds) text += " for " + format_duration(now - stage_since_);
  show_line(text + "  " + case_name);
}

void Progress::show(const std::string& case_name, const Course& course) {
  const double now = clock_();
  stage_since_ = now;
  if (!is_due(now, started_)) return;
  last_line_ = now;
  std::string text = fmt::format("[{}/{}] {:.0f} of {:.0f} s", done_ + 1, cases_, course.seconds, course.of_seconds);
  if (course.differing > 0) text += fmt::format("  WRONG BITS, launches: {}", course.differing);
  text += "  " + format_rate(course.rate, course.unit);
  if (const auto hz = course.state.sm_clock_hz) text += "  " + format_clock(*hz);
  if (const auto watts = course.state.power_watts) text += "  " + format_power(*watts);
  if (const auto celsius = course.state.temperature_celsius) text += fmt::format("  {:.0f} C", *celsius);
  show_line(text + "  " + case_name);
}

void Progress::show_line(std::string line) {
  if (!style_.interactive) return put(fmt::format("{}: {}\n", program_, line));
  if (line.size() >= std::size_t(style_.columns)) line.resize(std::size_t(style_.columns) - 1);
  put("\r\033[K" + line);
  shown_ = true;
}

void Progress::done(const Record& record) {
  ++done_;
  const StatusType& type = type_of(record.status);
  const std::string word(type.words);
  const bool bad = type.is_bad();
  const bool repeated = bad && !type.has_own_reason && record.reason == std::exchange(last_reason_, record.reason);
  if (bad && !repeated) {
    clear();
    std::string text = message(program_, fmt::format("{} {}: {}", word, record.name(), record.reason));
    if (const auto at = text.find(word); at != std::string::npos) text.replace(at, word.size(), red(style_, word));
    put(text);
  }
  if (quiet_ || style_.interactive || bad) return;
  const std::string result = record.status == Status::ok ? format_seconds(record.measurement->summary.median) : word;
  put(fmt::format("{}: [{}/{}] {}  {}\n", program_, done_, cases_, record.name(), result));
}

void Progress::clear() {
  if (shown_) put("\r\033[K");
  shown_ = false;
}

// A closed terminal must not end a run.
void Progress::put(const std::string& text) const {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace roofmark
