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

std::string three_digits(double value) {
  if (value == 0) return "0";
  const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value) * (1 + 5e-4)))) + 1;
  return fmt::format("{:.{}f}", value, before_point >= 3 ? 0 : 3 - (before_point < 1 ? 1 : before_point));
}

std::string scaled(double value, std::string_view unit) {
  if (!std::isfinite(value)) return kNone;
  constexpr std::array<std::string_view, 6> prefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const std::string_view blank = prefixes[prefix].empty() && unit.starts_with(' ') ? "" : " ";
  const bool countable = prefix == 0 && value == std::floor(value);  // 8 B, not 8.00 B
  return fmt::format("{}{}{}{}", countable ? fmt::format("{:.0f}", value) : three_digits(value), blank, prefixes[prefix], unit);
}

/// What rounds to 0.0 is 0, and never -0.
double percent_of(double share) { return std::abs(100 * share) < 0.05 ? 0 : 100 * share; }

}  // namespace

std::string format_amount(double amount, Unit unit) {
  // A prefix does not run into a word: 450 k launches.
  switch (unit) {
    case Unit::access:
      return scaled(amount, " accesses");
    case Unit::launch:
      return scaled(amount, " launches");
    default:
      return scaled(amount, name(unit));
  }
}

std::string format_rate(double per_second, Unit unit) {
  return std::isfinite(per_second) ? format_amount(per_second, unit) + "/s" : kNone;
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return kNone;
  if (seconds < 999.5e-9) return three_digits(seconds * 1e9) + " ns";
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string format_bytes(double bytes) { return scaled(bytes, "B"); }

std::string format_share(std::optional<double> share) {
  return share && std::isfinite(*share) ? fmt::format("{:.1f} %", percent_of(*share)) : kNone;
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
  return flops_per_byte < 999.5 ? fmt::format("{:.3g}", flops_per_byte) : fmt::format("{:.0f}", flops_per_byte);
}

std::string format_clock(double hz) { return std::isfinite(hz) ? fmt::format("{:.0f} MHz", hz / 1e6) : kNone; }

std::string format_power(double watts) { return std::isfinite(watts) ? fmt::format("{:.0f} W", watts) : kNone; }

std::string format_link_rate(double bytes_per_second) {
  return std::isfinite(bytes_per_second) ? fmt::format("{:.3g} Gb/s", bytes_per_second * 8 / 1e9) : kNone;
}

std::string format_figure(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  return fmt::format("{:.{}g}", value, digits);
}

}  // namespace roofmark
