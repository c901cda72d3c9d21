// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/model/resource.hpp"

namespace roofmark {

// For people only: files hold plain SI units.

/// Three significant digits and a decimal prefix: 268 MFLOP, 450 k launches.
std::string format_amount(double amount, Unit unit);
/// The same per second: 789 TFLOP/s, 4.13 TB/s, 450 k launches/s.
std::string format_rate(double per_second, Unit unit);
/// 12.3 us
std::string format_seconds(double seconds);
/// Decimal: 268 MB
std::string format_bytes(double bytes);
/// 94.1 %
std::string format_share(std::optional<double> share);
/// 2 m 05 s
std::string format_duration(double seconds);

}  // namespace roofmark
