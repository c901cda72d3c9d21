// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/telemetry_summary.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace roofmark {

namespace {

using Member = std::optional<double> Telemetry::*;

/// A sum over time, and the time.
struct Integral {
  double sum = 0, seconds = 0;

  std::optional<double> mean() const { return seconds > 0 ? std::optional(sum / seconds) : std::nullopt; }
};

/// Over the span, with linear interpolation between readings. The first and last readings extend to the ends of the span.
Integral integrate(std::span<const Reading> readings, Member member, const Span& span) {
  std::vector<std::pair<double, double>> all, inside;  // seconds and value
  for (const Reading& reading : readings) {
    const auto& value = reading.state.*member;
    if (!value) continue;
    all.emplace_back(reading.seconds, *value);
    if (reading.seconds >= span.first && reading.seconds <= span.second) inside.push_back(all.back());
  }
  // Before and after a block the device idles: those readings count only if the block contains none.
  const auto& points = inside.empty() ? all : inside;
  if (points.empty()) return {};
  const auto at = [&](double seconds) {
    const auto next = std::lower_bound(points.begin(), points.end(), seconds,
                                       [](const auto& point, double limit) { return point.first < limit; });
    if (next == points.begin()) return points.front().second;
    if (next == points.end()) return points.back().second;
    const auto& [from, a] = next[-1];
    return a + (next->second - a) * (seconds - from) / (next->first - from);
  };
  Integral integral{0, span.second - span.first};
  double last = span.first;
  const auto add_until = [&](double seconds) {
    integral.sum += (at(last) + at(seconds)) / 2 * (seconds - last);
    last = seconds;
  };
  for (const auto& [seconds, value] : inside) add_until(seconds);
  add_until(span.second);
  return integral;
}

/// A counter's value at a reading.
struct Counted {
  double seconds, value;
};

/// The power between the first and the last step of the energy counter. A source reads a counter less often than the rest.
std::optional<double> counted_watts(std::span<const Reading> readings) {
  constexpr int kSteps = 10;  // the ends are known to one step
  std::optional<Counted> before, first, last;
  int steps = 0;
  for (const Reading& reading : readings) {
    if (!reading.state.energy_joules) continue;
    const Counted now{reading.seconds, *reading.state.energy_joules};
    const auto previous = std::exchange(before, now);
    if (!previous || now.value == previous->value) continue;
    if (now.value < previous->value) return std::nullopt;
    if (!first) first = now;
    last = now;
    ++steps;
  }
  if (steps <= kSteps) return std::nullopt;
  return (last->value - first->value) / (last->seconds - first->seconds);
}

/// By reason, the share of the time in which it lowered the clock, by the counters that were read over the time of the
/// readings. One that fell between two readings was reset and tells nothing, whatever it came to afterwards.
std::map<std::string, double> counted_shares(std::span<const Reading> readings) {
  // Drivers advance these counters in steps of up to 0.1 s, some of them late: over a shorter time they say nothing.
  constexpr double kEnoughSeconds = 1, kMost = 0.8;  // of the time of the readings
  std::map<std::string, std::vector<Counted>> values;
  for (const Reading& reading : readings) {
    for (const auto& [reason, seconds] : reading.state.throttled_seconds) values[reason].push_back({reading.seconds, seconds});
  }
  std::map<std::string, double> shares;
  for (const auto& [reason, counted] : values) {
    const double seconds = counted.back().seconds - counted.front().seconds;
    const auto falls = [](const Counted& one, const Counted& next) { return next.value < one.value; };
    if (seconds < std::max(kEnoughSeconds, kMost * (readings.back().seconds - readings.front().seconds)) ||
        std::adjacent_find(counted.begin(), counted.end(), falls) != counted.end()) {
      continue;
    }
    shares[reason] = std::min(1.0, (counted.back().value - counted.front().value) / seconds);
  }
  return shares;
}

/// By reason, the share of the time between the readings.
std::map<std::string, double> throttled_shares(std::span<const Reading> readings) {
  const std::map<std::string, double> counted = counted_shares(readings);
  std::map<std::string, double> shares;
  for (const auto& [reason, share] : counted) {
    if (share > 0) shares[reason] = share;
  }
  for (const Reading& reading : readings) {
    if (!reading.state.throttle_reasons) continue;
    for (const std::string& reason : *reading.state.throttle_reasons) {
      if (!counted.contains(reason)) shares[reason] += 1.0 / static_cast<double>(readings.size());
    }
  }
  return shares;
}

template <class Choose>
void choose(std::optional<double>& best, const std::optional<double>& value, Choose better) {
  if (value && (!best || better(*value, *best))) best = value;
}

}  // namespace

std::span<const Reading> around(const std::vector<Reading>& readings, const Span& span) {
  const auto earlier = [](const Reading& reading, double seconds) { return reading.seconds < seconds; };
  auto begin = std::lower_bound(readings.begin(), readings.end(), span.first, earlier);
  if (begin != readings.begin() && (begin == readings.end() || begin->seconds > span.first)) --begin;
  auto end = std::lower_bound(begin, readings.end(), span.second, earlier);
  if (end != readings.end()) ++end;
  return {begin, end};
}

