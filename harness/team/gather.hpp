// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/team/json.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

template <class T>
std::vector<T> Team::gather(const T& value, bool interrupted) {
  std::string bytes;
  nlohmann::json::to_cbor(nlohmann::json(value), bytes);
  std::vector<T> values;
  for (const std::string& received : gather_bytes(bytes, interrupted))
    values.push_back(nlohmann::json::from_cbor(received).template get<T>());
  return values;
}

}  // namespace roofmark
