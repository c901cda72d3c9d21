// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/machine/json.hpp"

namespace roofmark {

/// A condition of the device's environment that limits how far a result can be trusted.
struct Circumstance {
  std::string what, state;
  std::string advice;  ///< what it does to results, and the remedy; empty where all is well
};

/// "7 train, 9 python" for an array of {pid, name}; empty for none.
std::string name_processes(const Json& processes);

/// The circumstances of a device on a host; `host` is describe_host(). A value that could not be read is "unknown" where it
/// matters, and left out where only some machines have it.
std::vector<Circumstance> health(const DeviceInfo& device, const Json& host);

}  // namespace roofmark
