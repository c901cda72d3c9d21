// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/team/json.hpp"

namespace roofmark {

// Members of an object that are left out while they are unknown: absent or empty values, and numbers that JSON lacks (NaN).
inline void put(Json& json, const char* key, double value) {
  if (std::isfinite(value)) json[key] = value;
}
inline void put(Json& json, const char* key, bool value) { json[key] = value; }
void put(Json& json, const char* key, const char* value) = delete;  // would be a bool
inline void put(Json& json, const char* key, int value) { json[key] = value; }
inline void put(Json& json, const char* key, unsigned value) { json[key] = value; }
inline void put(Json& json, const char* key, std::uint64_t value) { json[key] = value; }
inline void put(Json& json, const char* key, std::int64_t value) { json[key] = value; }
inline void put(Json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}
/// An empty list is known: it is written.
template <class T>
void put(Json& json, const char* key, const std::vector<T>& values) {
  json[key] = values;
}
template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) put(json, key, *value);
}

// `Source` is Json or JsonText::View.
template <class Source, class T>
void get(const Source& json, const char* key, std::optional<T>& value) {
  if (json.contains(key)) value = json.at(key).template get<T>();
}
template <class Source, class T>
void get(const Source& json, const char* key, T& value) {
  value = json.at(key).template get<T>();
}
template <class Source>
void get(const Source& json, const char* key, std::string& value) {
  if (json.contains(key)) value = json.at(key).template get<std::string>();
}

/// For functions that call `field(key, member)` for each member of a struct, so that its keys stand once.
inline auto put_into(Json& json) {
  return [&json](const char* key, const auto& value) { put(json, key, value); };
}
template <class Source>
auto get_from(const Source& json) {
  return [&json](const char* key, auto& value) { get(json, key, value); };
}

/// The same where every member may be absent, and then stays as it is.
inline auto get_present_from(const Json& json) {
  return [&json](const char* key, auto& value) {
    if (json.contains(key)) get(json, key, value);
  };
}

}  // namespace roofmark
