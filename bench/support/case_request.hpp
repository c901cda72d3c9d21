// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/model/case_name.hpp"

namespace roofmark {

/// Each value is that of some case, but no case has them together. Of several names, such a one is left out.
class NotTogether : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A case that is asked for by name, of a size that no suite may have. A key that the name lacks has the family's default. All
/// throw std::invalid_argument that says what is wrong with the name.
class CaseRequest {
 public:
  /// Of one dimension: kernels count it in 32 bits.
  static constexpr std::int64_t kMostOfSize = std::numeric_limits<std::int32_t>::max();

  /// Throws where the product of all sizes is so large that counts of bytes could overflow.
  explicit CaseRequest(CaseName name);

  const CaseName& case_name() const { return name_; }
  const std::string& family() const { return name_.family; }
  const std::string& operation() const { return name_.operation; }
  /// Of arrays.
  DataType type() const;
  /// Of the operands of a product, which may be block-scaled.
  DataType operand_type() const { return name_.type; }
  bool has(std::string_view key) const { return !value_of(name_.shape, key).empty(); }

  /// A whole number from `least` to `most`, which the name must have.
  std::int64_t number(std::string_view key, std::int64_t least = 1, std::int64_t most = kMostOfSize) const;
  /// The same where other keys of the name allow `allowed` at most: NotTogether above that.
  std::int64_t number_within(std::string_view key, std::int64_t least, std::int64_t allowed, std::int64_t most) const;
  std::int64_t number_or(std::string_view key, std::int64_t otherwise, std::int64_t most = kMostOfSize) const;
  /// Of bytes or elements: as many as memory may hold.
  std::size_t amount(std::string_view key) const;
  std::string word_or(std::string_view key, std::string_view otherwise) const;
  bool is_or(std::string_view key, std::string_view word, std::string_view otherwise) const {
    return word_or(key, otherwise) == word;
  }

  /// The value that has this name among `known`.
  template <class Values, class Value>
  Value one_of(std::string_view key, const Values& known, Value otherwise) const {
    return has(key) ? found(key, value_of(name_.shape, key), known) : otherwise;
  }
  /// The same of words that are their own names.
  template <class Words>
  std::string_view word_of(std::string_view key, const Words& known, std::string_view otherwise) const {
    const std::string word = word_or(key, otherwise);
    for (const std::string_view one : known) {
      if (one == word) return one;
    }
    throw std::invalid_argument(fmt::format("'{}' is not a known {} ({})", word, key, fmt::join(known, ", ")));
  }
  template <class Values>
  auto operation_of(const Values& known) const {
    return found("operation", name_.operation, known);
  }

 private:
  template <class Values>
  static auto found(std::string_view what, const std::string& word, const Values& known) {
    std::string names;
    for (const auto& value : known) {
      if (name(value) == word) return value;
      names += (names.empty() ? "" : ", ") + std::string(name(value));
    }
    throw std::invalid_argument(fmt::format("'{}' is not a known {} ({})", word, what, names));
  }
  CaseName name_;
};

}  // namespace roofmark
