// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/details.hpp"

#include <utility>

#include "harness/machine/json.hpp"

namespace roofmark {

Details::Details() : Details(Json::object()) {}
Details::Details(Json facts) : facts_(std::make_unique<Json>(std::move(facts))) {}
Details::Details(const Details& other) : Details(*other) {}
Details::Details(Details&& other) noexcept = default;
Details& Details::operator=(Details other) noexcept {
  facts_.swap(other.facts_);
  return *this;
}
Details::~Details() = default;

}  // namespace roofmark
