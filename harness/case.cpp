// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/case.hpp"

#include "harness/measurement.hpp"
#include "harness/team.hpp"

namespace roofmark {

std::string Case::name() const {
  std::string path = family + "/" + how + "/" + std::string(roofmark::name(type));
  for (const auto& [key, value] : shape) path += "/" + key + ":" + value;
  return path;
}

}  // namespace roofmark
