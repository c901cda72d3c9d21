// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/device.hpp"
#include "harness/model/roofline.hpp"
#include "harness/team/json_fwd.hpp"

namespace roofmark {

/// Without the model, the caches and, where no control group limits it, the memory.
Json to_json(const CpuFacts& facts);
CpuFacts cpu_facts_from_json(const Json& json);
Json to_json(const DeviceInfo& info, bool known);
/// What is written again is the same.
DeviceInfo device_from_json(const Json& json);
Json to_json(const Roofline& roofline);
/// The theoretical part alone: what a probe measured is found again from the records.
Roofline roofline_from_json(const Json& json);

}  // namespace roofmark
