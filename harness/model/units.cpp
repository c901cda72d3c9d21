// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace roofmark {

namespace {

/// Shown for a quantity that is not finite, such as a quotient of missing values.
constexpr const char* kNone = "-";

std::string significant(double value, int digits) {
  if (value == 0) return "0";
  const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value) * (1 + 5e-4)))) + 1;
  return fmt::format("{:.{}f}", value, before_point >= digits ? 0 : digits - (before_point < 1 ? 1 : before_point));
}

std::string scaled(double value, std::string_view unit, int digits = kDigits) {
  if (!std::isfinite(value)) return kNone;
  constexpr std::array<std::string_view, 6> prefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const std::string_view blank = prefixes[prefix].empty() && unit.starts_with(' ') ? "" : " ";
  const bool countable = prefix == 0 && value == std::floor(value);  // 8 B, not 8.00 B
  return fmt::format("{}{}{}{}", countable ? fmt::format("{:.0f}", value) : significant(value, digits), blank, prefixes[prefix],
                     unit);
}

/// What rounds to 0.0 is 0, and never -0.
double percent_of(double share, int decimals = 1) {
  return std::abs(100 * share) < 0.5 * std::pow(10, -decimals) ? 0 : 100 * share;
}

}  // namespace

std::string format_amount(double amount, Unit unit, int digits) {
  // A prefix does not run into a word: 450 k launches.
  switch (unit) {
    case Unit::access:
      return scaled(amount, amount == 1 ? " access" : " accesses", digits);
    case Unit::launch:
      return scaled(amount, amount == 1 ? " launch" : " launches", digits);
    default:
      return scaled(amount, name(unit), digits);
  }
}

std::string format_rate(double per_second, Unit unit, int digits) {
  return std::isfinite(per_second) ? format_amount(per_second, unit, digits) + "/s" : kNone;
}

std::string format_seconds(double seconds, int digits) {
  if (!std::isfinite(seconds)) return kNone;
  if (seconds < 999.5e-9) return significant(seconds * 1e9, digits) + " ns";
  if (seconds < 999.5e-6) return significant(seconds * 1e6, digits) + " us";
  if (seconds < 999.5e-3) return significant(seconds * 1e3, digits) + " ms";
  return significant(seconds, digits) + " s";
}

std::string format_bytes(double bytes) { return scaled(bytes, "B"); }

std::string format_share(std::optional<double> share, int digits) {
  return share && std::isfinite(*share) ? fmt::format("{:.{}f} %", percent_of(*share, digits - 2), digits - 2) : kNone;
}

std::string format_change(std::optional<double> share) {
  return share && std::isfinite(*share) ? fmt::format("{:+.1f} %", percent_of(*share)) : kNone;
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return kNone;
  const long whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string format_intensity(double flops_per_byte) {
  if (!std::isfinite(flops_per_byte)) return kNone;
  return format_in_full(flops_per_byte);
}

std::string format_clock(double hz) { return std::isfinite(hz) ? fmt::format("{:.0f} MHz", hz / 1e6) : kNone; }

std::string format_power(double watts) { return std::isfinite(watts) ? fmt::format("{:.0f} W", watts) : kNone; }

std::string format_link_rate(double bytes_per_second) {
  return std::isfinite(bytes_per_second) ? format_in_full(bytes_per_second * 8 / 1e9) + " Gb/s" : kNone;
}

std::string format_in_full(double value) { return value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value); }

std::string format_figure(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  return fmt::format("{:.{}g}", value, digits);
}

}  // namespace roofmark
