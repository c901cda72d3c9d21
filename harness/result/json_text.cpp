// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/model/printable.hpp"

namespace roofmark {

namespace {

namespace dom = simdjson::dom;

/// Newer versions of simdjson have an error of its own for an integer of more than 64 bits.
template <class Error>
bool is_of_number(Error error) {
  if constexpr (requires { Error::BIGINT_ERROR; }) {
    if (error == Error::BIGINT_ERROR) return true;
  }
  return error == Error::NUMBER_ERROR;
}

std::string reason(simdjson::error_code error) {
  if (is_of_number(error)) return "a number is malformed or out of range";
  switch (error) {
    case simdjson::EMPTY:
      return "it is empty";
    case simdjson::UTF8_ERROR:
      return "it is not UTF-8";
    case simdjson::DEPTH_ERROR:
      return fmt::format("it is nested more than {} levels deep", simdjson::DEFAULT_MAX_DEPTH);
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      return "it is too large";
    default:
      return "it is truncated, or not JSON";
  }
}

constexpr double kLargest = 1e90, kSmallest = 1e-90;

/// Throws where an object has two members of one name: which of them counts differs from reader to reader.
void check_names(const dom::element& element, std::vector<std::string_view>& names) {
  if (element.is_array()) {
    for (const dom::element& each : dom::array(element)) {
      if (each.is_array() || each.is_object()) check_names(each, names);
    }
  }
  if (!element.is_object()) return;
  const dom::object object = element;
  names.clear();
  for (const auto& [name, value] : object) names.push_back(name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    const std::string name = Json(*twice).dump(-1, ' ', true);  // escaped, so always one line
    throw std::invalid_argument(fmt::format("an object has two members {:.100}", name));
  }
  for (const auto& [name, value] : object) {
    if (value.is_array() || value.is_object()) check_names(value, names);
  }
}

void check_range(const dom::element& element) {
  if (double number = 0; element.is_double() && element.get(number) == simdjson::SUCCESS) {
    const double size = std::abs(number);
    if (size == 0 || (size > kSmallest && size < kLargest)) return;
    throw std::invalid_argument(fmt::format("the number {} is out of range", number));
  }
  if (element.is_array()) {
    for (const dom::element& each : dom::array(element)) check_range(each);
  } else if (element.is_object()) {
    for (const auto& [name, value] : dom::object(element)) check_range(value);
  }
}

std::string text_of(std::string_view text, JsonText::Strings strings) {
  return strings == JsonText::Strings::printable ? printable(text) : std::string(text);
}

Json value_of(const dom::element& element, JsonText::Strings strings) {
  switch (element.type()) {
    case dom::element_type::OBJECT: {
      const dom::object object = element;
      Json::object_t members;
      members.reserve(object.size());
      // At the end of the vector: an object's own functions look for the name first, which takes long in wide objects.
      for (const auto& [name, value] : object) members.emplace_back(text_of(name, strings), value_of(value, strings));
      return members;
    }
    case dom::element_type::ARRAY: {
      const dom::array array = element;
      Json::array_t values;
      values.reserve(array.size());
      for (const dom::element& value : array) values.push_back(value_of(value, strings));
      return values;
    }
    case dom::element_type::INT64: {
      // Signed only below 0, as from nlohmann's parser.
      const std::int64_t value = element;
      return value < 0 ? Json(value) : Json(static_cast<std::uint64_t>(value));
    }
    case dom::element_type::UINT64:
      return static_cast<std::uint64_t>(element);
    case dom::element_type::DOUBLE:
      return static_cast<double>(element);
    case dom::element_type::STRING:
      return text_of(element, strings);
    case dom::element_type::BOOL:
      return static_cast<bool>(element);
    default:
      return nullptr;
  }
}

/// The error for a value of the wrong type: "abc" is not a number.
std::invalid_argument mismatch(const dom::element& element, const char* what) {
  constexpr std::size_t kMost = 40;
  std::string text = value_of(element, JsonText::Strings::as_written).dump(-1, ' ', true);  // escaped, so always one line
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return std::invalid_argument(fmt::format("{} is not {}", text, what));
}

template <class Value>
Value read(const dom::element& element, const char* what) {
  Value value{};
  if (element.get(value)) throw mismatch(element, what);
  return value;
}

bool same(const dom::element& a, const dom::element& b, std::string_view without = {}) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case dom::element_type::OBJECT: {
      const dom::object first = a, second = b;
      auto left = first.begin(), right = second.begin();
      const auto skip = [&](auto& member, const auto& end) {
        while (!without.empty() && member != end && member.key() == without) ++member;
      };
      for (;; ++left, ++right) {
        skip(left, first.end());
        skip(right, second.end());
        if (left == first.end() || right == second.end()) return left == first.end() && right == second.end();
        if (left.key() != right.key() || !same(left.value(), right.value())) return false;
      }
    }
    case dom::element_type::ARRAY: {
      const dom::array first = a, second = b;
      auto right = second.begin();
      for (const dom::element& value : first) {
        if (right == second.end() || !same(value, *right)) return false;
        ++right;
      }
      return right == second.end();
    }
    case dom::element_type::INT64:
      return static_cast<std::int64_t>(a) == static_cast<std::int64_t>(b);
    case dom::element_type::UINT64:
      return static_cast<std::uint64_t>(a) == static_cast<std::uint64_t>(b);
    case dom::element_type::DOUBLE:
      return static_cast<double>(a) == static_cast<double>(b);
    case dom::element_type::STRING:
      return static_cast<std::string_view>(a) == static_cast<std::string_view>(b);
    case dom::element_type::BOOL:
      return static_cast<bool>(a) == static_cast<bool>(b);
    default:
      return true;
  }
}

}  // namespace

