// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/team/json_fwd.hpp"

/// An absent value is null.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  template <class Json>
  static void to_json(Json& json, const std::optional<T>& value) {
    json = value ? Json(*value) : Json(nullptr);
  }
  template <class Json>
  static void from_json(const Json& json, std::optional<T>& value) {
    value = json.is_null() ? std::optional<T>() : json.template get<T>();
  }
};
