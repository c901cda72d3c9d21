// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/team/json.hpp"

namespace roofmark {

/// A text of JSON, parsed by simdjson in a fraction of the time that nlohmann's parser takes, to the same values. Refused with
/// std::invalid_argument, beside what is no JSON: a byte order mark, an object with two members of one name, more than 1024
/// levels, an integer beyond 64 bits.
class JsonText {
 public:
  /// What a reader gets of a string. printable: by printable(), for a text that is shown.
  enum class Strings { as_written, printable };

  /// A value within the text, which must outlive it. What is not of the kind that is asked for: std::invalid_argument.
  class View {
   public:
    Json value() const;
    /// An object without the members of these names.
    Json value_without(std::span<const std::string_view> names) const;

    /// bool, int, std::int64_t, std::size_t, double (of any number), or std::string.
    template <class T>
    T get() const;
    /// An array of numbers; false is 0 and true 1.
    std::vector<double> numbers() const;
    std::vector<int> integers() const;
    std::vector<std::string> strings() const;
    std::map<std::string, double> numbers_by_name() const;

    bool is_null() const { return element_.is_null(); }
    bool is_object() const { return element_.is_object(); }
    /// A member of an object, or an element of an array.
    View at(std::string_view name) const;
    View at(std::size_t index) const;
    bool contains(std::string_view name) const;
    template <class T>
    T value(std::string_view name, T otherwise) const {
      simdjson::dom::element member;
      return object().at_key(name).get(member) ? std::move(otherwise) : View(member, strings_).template get<T>();
    }
    /// Throws where a number other than 0 is outside of 1e-90 to 1e90, within which products and ratios of three do not
    /// overflow.
    void check_numbers() const;
    /// How many members an object has; 0 for anything else.
    std::size_t members() const;
    /// Calls use(View) for each element of an array, or use(std::string_view, View) for each member of an object.
    template <class Use>
    void for_each(const Use& use) const {
      if constexpr (std::is_invocable_v<Use, std::string_view, View>) {
        for (const auto& [name, value] : object()) use(name, View(value, strings_));
      } else {
        for (const simdjson::dom::element& each : array()) use(View(each, strings_));
      }
    }
    /// Whether two values are the same, members of objects in the same order. In the two objects themselves, members named
    /// `without` do not count. Strings are compared as written.
    bool equals(const View& other, std::string_view without = {}) const;

   private:
    friend class JsonText;
    View(const simdjson::dom::element& element, Strings strings) : element_(element), strings_(strings) {}
    simdjson::dom::array array() const;
    simdjson::dom::object object() const;
    simdjson::dom::element element_;
    Strings strings_;
  };

  explicit JsonText(std::string_view text, Strings strings = Strings::as_written);
  ~JsonText();

  View root() const;

 private:
  struct Document;
  std::unique_ptr<Document> document_;
  Strings strings_;
};

}  // namespace roofmark
