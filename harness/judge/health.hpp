// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/machine/host.hpp"

namespace roofmark {

/// A condition of the device's environment that limits how far a result can be trusted.
struct Circumstance {
  std::string what, state;
  std::string advice;            ///< what it does to results, and the remedy; empty where all is well
  std::optional<int> rank = {};  ///< whose it is, where it differs from rank 0's
};

/// "7 train, 9 python"; empty for none.
std::string name_processes(const std::vector<ForeignProcess>& processes);

/// The circumstances of a device on a host. A value that could not be read is "unknown" where it
/// matters, and left out where only some machines have it.
std::vector<Circumstance> health(const DeviceInfo& device, const Host& host);

/// The circumstances of rank 0, then those of other ranks that differ from them; `by_rank` has the circumstances of each.
std::vector<Circumstance> team_health(const std::vector<std::vector<Circumstance>>& by_rank);

}  // namespace roofmark
