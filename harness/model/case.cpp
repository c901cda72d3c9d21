// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace roofmark {

namespace {

/// Of a name, or what its absence from the name means; empty: neither.
std::string stated_or_implied(const Case& c, const std::string& key) {
  const std::string stated = value_of(c.shape, key);
  return stated.empty() ? value_of(c.implied, key) : stated;
}

}  // namespace

Comparison compare(const Case& numerator, const Case& denominator) {
  bool alike = numerator.family == denominator.family && numerator.operation == denominator.operation &&
               numerator.type == denominator.type;
  std::vector<Comparison> differing;
  const CaseName &above = numerator, &below = denominator;
  const auto see = [&](const std::string& key) {
    const std::string one = stated_or_implied(numerator, key), other = stated_or_implied(denominator, key);
    alike = alike && !one.empty() && !other.empty();
    if (one != other) differing.push_back({one + " against " + other, key, above, below});
  };
  for (const auto& [key, value] : numerator.shape) see(key);
  for (const auto& [key, value] : denominator.shape) {
    if (value_of(numerator.shape, key).empty()) see(key);
  }
  if (!alike || differing.size() != 1) {
    throw std::invalid_argument(numerator.name() + " and " + denominator.name() + " do not differ in exactly one key");
  }
  return differing.front();
}

Comparison compare_rates(const Case& numerator, const Case& denominator) {
  Comparison made = compare(numerator, denominator);
  const Resource& counted = numerator.work.phases.at(0).at(0).resource;
  made.work_ratio = numerator.work.total(counted) / denominator.work.total(counted);
  return made;
}

}  // namespace roofmark