std::optional<TelemetrySummary> summarize(const std::vector<Reading>& readings, const std::vector<Span>& blocks,
                                          double seconds_per_launch) {
  TelemetrySummary summary;
  Integral sm_clock, memory_clock, power;
  double counted = 0, counted_seconds = 0;
  bool any = false, tells_reasons = false;
  std::map<std::string, double> throttled;
  std::set<std::string> by_counter;              // reasons that a counter tells of
  std::map<std::string, std::set<double>> seen;  // by reason, the times of the readings that saw it
  for (const Span& block : blocks) {
    const std::span<const Reading> told = around(readings, block);
    const double seconds = block.second - block.first;
    any |= !told.empty();
    summary.seconds += seconds;
    for (const auto& [integral, member] : {std::pair(&sm_clock, &Telemetry::sm_clock_hz),
                                           {&memory_clock, &Telemetry::memory_clock_hz},
                                           {&power, &Telemetry::power_watts}}) {
      const Integral part = integrate(told, member, block);
      integral->sum += part.sum;
      integral->seconds += part.seconds;
    }
    for (const Reading& reading : told) {
      const Telemetry& state = reading.state;
      choose(summary.temperature_celsius, state.temperature_celsius, std::greater());
      choose(summary.memory_temperature_celsius, state.memory_temperature_celsius, std::greater());
      choose(summary.slowdown_margin_celsius, state.slowdown_margin_celsius, std::less());
      tells_reasons |= state.throttle_reasons.has_value();
      if (!state.throttle_reasons) continue;
      for (const std::string& reason : *state.throttle_reasons) seen[reason].insert(reading.seconds);
    }
    for (const auto& [reason, share] : counted_shares(told)) by_counter.insert(reason);
    tells_reasons |= !by_counter.empty();
    if (const auto watts = counted_watts(told)) {
      counted += *watts * seconds;
      counted_seconds += seconds;
    }
    for (const auto& [reason, share] : throttled_shares(told)) throttled[reason] += share * seconds;
  }
  if (!any || !(summary.seconds > 0)) return std::nullopt;
  for (auto& [reason, share] : throttled) share /= summary.seconds;
  // A slowdown that one reading alone saw has no known duration: the bits may be set while the clock changes.
  for (const ThrottleReason& reason : kThrottleReasons) {
    const std::string id(reason.name);
    if (reason.is_slowdown && seen[id].size() == 1 && !by_counter.contains(id)) throttled.erase(id);
  }
  if (tells_reasons) summary.throttled_share = std::move(throttled);
  summary.sm_clock_hz = sm_clock.mean();
  summary.memory_clock_hz = memory_clock.mean();
  if (summary.seconds >= kLeastPowerSeconds) summary.power_watts = power.mean();
  if (summary.power_watts) summary.integrated_joules = *summary.power_watts * summary.seconds;
  // All blocks are alike: what the counter says of most of the time, it says of all.
  if (counted_seconds > summary.seconds / 2) summary.energy_joules = counted / counted_seconds * summary.seconds;
  if (!summary.power_watts && summary.energy_joules) summary.power_watts = *summary.energy_joules / summary.seconds;
  if (const auto& joules = summary.energy_joules ? summary.energy_joules : summary.integrated_joules) {
    summary.joules_per_launch = *joules / summary.seconds * seconds_per_launch;
  }
  return summary;
}

std::optional<TelemetrySummary> summarize(const std::vector<Reading>& readings) {
  if (readings.empty()) return std::nullopt;
  auto summary = summarize(readings, {{readings.front().seconds, readings.back().seconds}}, 0);
  if (summary) summary->joules_per_launch.reset();
  return summary;
}

TelemetrySeries thinned(const TelemetrySeries& series, std::size_t most) {
  const std::vector<Reading>& all = series.readings;
  if (all.size() <= most) return series;
  TelemetrySeries thin = series;
  thin.readings.clear();
  const std::size_t size = (2 * all.size() + most - 1) / most;
  const auto slower = [](const Reading& one, const Reading& other) {
    return one.state.sm_clock_hz < other.state.sm_clock_hz;  // absent is lowest
  };
  for (std::size_t first = 0; first < all.size(); first += size) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(size, all.size() - first));
    const auto [low, high] = std::minmax_element(begin, end, slower);  // the first of the lowest, the last of the highest
    thin.readings.push_back(*std::min(low, high));
    if (low != high) thin.readings.push_back(*std::max(low, high));
  }
  return thin;
}

std::optional<RankTelemetry> rank_telemetry(const TelemetrySeries& series, std::size_t devices) {
  constexpr std::size_t kOfAll = 20'000, kLeast = 60, kMost = 600;  // readings; one takes about 100 bytes of a file
  const auto summary = summarize(series.readings);
  if (!summary) return std::nullopt;
  return RankTelemetry{*summary, thinned(series, std::clamp(kOfAll / devices, kLeast, kMost))};
}

std::map<std::string, double> throttled_share(const std::vector<Reading>& readings, const Span& span) {
  return throttled_shares(around(readings, span));
}

}  // namespace roofmark
