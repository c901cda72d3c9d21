// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/device.hpp"
#include "harness/machine/host.hpp"
#include "harness/machine/json_fwd.hpp"
#include "harness/machine/libraries.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

Json to_json(const Host& host);
Json to_json(const Build& build);
Json to_json(const BenchmarkContext& context);
/// By name.
Json to_json(const std::vector<Library>& libraries);
Json to_json(const DeviceInfo& info, bool known);
/// A GPU's id, name and, where there are any, `details` from that.
DeviceInfo gpu_from_json(const Json& json);
Json to_json(const Roofline& roofline);
/// The theoretical part alone: what a probe measured is found again from the records.
Roofline roofline_from_json(const Json& json);

}  // namespace roofmark
