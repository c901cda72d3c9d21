// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace roofmark {

namespace {

namespace dom = simdjson::dom;

std::string reason(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return "it is empty";
    case simdjson::UTF8_ERROR:
      return "it is not UTF-8";
    case simdjson::DEPTH_ERROR:
      return fmt::format("it has more than {} levels", simdjson::DEFAULT_MAX_DEPTH);
    case simdjson::NUMBER_ERROR:
      return "it has a number that is malformed or out of range";
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      return "it is too large";
    default:
      return "it is cut short, or is not JSON";
  }
}

/// Which of two members counts differs from reader to reader.
void check_names(const Json::object_t& members) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const auto& [name, value] : members) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    const std::string name = Json(*twice).dump(-1, ' ', true);  // in one line, whatever is in it
    throw std::invalid_argument(fmt::format("an object has two members {:.100}", name));
  }
}

Json value_of(const dom::element& element);

template <class Value>
Json object_of(const dom::object& object, const Value& value_of_member) {
  Json::object_t members;
  members.reserve(object.size());
  // At the end of the vector: an object's own functions look for the name first, which takes long in wide objects.
  for (const auto& [name, value] : object) members.emplace_back(std::string(name), value_of_member(name, value));
  check_names(members);
  return members;
}

Json value_of(const dom::element& element) {
  switch (element.type()) {
    case dom::element_type::OBJECT:
      return object_of(element, [](std::string_view, const dom::element& value) { return value_of(value); });
    case dom::element_type::ARRAY: {
      const dom::array array = element;
      Json::array_t values;
      values.reserve(array.size());
      for (const dom::element& value : array) values.push_back(value_of(value));
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
      return std::string(static_cast<std::string_view>(element));
    case dom::element_type::BOOL:
      return static_cast<bool>(element);
    default:
      return nullptr;
  }
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

Json JsonText::View::value() const { return value_of(element_); }

Json JsonText::View::value_without(std::string_view name) const {
  if (!element_.is_object()) throw std::invalid_argument("it is no object");
  Json json = object_of(
      element_, [&](std::string_view member, const dom::element& value) { return member == name ? Json() : value_of(value); });
  json.erase(std::string(name));
  return json;
}

std::vector<double> JsonText::View::numbers() const {
  dom::array elements;
  if (element_.get(elements)) throw std::invalid_argument("it is no array");
  std::vector<double> values;
  values.reserve(elements.size());
  for (const dom::element& each : elements) {
    if (bool flag = false; each.get(flag) == simdjson::SUCCESS) {
      values.push_back(flag ? 1 : 0);
    } else if (each.get(values.emplace_back())) {
      throw std::invalid_argument("an array of numbers has something else");
    }
  }
  return values;
}

std::size_t JsonText::View::members() const {
  dom::object object;
  return element_.get(object) ? 0 : object.size();
}

JsonText::View JsonText::View::at(std::string_view name) const {
  dom::element member;
  if (element_.at_key(name).get(member)) throw std::invalid_argument(fmt::format("it has no member '{}'", name));
  return View(member);
}

bool JsonText::View::has(std::string_view name) const { return element_.at_key(name).error() == simdjson::SUCCESS; }

bool JsonText::View::equals(const View& other, std::string_view without) const {
  return same(element_, other.element_, without);
}

struct JsonText::Document {
  dom::parser parser;
  dom::element root;
};

JsonText::JsonText(std::string_view text) : document_(std::make_unique<Document>()) {
  if (text.starts_with("\xEF\xBB\xBF")) throw std::invalid_argument("it begins with a byte order mark");
  if (const auto error = document_->parser.parse(text.data(), text.size()).get(document_->root)) {
    throw std::invalid_argument(reason(error));
  }
}

JsonText::~JsonText() = default;

Json JsonText::value(std::span<const std::string_view> emptied) const {
  if (!document_->root.is_object()) return value_of(document_->root);
  return object_of(document_->root, [&](std::string_view name, const dom::element& value) {
    const bool is_emptied = value.is_array() && std::find(emptied.begin(), emptied.end(), name) != emptied.end();
    return is_emptied ? Json::array() : value_of(value);
  });
}

JsonText::View JsonText::root() const { return View(document_->root); }

std::vector<JsonText::View> JsonText::elements(std::string_view array) const {
  dom::array elements;
  if (document_->root.at_key(array).get(elements)) {
    throw std::invalid_argument(fmt::format("it has no array '{}'", array));
  }
  std::vector<View> views;
  views.reserve(elements.size());
  for (const dom::element& each : elements) views.push_back(View(each));
  return views;
}

}  // namespace roofmark
