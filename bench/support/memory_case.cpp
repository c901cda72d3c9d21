// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/memory_case.hpp"

#include <utility>

#include "bench/support/case_list.hpp"
#include "harness/model/traffic.hpp"

namespace roofmark {

Case memory_case(const DeviceInfo& device, std::string family, std::string operation, DataType type, Shape shape, Cache cache,
                 const SlotLayout& layout, std::optional<LaunchBytes> bytes) {
  const auto [touched, moved, updated] = bytes.value_or(LaunchBytes{layout.touched_bytes(), layout.touched_bytes()});
  Case c;
  c.family = std::move(family);
  c.operation = std::move(operation);
  c.type = type;
  c.shape = std::move(shape);
  c.shape.push_back(shape_entry(cache));
  c.protocol.cache = cache;
  c.slot_bytes = layout.slot_bytes();
  c.touched_bytes = touched;
  c.work.phases = {
      memory_demands(device, static_cast<double>(touched), static_cast<double>(moved), cache, static_cast<double>(updated))};
  return c;
}

void demand_first(Case& c, const Phase& demands) {
  Phase& phase = c.work.phases.front();
  phase.insert(phase.begin(), demands.begin(), demands.end());
}

}  // namespace roofmark
