// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/held_power.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "harness/judge/findings_by_rank.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

/// A device under its own cap draws nearly its limit: an H100 and an H200 0.93 to 1.02 of it in the mean of a record
/// (results/reference). In the time without the cap it may draw anything, so that time has to be short.
constexpr double kNearlyAllTime = 0.9, kFarBelow = 0.85;

struct PowerReadings {
  std::optional<int> rank;
  double watts = 0, limit_watts = 0;
  const std::map<std::string, double>* throttled_share = nullptr;
};

/// Of the devices that have them all.
std::vector<PowerReadings> readings_of(const Record& record, const PowerLimits& limits) {
  std::vector<PowerReadings> found;
  if (!record.measurement) return found;
  const auto& summary = record.measurement->telemetry;
  if (summary && !summary->tells_power()) return found;
  // What a summary of a device alone and the times of a rank have in common.
  const auto add = [&](std::optional<int> rank, const auto& read) {
    const auto place = static_cast<std::size_t>(rank.value_or(0));
    const auto limit = place < limits.watts.size() ? limits.watts[place] : std::nullopt;
    if (limit.value_or(0) > 0 && read.power_watts && read.throttled_share) {
      found.push_back({rank, *read.power_watts, *limit, &*read.throttled_share});
    }
  };
  const Measurement& measurement = *record.measurement;
  for (std::size_t rank = 0; rank < measurement.ranks.size(); ++rank) {
    if (measurement.ranks[rank]) add(static_cast<int>(rank), *measurement.ranks[rank]);
  }
  if (measurement.ranks.empty() && measurement.telemetry) add({}, *measurement.telemetry);
  return found;
}

double share_of(const std::map<std::string, double>& shares, const ThrottleReason& reason) {
  const auto found = shares.find(std::string(reason.name));
  return found == shares.end() ? 0 : found->second;
}

}  // namespace

void find_held_power(const Record& record, const PowerLimits& limits, std::vector<Finding>& findings) {
  FindingsByRank found(record);
  for (const PowerReadings& device : readings_of(record, limits)) {
    const double capped = share_of(*device.throttled_share, throttle::power_cap);
    const double of_limit = device.watts / device.limit_watts;
    // Heat or a power brake lowers the power too, and is a finding of its own.
    const bool slowed = std::any_of(std::begin(kThrottleReasons), std::end(kThrottleReasons), [&](const ThrottleReason& one) {
      return one.is_slowdown && share_of(*device.throttled_share, one) > 0;
    });
    if (slowed || capped < kNearlyAllTime || of_limit >= kFarBelow) continue;
    const std::string held = fmt::format("{} of its limit of {}", format_power(device.watts), format_power(device.limit_watts));
    found.add(
        device.rank,
        {FindingKind::held_power,
         fmt::format("a power cap holds the device at {} ({}, during {} of the blocks' time){}", held, format_share(of_limit),
                     format_share(capped),
                     limits.of_module ? "; the limit of the module, which it shares with its CPU, may be the reason" : ""),
         {},
         1 - of_limit,
         "a power cap holds the device at " + held});
  }
  found.move_to(findings);
}

bool shows_held_power(const Record& record, const PowerLimits& limits) { return !readings_of(record, limits).empty(); }

}  // namespace roofmark
