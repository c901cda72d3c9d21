// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/telemetry.hpp"

namespace roofmark {

/// A device's state at a time, in seconds since the device was opened.
struct Reading {
  double seconds = 0;
  Telemetry state;
};

/// All readings of a run, in the order of their times.
struct TelemetrySeries {
  double period_seconds = 0;
  std::string power;  ///< TelemetrySource::power_kind
  std::vector<Reading> readings = {};
  double cpu_seconds = 0;  ///< what reading cost: CPU time of the thread that read
  bool gave_up = false;    ///< the source hung, or says nothing any more: nothing was read after the last reading
};

/// Start and end, in seconds since the device was opened.
using Span = std::pair<double, double>;

/// A driver averages power over 0.1 s to 1 s, so over less than this it is in part the power of what ran before. A second, by
/// differences of times.
inline constexpr double kLeastPowerSeconds = 0.999;

/// What a device did over the blocks of a record.
struct TelemetrySummary {
  double seconds = 0;                                                     ///< of the blocks
  std::optional<double> sm_clock_hz, memory_clock_hz;                     ///< means over time
  std::optional<double> power_watts;                                      ///< likewise; absent below a second
  std::optional<double> temperature_celsius, memory_temperature_celsius;  ///< the highest
  std::optional<double> slowdown_margin_celsius;                          ///< the lowest
  /// Over the blocks, by the device's counter; absent where the counter did not advance often enough to be read off.
  std::optional<double> energy_joules;
  std::optional<double> integrated_joules;  ///< over the blocks, from the power; absent below a second
  std::optional<double> joules_per_launch;  ///< by the counter or, without one, from the power
  /// By reason, the share of the blocks' time in which it lowered the clock. Empty: none did; absent: the device tells neither
  /// reasons nor, over a time that is long enough, for how long they held. A slowdown (ThrottleReason) that the device does not
  /// count and only one reading saw is left out.
  std::optional<std::map<std::string, double>> throttled_share;

  /// Whether power_watts, if there, is that of the blocks alone: older files have it of any duration.
  bool tells_power() const { return seconds >= kLeastPowerSeconds || energy_joules; }
};

/// What a file of several devices keeps of the run of each.
struct RankTelemetry {
  TelemetrySummary summary;  ///< over all readings
  TelemetrySeries course;    ///< those of all, thinned
};

/// The readings that tell of a span: those in it and, beside each end, the nearest.
std::span<const Reading> around(const std::vector<Reading>& readings, const Span& span);

/// `seconds_per_launch`: the median; of a load that rests in between, with its share of the rests. Nothing where no reading
/// tells of the blocks.
std::optional<TelemetrySummary> summarize(const std::vector<Reading>& readings, const std::vector<Span>& blocks,
                                          double seconds_per_launch);

/// From the first reading to the last; `joules_per_launch` is absent. Nothing of fewer than two readings.
std::optional<TelemetrySummary> summarize(const std::vector<Reading>& readings);

/// At most `most` of the readings, and no fewer than two: of each stretch those with the lowest and the highest SM clock, so
/// that no dip is lost.
TelemetrySeries thinned(const TelemetrySeries& series, std::size_t most);

/// For a file of this many devices, whose size it bounds. Nothing of fewer than two readings.
std::optional<RankTelemetry> rank_telemetry(const TelemetrySeries& series, std::size_t devices);

/// By reason, the share of a span's time in which it lowered the clock, as far as the readings around it tell: by the device's
/// counter of that reason if they have it over a second or more, and otherwise by the readings that saw the reason.
std::map<std::string, double> throttled_share(const std::vector<Reading>& readings, const Span& span);

}  // namespace roofmark
