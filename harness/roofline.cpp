// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace roofmark {

const Resource& find_resource(std::string_view id) {
  for (const Resource& resource : kResources) {
    if (resource.id == id) return resource;
  }
  throw std::invalid_argument("unknown resource '" + std::string(id) + "'");
}

double Work::total(Unit unit) const {
  double sum = 0;
  for (const Phase& phase : phases) {
    for (const Demand& demand : phase) {
      if (demand.resource.unit == unit) sum += demand.amount;
    }
  }
  return sum;
}

double Work::total(const Resource& resource) const {
  double sum = 0;
  for (const Phase& phase : phases) {
    for (const Demand& demand : phase) {
      if (demand.resource == resource) sum += demand.amount;
    }
  }
  return sum;
}

std::optional<double> Ceiling::empirical() const {
  if (first && last) return std::max(*first, *last);
  return first ? first : last;
}

std::optional<double> Ceiling::drift() const {
  if (first && last) return *last / *first - 1;
  return std::nullopt;
}

const Ceiling* Roofline::find(const Resource& resource) const {
  for (const Ceiling& ceiling : ceilings_) {
    if (ceiling.resource == resource) return &ceiling;
  }
  return nullptr;
}

Ceiling& Roofline::at(const Resource& resource) {
  if (const Ceiling* found = find(resource)) return const_cast<Ceiling&>(*found);
  Ceiling made{resource, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  ceilings_.push_back(std::move(made));
  return ceilings_.back();
}

}  // namespace roofmark