Json JsonText::View::value() const { return value_of(element_, strings_); }

Json JsonText::View::value_without(std::span<const std::string_view> names) const {
  Json::object_t members;
  for (const auto& [name, value] : object()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    members.emplace_back(text_of(name, strings_), value_of(value, strings_));
  }
  return members;
}

dom::array JsonText::View::array() const { return read<dom::array>(element_, "an array"); }
dom::object JsonText::View::object() const { return read<dom::object>(element_, "an object"); }

template <>
bool JsonText::View::get() const {
  return read<bool>(element_, "a boolean");
}
template <>
double JsonText::View::get() const {
  return read<double>(element_, "a number");
}
template <>
std::int64_t JsonText::View::get() const {
  return read<std::int64_t>(element_, "an integer");
}
template <>
int JsonText::View::get() const {
  const auto value = get<std::int64_t>();
  if (value != static_cast<int>(value)) throw mismatch(element_, "a 32-bit integer");
  return static_cast<int>(value);
}
template <>
std::size_t JsonText::View::get() const {
  return read<std::uint64_t>(element_, "a non-negative integer");
}
template <>
std::string JsonText::View::get() const {
  return text_of(read<std::string_view>(element_, "a string"), strings_);
}

std::vector<double> JsonText::View::numbers() const {
  const dom::array elements = array();
  std::vector<double> values;
  values.reserve(elements.size());
  for (const dom::element& each : elements) {
    if (bool flag = false; each.get(values.emplace_back()) != simdjson::SUCCESS) {
      if (each.get(flag)) throw mismatch(each, "a number");
      values.back() = flag ? 1 : 0;
    }
  }
  return values;
}

std::vector<int> JsonText::View::integers() const {
  std::vector<int> values;
  for_each([&](const View& each) { values.push_back(each.get<int>()); });
  return values;
}

std::vector<std::string> JsonText::View::strings() const {
  std::vector<std::string> values;
  for_each([&](const View& each) { values.push_back(each.get<std::string>()); });
  return values;
}

std::map<std::string, double> JsonText::View::numbers_by_name() const {
  std::map<std::string, double> values;
  for_each([&](std::string_view name, const View& each) { values.emplace(text_of(name, strings_), each.get<double>()); });
  return values;
}

std::size_t JsonText::View::members() const {
  dom::object object;
  return element_.get(object) ? 0 : object.size();
}

JsonText::View JsonText::View::at(std::string_view name) const {
  dom::element member;
  if (element_.at_key(name).get(member)) throw std::invalid_argument(fmt::format("it has no member '{}'", name));
  return View(member, strings_);
}

JsonText::View JsonText::View::at(std::size_t index) const {
  dom::element found;
  if (array().at(index).get(found)) throw std::invalid_argument(fmt::format("it has no element {}", index));
  return View(found, strings_);
}

bool JsonText::View::contains(std::string_view name) const { return element_.at_key(name).error() == simdjson::SUCCESS; }

bool JsonText::View::equals(const View& other, std::string_view without) const {
  return same(element_, other.element_, without);
}

void JsonText::View::check_numbers() const { check_range(element_); }

struct JsonText::Document {
  dom::parser parser;
  dom::element root;
};

JsonText::JsonText(std::string_view text, Strings strings) : document_(std::make_unique<Document>()), strings_(strings) {
  if (text.starts_with("\xEF\xBB\xBF")) throw std::invalid_argument("it begins with a byte order mark");
  if (const auto error = document_->parser.parse(text.data(), text.size()).get(document_->root)) {
    throw std::invalid_argument(reason(error));
  }
  std::vector<std::string_view> names;
  check_names(document_->root, names);
}

JsonText::~JsonText() = default;

JsonText::View JsonText::root() const { return View(document_->root, strings_); }

}  // namespace roofmark
