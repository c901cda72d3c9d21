// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/case_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/measure/slots.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

struct Needed {
  std::size_t device = 0, host = 0;
};

/// Slots that rotate to keep the caches cold are two at least. Those with a part in the host's memory are all of them: nothing
/// else evicts the host's caches.
Needed needed_bytes(const Case& c, const DeviceInfo& device) {
  const SlotPlan plan = plan_slots(c, last_level_caches(device), std::numeric_limits<std::size_t>::max());
  const auto slots = static_cast<std::size_t>(c.host_slot_bytes ? plan.slots : std::min(plan.slots, 2));
  return {slots * c.slot_bytes + c.shared_bytes, device.host_memory_bytes ? slots * c.host_slot_bytes : 0};
}

bool has_supported(const Group& group, const CaseName& name) {
  return std::any_of(group.cases.begin(), group.cases.end(),
                     [&](const Case& c) { return c.unsupported.empty() && same_case(c, name); });
}

void drop_comparisons_without_cases(Group& group) {
  std::erase_if(group.comparisons, [&](const Comparison& c) {
    return !has_supported(group, c.numerator) || !has_supported(group, c.denominator);
  });
}

}  // namespace

CaseList::CaseList(const Listing& listing) : listing_(listing) {}

void CaseList::add(Group group) {
  const DeviceInfo& device = listing_.device;
  const auto share_of = [&](std::size_t bytes) {
    return static_cast<std::size_t>(listing_.memory_fraction * static_cast<double>(bytes));
  };
  const std::size_t largest = share_of(device.memory_bytes), free = share_of(device.free_bytes);
  const std::size_t host_largest = share_of(device.host_memory_bytes), host_free = share_of(device.host_free_bytes);
  const auto refuse = [&](Case& c, std::size_t needed, const char* where, std::size_t has, std::size_t allowed) {
    const auto words = [](std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); };
    c.unsupported = fmt::format("needs {}, {} {} and --memory-fraction {:g} allows {}", words(needed), where, words(has),
                                listing_.memory_fraction, words(allowed));
    c.prepare = nullptr;
  };
  Group together{{}, std::move(group.comparisons)};
  std::vector<Group> alone;
  Needed taken;
  for (Case& c : group.cases) {
    if (!names_.insert(c.name()).second) continue;
    const Needed needed = needed_bytes(c, device);
    if (c.unsupported.empty() && needed.device > largest) {
      refuse(c, needed.device, "the device has", device.memory_bytes, largest);
    }
    if (c.unsupported.empty() && needed.host > host_largest) {
      refuse(c, needed.host, "the host has", device.host_memory_bytes, host_largest);
    }
    if (c.unsupported.empty()) {
      const bool fits = taken.device + needed.device <= free && taken.host + needed.host <= host_free;
      if (taken.device > 0 && !fits) {
        alone.push_back({{std::move(c)}, {}});
        continue;
      }
      taken = {taken.device + needed.device, taken.host + needed.host};
    }
    together.cases.push_back(std::move(c));
  }
  drop_comparisons_without_cases(together);
  if (!together.cases.empty()) groups_.push_back(std::move(together));
  for (Group& one : alone) groups_.push_back(std::move(one));
}

void CaseList::add_across_groups(Comparison comparison) {
  const auto group_of = [&](const CaseName& name) {
    return std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) { return has_supported(group, name); });
  };
  const auto numerator = group_of(comparison.numerator), denominator = group_of(comparison.denominator);
  if (numerator == groups_.end() || denominator == groups_.end()) return;
  std::max(numerator, denominator)->comparisons.push_back(std::move(comparison));
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
