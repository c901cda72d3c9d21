// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/present/terminal.hpp"

namespace roofmark {

using Row = std::vector<std::string>;

inline std::string bold(const TerminalStyle& style, const std::string& text) {
  return style.colour ? fmt::format("\033[1m{}\033[0m", text) : text;
}

inline std::string red(const TerminalStyle& style, const std::string& text) {
  return style.colour ? fmt::format("\033[31m{}\033[0m", text) : text;
}

/// Microseconds and 10^9 bytes per second, as nccl-tests prints them.
inline std::string micros(double seconds) {
  const double us = seconds * 1e6;
  return fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 10000 ? 1 : 0);
}
inline std::string giga(double bytes_per_second) { return fmt::format("{:.2f}", bytes_per_second / 1e9); }

}  // namespace roofmark
