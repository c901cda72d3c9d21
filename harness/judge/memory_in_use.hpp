// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/model/finding.hpp"

namespace roofmark {

/// Memory of a GPU that was in use when it was opened, before the first case.
struct MemoryInUse {
  double most_usual_bytes = 0;  ///< what a driver and the context of this process take at most
  std::string unusual;          ///< "52.3 GB of 150 GB in use: 7 train (40.0 GB)"; empty if it was no more than usual
  std::string remedy;           ///< with `unusual`
};

/// Nothing of a device without memory of its own, or where it is not known.
std::optional<MemoryInUse> memory_in_use(const DeviceInfo& device);

/// The finding `memory_in_use` for more than usual.
std::vector<Finding> find_memory_in_use(const DeviceInfo& device);

}  // namespace roofmark
