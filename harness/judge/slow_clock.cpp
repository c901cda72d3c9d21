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
#include <utility>

#include "harness/judge/worst_of_ranks.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

namespace {

bool is_slowdown(std::string_view name) {
  return std::any_of(std::begin(kThrottleReasons), std::end(kThrottleReasons),
                     [&](const ThrottleReason& reason) { return reason.name == name && reason.is_slowdown; });
}

/// Of the time, by reason.
using Shares = std::map<std::string, double>;

/// Of one device, while it ran a case.
struct ClockSeen {
  std::optional<double> clock_hz;
  Shares throttled_share;
  std::optional<double> driver_hz;  ///< the clock by the driver, 0 if it told none; absent where nobody asked
};

/// By their cause.
std::vector<std::pair<std::string, Finding>> slow_clocks(const ClockSeen& seen, const std::optional<double>& rated_hz) {
  constexpr double kLasting = 0.01;  // of the time
  std::vector<std::pair<std::string, Finding>> found;
  const bool slow = rated_hz && seen.clock_hz && *seen.clock_hz < (1 - kFallenClock) * *rated_hz;
  const double lost = slow ? 1 - *seen.clock_hz / *rated_hz : 0;
  const std::string brief = slow                         ? fmt::format("the clock fell by {:.0f} %", 100 * lost)
                            : !rated_hz && seen.clock_hz ? "the clock was " + format_clock(*seen.clock_hz)
                                                         : "the clock held";
  const std::string fall = slow ? fmt::format("{} to {}", brief, format_clock(*seen.clock_hz)) : brief;
  bool by_setting = false, named = false;
  for (const auto& [reason, share] : seen.throttled_share) {
    // Reasons may be reported while the clock changes (nvml.h says so of the hardware's slowdown).
    if (is_slowdown(reason) && share < kLasting) continue;
    if (reason == throttle::application_clocks.name) {
      by_setting = share >= kLasting;
      continue;
    }
    named = true;
    found.push_back({reason,
                     {is_slowdown(reason) ? FindingKind::slowdown : FindingKind::throttle,
                      fmt::format("{}; throttle reason: {} (during {} of the blocks' time)", fall, reason, format_share(share)),
                      {},
                      lost,
                      fmt::format("{} ({})", brief, reason)}});
  }
  if (slow && by_setting) {
    found.push_back({"setting",
                     {FindingKind::clock,
                      fall + "; the application clocks allow no more: nvidia-smi -rac as root resets them",
                      {},
                      lost,
                      brief + " (application clocks)"}});
  } else if (slow && !named && seen.driver_hz && *seen.driver_hz >= (1 - kFallenClock) * *rated_hz) {
    found.push_back({"under load",
                     {FindingKind::clock_under_load,
                      fmt::format("under load the clock was {}, {:.0f} % below the {} that the driver reports",
                                  format_clock(*seen.clock_hz), 100 * (1 - *seen.clock_hz / *seen.driver_hz),
                                  format_clock(*seen.driver_hz)),
                      {},
                      lost,
                      fmt::format("under load the clock is {:.0f} % lower", 100 * lost)}});
  } else if (slow && !named && seen.driver_hz) {
    found.push_back({"none", {FindingKind::clock, fall + "; the driver names no reason", {}, lost, brief}});
  }
  return found;
}

}  // namespace

void find_slow_clock(const Record& record, const Roofline& roofline, std::vector<Finding>& findings) {
  const Measurement& measurement = *record.measurement;
  std::optional<double> rated_hz;
  for (const Ceiling& ceiling : roofline.ceilings()) rated_hz = std::max(rated_hz, ceiling.rated_clock_hz);
  const TelemetrySummary telemetry = measurement.telemetry.value_or(TelemetrySummary{});
  const double driver_hz = telemetry.sm_clock_hz.value_or(0);
  if (measurement.ranks.size() < 2) {
    for (auto& [cause, finding] : slow_clocks({measurement.clock_hz, telemetry.throttled_share, driver_hz}, rated_hz)) {
      finding.case_name = record.name();
      findings.push_back(std::move(finding));
    }
    return;
  }
  WorstOfRanks<std::pair<FindingKind, std::string>> worst;
  for (std::size_t i = 0; i < measurement.ranks.size(); ++i) {
    if (!measurement.ranks[i]) continue;
    const auto rank = static_cast<int>(i);
    ClockSeen seen{measurement.ranks[i]->clock_hz, measurement.ranks[i]->throttled_share.value_or(Shares()), {}};
    if (rank == measurement.of_rank) seen.driver_hz = driver_hz;
    for (const auto& [cause, finding] : slow_clocks(seen, rated_hz)) worst.add(rank, {finding.kind, cause}, finding);
  }
  for (Finding& one : worst.findings(record.name())) findings.push_back(std::move(one));
}

}  // namespace roofmark
