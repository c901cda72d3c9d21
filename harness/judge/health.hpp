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

/// The circumstances of a device on a host, from what was read of both; `host` is describe_host(). What could not be read is
/// "unknown" where it matters, and left out where only some machines have it.
std::vector<Circumstance> health(const DeviceInfo& device, const Json& host);

}  // namespace roofmark
