// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/expression.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <stdexcept>
#include <vector>

namespace roofmark {

namespace {

using re2::RE2;

constexpr std::size_t kLongest = 10000;

/// The place of the parenthesis that has no partner, from 1. Escaped ones and those in brackets do not count.
std::size_t lone_parenthesis(const std::string& expression) {
  std::vector<std::size_t> open;
  bool in_brackets = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\') {
      ++i;
    } else if (in_brackets) {
      in_brackets = c != ']';
    } else if (c == '[') {
      in_brackets = true;
      if (expression.compare(i + 1, 1, "^") == 0) ++i;
      if (expression.compare(i + 1, 1, "]") == 0) ++i;
    } else if (c == '(') {
      open.push_back(i + 1);
    } else if (c == ')') {
      if (open.empty()) return i + 1;
      open.pop_back();
    }
  }
  return open.empty() ? 0 : open.back();
}

std::string what_is_wrong(const RE2& compiled, const std::string& expression) {
  const std::string& part = compiled.error_arg();
  switch (compiled.error_code()) {
    case RE2::ErrorBadEscape:
      return fmt::format("unknown escape '{}'", part);
    case RE2::ErrorBadCharClass:
    case RE2::ErrorBadCharRange:
      return fmt::format("'{}' is not a character class or range", part);
    case RE2::ErrorMissingBracket:
      return fmt::format("missing ] for '{}'", part);
    case RE2::ErrorMissingParen:
      return fmt::format("missing ) for the ( at character {}", lone_parenthesis(expression));
    case RE2::ErrorUnexpectedParen:
      return fmt::format("unmatched ) at character {}", lone_parenthesis(expression));
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash";
    case RE2::ErrorRepeatArgument:
      return fmt::format("nothing before '{}' to repeat", part);
    case RE2::ErrorRepeatSize:
      return fmt::format("'{}' repeats too often: at most 1000 times", part);
    case RE2::ErrorRepeatOp:
      return fmt::format("'{}' is applied to a repetition", part);
    case RE2::ErrorBadPerlOp:
    case RE2::ErrorBadNamedCapture:
      return fmt::format("unknown group '{}' (look-ahead is not supported)", part);
    case RE2::ErrorBadUTF8:
      return "it is not UTF-8";
    default:
      return "too large: use less nesting and fewer repetitions";
  }
}

}  // namespace

Expression::Expression(const std::string& expression) {
  if (expression.size() > kLongest) {
    throw std::invalid_argument(fmt::format("'{}...' is too long for a regular expression: {} characters, at most {}",
                                            expression.substr(0, 20), expression.size(), kLongest));
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  compiled_ = std::make_shared<const RE2>(expression, options);
  if (!compiled_->ok()) {
    throw std::invalid_argument(
        fmt::format("'{}' is not a regular expression: {}", expression, what_is_wrong(*compiled_, expression)));
  }
}

bool Expression::is_found_in(std::string_view name) const {
  return RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *compiled_);
}

bool Expression::matches_whole(std::string_view name) const {
  return RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *compiled_);
}

}  // namespace roofmark
