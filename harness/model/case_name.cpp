// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>

namespace roofmark {

std::string value_of(const Shape& shape, std::string_view key) {
  const auto found = std::find_if(shape.begin(), shape.end(), [&](const auto& entry) { return entry.first == key; });
  return found == shape.end() ? std::string() : found->second;
}

std::string CaseName::name() const {
  constexpr std::size_t kUsual = 128;
  std::string path;
  path.reserve(kUsual);
  append_name_to(path);
  return path;
}

void CaseName::append_name_to(std::string& path) const {
  path += family;
  if (!operation.empty()) (path += '/') += operation;
  (path += '/') += roofmark::name(type);
  for (const auto& [key, value] : shape) (((path += '/') += key) += ':') += value;
}

CaseName name_without(const CaseName& name, const std::set<std::string_view>& keys) {
  CaseName rest = name;
  std::erase_if(rest.shape, [&](const auto& entry) { return keys.contains(entry.first); });
  return rest;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == separator) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

CaseName parse_case_name(std::string_view text) {
  const std::vector<std::string> parts = split(text, '/');
  const auto refuse = [&] {
    throw std::invalid_argument(
        "'" + std::string(text) +
        "' is not the name of a case: family, operation if the family has several, type, then key:value, between slashes");
  };
  const auto is_type = [](const std::string& part) {
    return std::any_of(std::begin(kDataTypes), std::end(kDataTypes), [&](DataType type) { return name(type) == part; });
  };
  const auto type = std::find_if(parts.begin() + 1, parts.end(), is_type);
  if (type == parts.end() || type - parts.begin() > 2) {
    // The part where the type belongs, if anything does.
    const auto key = std::find_if(parts.begin() + 1, parts.end(),
                                  [](const std::string& part) { return part.find(':') != std::string::npos; });
    if (key - parts.begin() < 2) refuse();
    std::string types;
    for (const DataType known : kDataTypes) types += (types.empty() ? "" : ", ") + std::string(name(known));
    throw std::invalid_argument(fmt::format("'{}' has no data type before its keys ({})", text, types));
  }
  CaseName made{parts[0], type - parts.begin() == 2 ? parts[1] : "", parse_data_type(*type), {}};
  for (auto part = type + 1; part != parts.end(); ++part) {
    const std::size_t colon = part->find(':');
    if (colon == std::string::npos) refuse();
    made.shape.emplace_back(part->substr(0, colon), part->substr(colon + 1));
  }
  return made;
}

}  // namespace roofmark
