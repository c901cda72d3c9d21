// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/groups.hpp"

#include <algorithm>

namespace roofmark {

Groups::Groups(const Listing& listing)
    : listing_(listing),
      limit_(static_cast<std::size_t>(listing.memory_fraction * static_cast<double>(listing.device.free_bytes))) {}

void Groups::add(Group group) {
  std::size_t wanted = 0;
  std::erase_if(group.cases, [&](const Case& c) {
    const std::size_t bytes = 2 * c.slot_bytes + c.shared_bytes;
    if (wanted + bytes > limit_ || !listed_.insert(c.name()).second) return true;
    wanted += bytes;
    return false;
  });
  const auto is_there = [&](const std::string& name) {
    return std::any_of(group.cases.begin(), group.cases.end(), [&](const Case& c) { return c.name() == name; });
  };
  std::erase_if(group.comparisons, [&](const Comparison& c) { return !is_there(c.numerator) || !is_there(c.denominator); });
  if (!group.cases.empty()) groups_.push_back(std::move(group));
}

std::vector<Group> list_groups(const Listing& listing, AddGroups contract, AddGroups cpu, AddGroups gpu) {
  Groups groups(listing);
  const AddGroups suite = groups.on_gpu() ? gpu : cpu;
  (listing.suite == SuiteName::contract ? contract : suite)(groups);
  return groups.take();
}

}  // namespace roofmark
