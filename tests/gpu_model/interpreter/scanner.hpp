// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "types.hpp"

namespace gpu_model {

/// Reads PTX text token by token and counts its lines. Space and comments before a token are skipped.
/// Errors are std::runtime_error with the line.
class Scanner {
 public:
  struct Place {
    const char* at;
    u32 line;
  };

  /// The text must outlive the scanner.
  explicit Scanner(const std::string& text) : at_(text.data()), end_(text.data() + text.size()) {}

  [[noreturn]] void fail(const std::string& what) const;
  u32 line() const { return line_; }
  Place place() const { return {at_, line_}; }
  void rewind(Place place);
  /// The text from here on, for messages.
  std::string following() const;

  /// The next character that is neither space nor comment; 0 at the end.
  char peek();
  bool take(char);
  void expect(char);
  /// The character directly at the cursor; 0 at the end.
  char here() const { return at_ < end_ ? *at_ : '\0'; }

  /// Up to `count` characters directly at the cursor.
  std::string_view upcoming(std::size_t count) const {
    return std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, count);
  }

  /// [%.][A-Za-z0-9_$]*; may be empty.
  std::string_view identifier();
  /// Letters, digits, dots and double colons: an opcode, or what follows a register's first dot.
  std::string_view dotted_word();
  /// Takes "name:", not "name::".
  bool take_label(std::string& name);
  /// With a minus sign, modulo 2^64.
  u64 integer();
  /// `count` hexadecimal digits after a prefix of two characters, "0f" or "0d".
  u64 hexadecimal(int count);
  double decimal();
  /// Whether a decimal point follows the digits at the cursor.
  bool at_decimal() const;
  std::string quoted();

  void skip_past(char);
  void skip_line();
  /// Skips "{ ... }".
  void skip_braces();

 private:
  void skip_space();
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
  }

  const char* at_;
  const char* end_;
  u32 line_ = 1;
};

}  // namespace gpu_model
