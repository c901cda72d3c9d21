// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// What a run knows of the power of its devices.
struct PowerLimits {
  std::vector<std::optional<double>> watts;  ///< enforced by the driver, by rank; of a device alone one value
  bool of_module = false;                    ///< GPU and CPU also share a limit of their module, as on GH200 and GB200
};

/// The devices that a power cap slowed in nearly all of a record's time while they drew much less than their own limit:
/// something else holds them. Only of records of a second or more, for a shorter one has no power.
void find_held_power(const Record& record, const PowerLimits& limits, std::vector<Finding>& findings);

/// Whether a record has the readings of a device that find_held_power needs.
bool shows_held_power(const Record& record, const PowerLimits& limits);

}  // namespace roofmark
