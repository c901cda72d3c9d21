// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/device/device.hpp"

namespace roofmark {

/// The device's properties, as (name, value). `known`: its published figures are known.
std::vector<std::pair<std::string, std::string>> device_in_words(const DeviceInfo& info, bool known);

/// Other attributes, except those in its health. Unreadable ones are left out.
std::vector<std::pair<std::string, std::string>> attributes_in_words(const DeviceInfo& info);

}  // namespace roofmark
