// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "harness/model/resource.hpp"

namespace roofmark {

struct Reading;
struct Sample;

/// Times in which a load was slower than before and after them: seconds whose rate is 10 %, and 6 standard deviations of
/// neighbouring seconds' rates, below the median second's. The rates are those of all launches: a stalled one is what counts.
struct Dips {
  std::int64_t count = 0;
  double seconds = 0;        ///< of all dips
  double deepest = 1;        ///< the lowest rate of a second / that of the median second
  double deepest_after = 0;  ///< when that dip began: seconds from the first sample on
  double deepest_seconds = 0;
};

/// What a load that lasts does to a rate. Rates are launches / the sum of their seconds, without the slowest 1 %.
struct Sustained {
  double burst_rate = 0;    ///< over the first second; over the first quarter of what lasts less than four seconds
  double settled_rate = 0;  ///< over the last quarter
  /// From then on each second's rate is within 1 % of the settled rate, or, of 20 seconds and more, within 4 standard
  /// deviations of neighbouring seconds' rates, if that is more. Absent: never.
  std::optional<double> settled_after_seconds;
  double settled_of_burst = 0;
  std::optional<Dips> dips;  ///< absent of fewer than 20 seconds
  // Over the same times, from the telemetry; absent where there is none. Clocks are medians over the launches.
  std::optional<double> burst_clock_hz, settled_clock_hz;  ///< SM (core) clock
  std::optional<double> burst_memory_clock_hz, settled_memory_clock_hz;
  std::optional<double> burst_power_watts, settled_power_watts;
  /// The highest of each time: a burst that began on a hot device is none of a cold one.
  std::optional<double> burst_temperature_celsius, settled_temperature_celsius;
  ClockDomain clock = ClockDomain::sm;  ///< what the rate should follow: the clock of the next two values
  /// The settled rate per clock over the burst's, each the median over its launches of rate / clock; of the burst without its
  /// first 0.3 s, in which the clock may fall faster than it is read. Absent also of a case that follows two clocks.
  std::optional<double> rate_per_clock_ratio;
  /// 1 - ln(ratio) / ln(settled_of_burst), by that ratio: 1 where the rate fell as the clock did, 0 where the clock held.
  /// Absent where the rate fell by less than 1 %.
  std::optional<double> explained_by_clock;

  /// The burst's and the settled value of `clock`.
  std::pair<std::optional<double>, std::optional<double>> clocks_hz() const;

  std::int64_t launches_checked = 0;  ///< launches whose outputs' bits were compared with those of the verified launch
  double share_checked = 0;           ///< bytes compared / bytes that the launches wrote
  double checking_share_of_time = 0;
};

/// All but what was checked. Needs at least one sample; the readings are those around the samples. `clock`: that of the
/// resource that the case is measured for.
Sustained summarize_sustained(const std::vector<Sample>& samples, const std::vector<Reading>& readings, ClockDomain clock);

}  // namespace roofmark
