// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/printable.hpp"

#include <algorithm>
#include <cstdint>

namespace roofmark {

namespace {

struct Range {
  std::uint32_t first, last;
};

/// C0, DEL and C1; marks and overrides of direction; separators of lines and paragraphs; surrogates; what XML 1.0 forbids.
constexpr Range kUnprintable[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f}, {0x2028, 0x202e},
                                  {0x2066, 0x2069}, {0xd800, 0xdfff}, {0xfeff, 0xfeff}, {0xfffe, 0xffff}};

/// Bytes of the sequence that begins with this byte; 0: none does.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/// A sequence of the length that its first byte states.
bool is_printable(std::string_view sequence) {
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const std::size_t length = sequence.size();
  std::uint32_t code = static_cast<unsigned char>(sequence.front());
  if (length > 1) code &= 0x7fU >> length;
  for (const char byte : sequence.substr(1)) {
    if ((static_cast<unsigned char>(byte) & 0xc0U) != 0x80U) return false;
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  return code >= kLeast[length] && code <= 0x10ffff &&
         std::none_of(std::begin(kUnprintable), std::end(kUnprintable),
                      [&](const Range& range) { return range.first <= code && code <= range.last; });
}

}  // namespace

std::string printable(std::string_view text) {
  const auto is_plain = [](char byte) { return byte >= 0x20 && byte < 0x7f; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = length_of(static_cast<unsigned char>(text.front()));
    const bool good = length > 0 && length <= text.size() && is_printable(text.substr(0, length));
    const bool is_one = good || (length > 0 && length <= text.size() &&
                                 std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length),
                                             [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }));
    shown += good ? text.substr(0, length) : "\xef\xbf\xbd";
    text.remove_prefix(is_one ? length : 1);
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  constexpr std::string_view kEscape = "\x1b[";
  std::string shown;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\x1b"), text.size());
    shown += printable(text.substr(0, end));
    text.remove_prefix(end);
    if (text.empty()) break;
    std::size_t kept = text.front() == '\n' ? 1 : 0;
    if (text.starts_with(kEscape)) {
      const std::size_t last = text.find_first_not_of("0123456789;", kEscape.size());
      if (last != std::string_view::npos && text[last] == 'm') kept = last + 1;
    }
    shown += kept > 0 ? std::string(text.substr(0, kept)) : printable(text.substr(0, 1));
    text.remove_prefix(std::max<std::size_t>(kept, 1));
  }
  return shown;
}

}  // namespace roofmark
