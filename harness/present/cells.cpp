// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/cells.hpp"

#include <algorithm>
#include <sstream>

namespace roofmark {

namespace {

std::string paint(const TerminalStyle& style, const char* code, const std::string& text) {
  return style.colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

}  // namespace

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, width(line));
  return widest;
}

std::string align(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent) {
  std::string all, line;
  if (indent >= columns) indent = columns / 2;
  const std::string start(indent, ' ');
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
    line = start;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    std::size_t end = std::min(text.find(' ', word), text.size());
    // A number keeps its percent sign.
    if (text.compare(end, 2, " %") == 0) end = std::min(text.find(' ', end + 1), text.size());
    const std::string blanks = text.substr(at, word - at);
    std::string rest = text.substr(word, end - word);
    at = end;
    const bool fresh = all.empty() ? line.empty() : line == start;
    const std::size_t used = width(line + blanks);
    const bool is_broken_anyway =
        indent + width(rest) > columns && used < columns && rest.find_last_of("/,", columns - used - 1) != std::string::npos;
    if (fresh || used + width(rest) <= columns || is_broken_anyway) {
      line += blanks;
    } else {
      end_line();
    }
    while (width(line) + width(rest) > columns) {
      const std::size_t room = columns > line.size() ? columns - line.size() : 1;
      std::size_t cut = std::min(rest.find_last_of("/,", room - 1), rest.size());
      cut = cut == rest.size() ? room : cut + 1;
      while (cut > 1 && (rest[cut] & 0xC0) == 0x80) --cut;
      line += rest.substr(0, cut);
      rest.erase(0, cut);
      end_line();
    }
    line += rest;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return all + line;
}

std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs, const TerminalStyle& style) {
  std::size_t widest = 0;
  for (const auto& [name, value] : pairs) widest = std::max(widest, value.empty() ? 0 : width(name));
  std::string text;
  for (const auto& [name, value] : pairs) {
    if (value.empty()) continue;
    const std::string line = fmt::format("  {:<{}}  {}", name, widest, value);
    text += wrapped(line, static_cast<std::size_t>(style.columns), widest + 4) + "\n";
  }
  return text;
}

std::string paragraph(const TerminalStyle& style, Paint paint, const std::string& label, const std::string& text) {
  const std::string all = wrapped(label + text, static_cast<std::size_t>(style.columns), 2);
  // Wrapping changes blanks alone.
  const auto is_blank = [](char c) { return c == ' ' || c == '\n'; };
  auto left = label.size() - static_cast<std::size_t>(std::count_if(label.begin(), label.end(), is_blank));
  std::size_t end = 0;
  for (; left > 0 && end < all.size(); ++end) left -= is_blank(all[end]) ? 0 : 1;
  return paint(style, all.substr(0, end)) + all.substr(end) + "\n";
}

std::string bold(const TerminalStyle& style, const std::string& text) { return paint(style, "1", text); }
std::string red(const TerminalStyle& style, const std::string& text) { return paint(style, "31", text); }
std::string yellow(const TerminalStyle& style, const std::string& text) { return paint(style, "33", text); }
std::string green(const TerminalStyle& style, const std::string& text) { return paint(style, "32", text); }
std::string grey(const TerminalStyle& style, const std::string& text) { return paint(style, "90", text); }

}  // namespace roofmark
