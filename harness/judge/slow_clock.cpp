// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/slow_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "harness/judge/findings_by_rank.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

bool is_slowdown(std::string_view name) {
  return std::any_of(std::begin(kThrottleReasons), std::end(kThrottleReasons),
                     [&](const ThrottleReason& reason) { return reason.name == name && reason.is_slowdown; });
}

/// Of one device, during a record.
struct ClockReadings {
  std::optional<int> rank;
  std::optional<double> clock_hz;
  std::map<std::string, double> throttled_share;
  std::optional<double> driver_hz;  ///< 0: the driver told none; absent: the file does not say
};

std::vector<ClockReadings> devices_of(const Measurement& measurement) {
  ClockReadings own{measurement.of_rank, measurement.clock_hz, {}, 0};
  if (const auto& telemetry = measurement.telemetry) {
    own.throttled_share = telemetry->throttled_share.value_or(std::map<std::string, double>());
    own.driver_hz = telemetry->sm_clock_hz.value_or(0);
  }
  if (measurement.ranks.empty()) return {own};
  std::vector<ClockReadings> all;
  for (std::size_t i = 0; i < measurement.ranks.size(); ++i) {
    const auto& times = measurement.ranks[i];
    const auto rank = static_cast<int>(i);
    if (!times) continue;
    if (rank == measurement.of_rank.value_or(0)) {
      own.rank = rank;
      all.push_back(own);
    } else {
      all.push_back(
          {rank, times->clock_hz, times->throttled_share.value_or(std::map<std::string, double>()), times->sm_clock_hz});
    }
  }
  return all;
}

void find_slow_clock(const ClockReadings& device, std::optional<double> rated_hz, FindingsByRank& found) {
  constexpr double kLasting = 0.01;  // of the time
  const std::optional<double>& clock_hz = device.clock_hz;
  const bool slow = rated_hz && clock_hz && *clock_hz < (1 - kFallenClock) * *rated_hz;
  const double lost = slow ? 1 - *clock_hz / *rated_hz : 0;
  const std::string brief = slow                   ? fmt::format("the clock fell by {:.0f} %", 100 * lost)
                            : rated_hz && clock_hz ? std::string("the clock held")
                            : clock_hz             ? "the clock was " + format_clock(*clock_hz)
                                                   : std::string("the clock was lowered");
  const std::string fall = slow        ? fmt::format("{} to {}", brief, format_clock(*clock_hz))
                           : !clock_hz ? brief + ", by how much is unknown"
                                       : brief;
  bool by_setting = false, named = false;
  for (const auto& [reason, share] : device.throttled_share) {
    // Reasons may be reported while the clock changes (nvml.h says so of the hardware's slowdown).
    if (is_slowdown(reason) && share < kLasting) continue;
    if (reason == throttle::application_clocks.name) {
      by_setting = share >= kLasting;
      continue;
    }
    named = true;
    found.add(device.rank,
              {is_slowdown(reason) ? FindingKind::slowdown : FindingKind::throttle,
               fmt::format("{}; throttle reason: {} (during {} of the blocks' time)", fall, reason, format_share(share)),
               {},
               lost,
               fmt::format("{} ({})", brief, reason)},
              reason, share);
  }
  if (!slow) return;
  if (by_setting) {
    found.add(device.rank,
              {FindingKind::clock,
               fall + "; the application clocks allow no more: nvidia-smi -rac as root resets them",
               {},
               lost,
               brief + " (application clocks)"},
              std::string(throttle::application_clocks.name));
  } else if (named || !device.driver_hz) {
    return;
  } else if (*device.driver_hz >= (1 - kFallenClock) * *rated_hz) {
    found.add(device.rank,
              {FindingKind::clock_under_load,
               fmt::format("under load the clock was {}, {:.0f} % below the {} that the driver reports",
                           format_clock(*clock_hz), 100 * (1 - *clock_hz / *device.driver_hz), format_clock(*device.driver_hz)),
               {},
               lost,
               fmt::format("under load the clock is {:.0f} % lower", 100 * lost)});
  } else {
    found.add(device.rank, {FindingKind::clock, fall + "; the driver names no reason", {}, lost, brief});
  }
}

}  // namespace

void find_slow_clock(const Record& record, const Roofline& roofline, std::vector<Finding>& findings) {
  std::optional<double> rated_hz;
  for (const Ceiling& ceiling : roofline.ceilings()) rated_hz = std::max(rated_hz, ceiling.rated_clock_hz);
  FindingsByRank found(record);
  for (const ClockReadings& device : devices_of(*record.measurement)) find_slow_clock(device, rated_hz, found);
  found.move_to(findings);
}

}  // namespace roofmark
