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
      return object().at_key(name).get(member) ? std::move(otherwise) : View(member).template get<T>();
    }
    /// How many members an object has; 0 for anything else.
    std::size_t members() const;
    /// Calls use(View) for each element of an array, or use(std::string_view, View) for each member of an object.
    template <class Use>
    void for_each(const Use& use) const {
      if constexpr (std::is_invocable_v<Use, std::string_view, View>) {
        for (const auto& [name, value] : object()) use(name, View(value));
      } else {
        for (const simdjson::dom::element& each : array()) use(View(each));
      }
    }
    /// Whether two values are the same, members of objects in the same order. In the two objects themselves, members named
    /// `without` do not count.
    bool equals(const View& other, std::string_view without = {}) const;

   private:
    friend class JsonText;
    explicit View(const simdjson::dom::element& element) : element_(element) {}
    simdjson::dom::array array() const;
    simdjson::dom::object object() const;
    simdjson::dom::element element_;
  };

  explicit JsonText(std::string_view text);
  ~JsonText();

  View root() const;

 private:
  struct Document;
  std::unique_ptr<Document> document_;
};

}  // namespace roofmark
