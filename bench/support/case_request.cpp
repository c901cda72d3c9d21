// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/case_request.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace roofmark {

namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && stop == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

}  // namespace

CaseRequest::CaseRequest(CaseName name) : name_(std::move(name)) {
  constexpr double kMost = 0x1p58;  // 8 bytes of so many elements, in several slots, fit 64 bits
  double product = 1;
  for (const auto& [key, text] : name_.shape) {
    if (const auto number = whole_number(text)) product *= std::max(1.0, static_cast<double>(*number));
  }
  if (product > kMost) throw std::invalid_argument("its sizes are too large for any device");
}

DataType CaseRequest::type() const {
  if (!is_block_scaled(name_.type)) return name_.type;
  throw std::invalid_argument(fmt::format("{} is a type of matrix products alone", name(name_.type)));
}

std::int64_t CaseRequest::number(std::string_view key, std::int64_t least, std::int64_t most) const {
  return number_within(key, least, most, most);
}

std::int64_t CaseRequest::number_within(std::string_view key, std::int64_t least, std::int64_t allowed,
                                        std::int64_t most) const {
  if (!has(key)) throw std::invalid_argument(fmt::format("it lacks {}:NUMBER", key));
  const std::string text = value_of(name_.shape, key);
  const auto number = whole_number(text);
  if (number && *number >= least && *number <= allowed) return *number;
  const bool is_number = !text.empty() && text.front() >= '0' && text.front() <= '9';
  const std::string why = fmt::format("{}:{} is not a whole number from {} to {}{}", key, text, least, allowed,
                                      number || !is_number ? "" : " (units: K, M, G, T, powers of 1024)");
  if (number && *number >= least && *number <= most) throw NotTogether(why);
  throw std::invalid_argument(why);
}

std::int64_t CaseRequest::number_or(std::string_view key, std::int64_t otherwise, std::int64_t most) const {
  return has(key) ? number(key, 1, most) : otherwise;
}

std::size_t CaseRequest::amount(std::string_view key) const {
  return static_cast<std::size_t>(number(key, 1, std::int64_t{1} << 58));
}

std::string CaseRequest::word_or(std::string_view key, std::string_view otherwise) const {
  return has(key) ? value_of(name_.shape, key) : std::string(otherwise);
}

}  // namespace roofmark
