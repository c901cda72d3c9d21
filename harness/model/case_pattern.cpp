// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case_pattern.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

namespace roofmark {

namespace {

using Texts = std::vector<std::string>;

/// 4096 of "4096" and of "4K"; absent where the text is no whole number, or too large a one.
std::optional<std::uint64_t> number_of(std::string_view text) {
  constexpr std::string_view kPowers = "KMGT";
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<std::size_t>(stop - text.data()));
  if (error != std::errc() || rest.size() > 1) return std::nullopt;
  if (rest.empty()) return number;
  const std::size_t power = kPowers.find(rest.front());
  if (power == std::string_view::npos) return std::nullopt;
  const auto shift = static_cast<int>(10 * (power + 1));
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

/// The numbers of "8..1G*2".
Texts range_of(const std::string& text) {
  const std::size_t dots = text.find(".."), sign = text.find_first_of("*+", dots);
  const auto first = number_of(text.substr(0, dots)), last = number_of(text.substr(dots + 2, sign - dots - 2));
  const bool adds = sign != std::string::npos && text[sign] == '+';
  const std::optional<std::uint64_t> by = sign == std::string::npos ? 2 : number_of(text.substr(sign + 1));
  if (!first || !last || !by) throw std::invalid_argument(fmt::format("'{}' is no range such as 8..1G*2 or 64..512+64", text));
  if (*first > *last) throw std::invalid_argument(fmt::format("the range '{}' ends before it begins", text));
  if (adds ? *by == 0 : *by < 2 || *first == 0) {
    const char* const hint = sign == std::string::npos ? ": numbers double, unless it ends in a step such as +1" : "";
    throw std::invalid_argument(fmt::format("the range '{}' never reaches its end{}", text, hint));
  }
  Texts all;
  for (std::uint64_t number = *first; all.size() <= kMostNamesOfPattern;) {
    all.push_back(std::to_string(number));
    if (adds ? *last - number < *by : number > *last / *by) break;
    number = adds ? number + *by : number * *by;
  }
  return all;
}

Texts values_of(std::string_view text) {
  Texts all;
  for (const std::string& value : split(text, ',')) {
    if (value.empty()) throw std::invalid_argument(fmt::format("'{}' lacks a value", text));
    if (value.find("..") != std::string::npos) {
      const Texts range = range_of(value);
      all.insert(all.end(), range.begin(), range.end());
    } else {
      const auto number = number_of(value);
      all.push_back(number ? std::to_string(*number) : value);
    }
  }
  return all;
}

/// What one part between slashes stands for: "m:64/n:64" of "m=n:64".
Texts alternatives(const std::string& part) {
  const std::size_t colon = part.find(':');
  if (colon == std::string::npos) return values_of(part);
  const Texts keys = split(part.substr(0, colon), '=');
  Texts all;
  for (const std::string& value : values_of(part.substr(colon + 1))) {
    std::string one;
    for (const std::string& key : keys) one += (one.empty() ? "" : "/") + key + ":" + value;
    all.push_back(one);
  }
  return all;
}

void check_keys(const CaseName& name) {
  std::set<std::string> keys;
  for (const auto& [key, value] : name.shape) {
    if (key.empty()) throw std::invalid_argument("a value has no key");
    if (!keys.insert(key).second) throw std::invalid_argument(fmt::format("the key '{}' stands twice", key));
  }
}

}  // namespace

std::vector<CaseName> names_of_pattern(std::string_view pattern) {
  Texts texts(1);
  for (const std::string& part : split(pattern, '/')) {
    const Texts values = alternatives(part);
    if (texts.size() * values.size() > kMostNamesOfPattern) {
      throw std::invalid_argument(fmt::format("it stands for more than {} cases", kMostNamesOfPattern));
    }
    Texts longer;
    for (const std::string& text : texts) {
      for (const std::string& value : values) {
        longer.push_back(text);
        longer.back() += text.empty() ? value : "/" + value;
      }
    }
    texts = std::move(longer);
  }
  std::vector<CaseName> names;
  for (const std::string& text : texts) {
    names.push_back(parse_case_name(text));
    check_keys(names.back());
  }
  return names;
}

}  // namespace roofmark
