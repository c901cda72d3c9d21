// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case.hpp"

#include <cstddef>
#include <stdexcept>

namespace roofmark {

Comparison compare(const Case& numerator, const Case& denominator) {
  const Shape &one = numerator.shape, &other = denominator.shape;
  bool alike = numerator.family == denominator.family && numerator.operation == denominator.operation &&
               numerator.type == denominator.type && one.size() == other.size();
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; alike && i < one.size(); ++i) {
    alike = one[i].first == other[i].first;
    if (one[i].second != other[i].second) differing.push_back(i);
  }
  if (!alike || differing.size() != 1) {
    throw std::invalid_argument(numerator.name() + " and " + denominator.name() + " do not differ in exactly one key");
  }
  const std::size_t at = differing.front();
  return {one[at].second + " against " + other[at].second, one[at].first, static_cast<const CaseName&>(numerator),
          static_cast<const CaseName&>(denominator)};
}

Comparison compare_rates(const Case& numerator, const Case& denominator) {
  Comparison made = compare(numerator, denominator);
  const Resource& counted = numerator.work.phases.at(0).at(0).resource;
  made.work_ratio = numerator.work.total(counted) / denominator.work.total(counted);
  return made;
}

}  // namespace roofmark
