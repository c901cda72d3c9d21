// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/statistics.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

using Row = std::vector<std::string>;

/// Columns that a UTF-8 text takes; the texts of this program hold no wide characters.
std::size_t width(const std::string& text);

std::size_t widest_line(const std::string& text);

/// Rows of cells in aligned columns, the first to the left and the others to the right, with two spaces between.
std::string align(const std::vector<Row>& rows);

/// Breaks lines between words so that none is wider than `columns`; those after the first begin with `indent` blanks. A longer
/// word is broken behind a slash or a comma, or anywhere. An indent that leaves no room becomes half of
/// `columns`.
std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent = 0);

/// Names and values in two left-aligned columns behind two blanks; the words of a value wrap. Names without a value are left
/// out.
std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs, const TerminalStyle& style);

using Paint = std::string (*)(const TerminalStyle&, const std::string&);

/// A paragraph that begins with a painted label; ends in a newline.
std::string paragraph(const TerminalStyle& style, Paint paint, const std::string& label, const std::string& text);

std::string bold(const TerminalStyle& style, const std::string& text);
std::string red(const TerminalStyle& style, const std::string& text);
std::string yellow(const TerminalStyle& style, const std::string& text);
std::string green(const TerminalStyle& style, const std::string& text);
std::string grey(const TerminalStyle& style, const std::string& text);

/// Microseconds and 10^9 bytes per second, as nccl-tests prints them; "-" for what is not finite.
inline std::string micros(double seconds) {
  const double us = seconds * 1e6;
  return std::isfinite(us) ? fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 10000 ? 1 : 0) : "-";
}
/// r2 of a fit; below `least` it is marked "not linear".
inline std::string r2_text(std::optional<double> r2, double least = kLeastR2) {
  return r2 ? fmt::format("{:.4f}{}", *r2, *r2 < least ? " (not linear)" : "") : "-";
}
inline std::string giga(double bytes_per_second) {
  return std::isfinite(bytes_per_second) ? fmt::format("{:.2f}", bytes_per_second / 1e9) : "-";
}

}  // namespace roofmark
