// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/device.hpp"
#include "harness/machine/json_fwd.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

Json to_json(const DeviceInfo& info, bool known);
Json to_json(const Roofline& roofline);
/// The theoretical part alone: what a probe measured is found again from the records.
Roofline roofline_from_json(const Json& json);

}  // namespace roofmark
