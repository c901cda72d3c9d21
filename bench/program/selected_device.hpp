// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "harness/device/device.hpp"

namespace roofmark {

/// The one device that a value of --device names. If `note` is set, say it after all arguments have proved right.
std::unique_ptr<Device> open_selected(const std::string& value, std::string& note);

}  // namespace roofmark
