// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace roofmark {

/// A regular expression over names, in RE2's syntax: that of ECMAScript without look-ahead and back-references. A search takes
/// time linear in the length of the name, for every expression.
class Expression {
 public:
  /// Throws std::invalid_argument, which quotes the expression and names the error and its position.
  explicit Expression(const std::string& expression);

  bool is_found_in(std::string_view name) const;
  bool matches_whole(std::string_view name) const;

 private:
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace roofmark
