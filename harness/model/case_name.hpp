// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/data_type.hpp"

namespace roofmark {

/// Named values in the order of the case's name: the operation's sizes and options, then impl (who does it), layout, algo,
/// cache.
using Shape = std::vector<std::pair<std::string, std::string>>;

/// The value of a key; empty where the shape does not have it.
std::string value_of(const Shape& shape, std::string_view key);

/// What a case is called, and its record; a series of cases without the keys in which they differ.
struct CaseName {
  std::string family;          ///< stream, gemm
  std::string operation = {};  ///< triad; empty where the family has one operation
  DataType type = DataType::fp32;
  Shape shape = {};

  /// family/operation/type/key:value...; family/type/key:value... where the family has one operation.
  std::string name() const;
  void append_name_to(std::string& path) const;

  friend auto operator<=>(const CaseName&, const CaseName&) = default;
};

/// The name without these keys of its shape.
CaseName name_without(const CaseName& name, const std::set<std::string_view>& keys);

/// Of cases and records, which have more than a name.
inline bool same_case(const CaseName& one, const CaseName& other) { return one == other; }

/// The parts of a text between separators; one, empty, of an empty text.
std::vector<std::string> split(std::string_view text, char separator);

/// The inverse of CaseName::name(), for a text without a record. Throws std::invalid_argument.
CaseName parse_case_name(std::string_view text);

}  // namespace roofmark
