// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/case_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/model/units.hpp"

namespace roofmark {
namespace {

/// Includes two slots where slots rotate to keep the caches cold.
std::size_t needed_bytes(const Case& c, const DeviceInfo& device) {
  const std::size_t touched = c.touched_bytes ? c.touched_bytes : c.slot_bytes;
  const bool rotates = c.protocol.cache == Cache::cold && touched < 4 * device.last_level_cache_bytes();
  return (rotates ? 2 : 1) * c.slot_bytes + c.shared_bytes;
}

void drop_comparisons_without_cases(Group& group) {
  const auto has = [&](const std::string& name) {
    return std::any_of(group.cases.begin(), group.cases.end(),
                       [&](const Case& c) { return c.unsupported.empty() && c.name() == name; });
  };
  std::erase_if(group.comparisons, [&](const Comparison& c) { return !has(c.numerator) || !has(c.denominator); });
}

}  // namespace

CaseList::CaseList(const Listing& listing) : listing_(listing) {}

void CaseList::add(Group group) {
  const DeviceInfo& device = listing_.device;
  const double largest = listing_.memory_fraction * static_cast<double>(device.memory_bytes);
  const double free = listing_.memory_fraction * static_cast<double>(device.free_bytes);
  Group together{{}, std::move(group.comparisons)};
  std::vector<Group> alone;
  double taken = 0;
  for (Case& c : group.cases) {
    if (!names_.insert(c.name()).second) continue;
    const auto needed = static_cast<double>(needed_bytes(c, device));
    if (c.unsupported.empty() && needed > largest) {
      c.unsupported =
          fmt::format("needs {}, the device has {} and --memory-fraction {:g} allows {}", format_bytes(needed),
                      format_bytes(static_cast<double>(device.memory_bytes)), listing_.memory_fraction, format_bytes(largest));
      c.prepare = nullptr;
    }
    if (c.unsupported.empty() && taken > 0 && taken + needed > free) {
      alone.push_back({{std::move(c)}, {}});
      continue;
    }
    if (c.unsupported.empty()) taken += needed;
    together.cases.push_back(std::move(c));
  }
  drop_comparisons_without_cases(together);
  if (!together.cases.empty()) groups_.push_back(std::move(together));
  for (Group& one : alone) groups_.push_back(std::move(one));
}

std::vector<Group> list_cases(const Listing& listing, AddCases contract, AddCases cpu, AddCases gpu, AddCases smoke) {
  CaseList list(listing);
  AddCases add = list.on_gpu() ? gpu : cpu;
  if (listing.suite == SuiteName::contract) add = contract;
  if (listing.suite == SuiteName::smoke) add = smoke;
  if (listing.suite == SuiteName::sustained) add = nullptr;  // the family of that name has it
  if (add) add(list);
  return list.take();
}

}  // namespace roofmark
