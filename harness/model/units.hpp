// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/model/resource.hpp"

namespace roofmark {

/// Sizes of arrays and caches, in bytes.
constexpr std::size_t kKiB = std::size_t{1} << 10, kMiB = std::size_t{1} << 20, kGiB = std::size_t{1} << 30;

// For display only: files hold plain SI units. A quantity that is not finite is shown as "-".

/// Significant digits of figures.
constexpr int kDigits = 3;

/// Significant digits and a decimal prefix: 268 MFLOP, 450 k launches.
std::string format_amount(double amount, Unit unit, int digits = kDigits);
/// The same per second: 789 TFLOP/s, 4.13 TB/s, 450 k launches/s.
std::string format_rate(double per_second, Unit unit, int digits = kDigits);
/// 12.3 us
std::string format_seconds(double seconds, int digits = kDigits);
/// Decimal: 268 MB
std::string format_bytes(double bytes);
/// 94.1 %: the digits of a share between 10 and 100 %
std::string format_share(std::optional<double> share, int digits = kDigits);
/// +1.2 %, -0.3 %
std::string format_change(std::optional<double> share);
/// 2 min 05 s
std::string format_duration(double seconds);
/// 0.0833, 341, 12000: FLOPs per byte
std::string format_intensity(double flops_per_byte);
/// 1980 MHz
std::string format_clock(double hz);
/// 700 W
std::string format_power(double watts);
/// 400 Gb/s: bits, as ports are sold
std::string format_link_rate(double bytes_per_second);
/// 0.8, 1600: three digits, or as many as a larger number has, without a prefix or an exponent
std::string format_in_full(double value);
/// A value of data or an error, which may rightly be no number: 0.0125, NaN (whatever its sign), infinite
std::string format_figure(double value, int digits = 4);

}  // namespace roofmark
