// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case.hpp"

namespace roofmark {

std::string case_name(const std::string& family, const std::string& how, DataType type, const Shape& shape) {
  std::string path = family + "/" + how + "/" + std::string(name(type));
  for (const auto& [key, value] : shape) path += "/" + key + ":" + value;
  return path;
}

}  // namespace roofmark
