// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "harness/machine/json.hpp"

namespace roofmark {

/// A text of JSON, parsed by simdjson in a fraction of the time that nlohmann's parser takes, to the same values. Refused with
/// std::invalid_argument, beside what is no JSON: a byte order mark, an object with two members of one name, more than 1024
/// levels, an integer beyond 64 bits.
class JsonText {
 public:
  explicit JsonText(std::string_view text);
  ~JsonText();

  /// The value; the arrays of these names, members of the outermost object, are left empty.
  Json value(std::span<const std::string_view> emptied = {}) const;

  /// Hands over the elements of such an array one after the other, so that a large array never fills the memory with values.
  /// Throws std::invalid_argument where there is no such array.
  void for_each(std::string_view array, const std::function<void(const Json&)>& element) const;

 private:
  struct Document;
  std::unique_ptr<Document> document_;
};

}  // namespace roofmark
