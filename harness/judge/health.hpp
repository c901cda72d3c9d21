// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/machine/host.hpp"

namespace roofmark {

/// One property of the device's environment, with advice if it can make results worse.
struct Circumstance {
  std::string what, state;
  std::string advice;            ///< effect on results, and the remedy; empty if fine
  std::optional<int> rank = {};  ///< set if this rank differs from rank 0
};

/// "7 train, 9 python"; empty for none.
std::string name_processes(const std::vector<ForeignProcess>& processes);

/// The circumstances of a device on a host. An unreadable value is "unknown"; properties that only some machines have are left
/// out.
std::vector<Circumstance> health(const DeviceInfo& device, const Host& host);

/// The circumstances of rank 0, then those of other ranks that differ from rank 0's. `by_rank`: one list per rank.
std::vector<Circumstance> team_health(const std::vector<std::vector<Circumstance>>& by_rank);

}  // namespace roofmark
