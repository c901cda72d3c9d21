// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/sustained.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/model/measurement.hpp"
#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

constexpr double kBurstSeconds = 1, kSettledWithin = 0.01;

/// Median seconds per launch of the samples that start in a span; absent where none does.
std::optional<double> median_seconds(const std::vector<Sample>& samples, const Span& span) {
  std::vector<double> seconds;
  for (const Sample& sample : samples) {
    if (sample.start_seconds >= span.first && sample.start_seconds < span.second) seconds.push_back(sample.seconds);
  }
  return seconds.empty() ? std::nullopt : std::optional(median(std::move(seconds)));
}

/// From when on, counted from the first sample, every window's rate is within the tolerance of the settled one.
double settled_after(const std::vector<Sample>& samples, double window, double settled_seconds) {
  const double begin = samples.front().start_seconds;
  double after = 0;
  for (std::size_t first = 0; first < samples.size();) {
    const double place = std::floor((samples[first].start_seconds - begin) / window);
    std::vector<double> seconds;
    while (first < samples.size() && std::floor((samples[first].start_seconds - begin) / window) <= place) {
      seconds.push_back(samples[first++].seconds);
    }
    if (std::abs(settled_seconds / median(std::move(seconds)) - 1) > kSettledWithin) after = (place + 1) * window;
  }
  return after;
}

}  // namespace

std::pair<std::optional<double>, std::optional<double>> Sustained::clocks_hz() const {
  switch (clock) {
    case ClockDomain::sm:
      return {burst_clock_hz, settled_clock_hz};
    case ClockDomain::memory:
      return {burst_memory_clock_hz, settled_memory_clock_hz};
    default:
      return {};
  }
}

Sustained summarize_sustained(const std::vector<Sample>& samples, const std::vector<Reading>& readings, ClockDomain clock) {
  if (samples.empty()) throw std::invalid_argument("a rate over time takes at least one sample");
  const double begin = samples.front().start_seconds;
  const double end = std::max(samples.back().start_seconds + samples.back().seconds, begin + 1e-9);
  const double window = std::min(kBurstSeconds, (end - begin) / 4);
  const Span burst{begin, begin + window};
  // The last sample belongs to it, however long it took.
  const Span settled{std::min(begin + (end - begin) * 3 / 4, samples.back().start_seconds), end};

  Sustained found;
  const double burst_seconds = *median_seconds(samples, burst), settled_seconds = *median_seconds(samples, settled);
  found.burst_rate = 1 / burst_seconds;
  found.settled_rate = 1 / settled_seconds;
  found.settled_of_burst = burst_seconds / settled_seconds;
  found.settled_after_seconds = std::min(settled_after(samples, window, settled_seconds), end - begin);
  if (const auto state = summarize(readings, {burst}, burst_seconds)) {
    found.burst_clock_hz = state->sm_clock_hz;
    found.burst_memory_clock_hz = state->memory_clock_hz;
    found.burst_power_watts = state->power_watts;
    found.burst_temperature_celsius = state->temperature_celsius;
  }
  if (const auto state = summarize(readings, {settled}, settled_seconds)) {
    found.settled_clock_hz = state->sm_clock_hz;
    found.settled_memory_clock_hz = state->memory_clock_hz;
    found.settled_power_watts = state->power_watts;
    found.settled_temperature_celsius = state->temperature_celsius;
  }
  found.clock = clock;
  const auto [before, after] = found.clocks_hz();
  if (before && after && *before > 0 && *after > 0) {
    const double clocks = *after / *before;
    found.rate_per_clock_ratio = found.settled_of_burst / clocks;
    if (found.settled_of_burst < 1 - kSettledWithin)
      found.explained_by_clock = std::log(clocks) / std::log(found.settled_of_burst);
  }
  return found;
}

}  // namespace roofmark
