// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/sustained.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "harness/model/measurement.hpp"
#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

constexpr double kBurstSeconds = 1, kSettledWithin = 0.01;
/// Hundreds of seconds of a steady rate lie no further away than so many times their scatter, but for one run in fifty.
constexpr double kScatters = 4;
/// Of the burst, in which the clock may fall faster than it is read.
constexpr double kUnsteadyShare = 0.3;

std::vector<Sample> in(const Span& span, const std::vector<Sample>& samples) {
  std::vector<Sample> inside;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(inside),
               [&](const Sample& sample) { return sample.start_seconds >= span.first && sample.start_seconds < span.second; });
  return inside;
}

/// The median of what is known of each sample.
template <class Value>
std::optional<double> median_of(const std::vector<Sample>& samples, const Value& value) {
  std::vector<double> known;
  for (const Sample& sample : samples) {
    if (const std::optional<double> one = value(sample)) known.push_back(*one);
  }
  return known.empty() ? std::nullopt : std::optional(median(std::move(known)));
}

using Clock = std::optional<double> TelemetrySummary::*;
constexpr Clock kSm = &TelemetrySummary::sm_clock_hz, kMemory = &TelemetrySummary::memory_clock_hz;

/// A launch has the clock of the readings in it or, where there is none, between the readings around it.
auto clock_around(const std::vector<Reading>& readings, Clock clock) {
  return [&readings, clock](const Sample& sample) {
    const auto state = summarize(readings, {{sample.start_seconds, sample.start_seconds + sample.seconds}}, sample.seconds);
    return state ? (*state).*clock : std::nullopt;
  };
}

/// The median launches per second and hertz.
std::optional<double> rate_per_clock(const std::vector<Sample>& samples, const std::vector<Reading>& readings, Clock clock) {
  return median_of(samples, [around = clock_around(readings, clock)](const Sample& sample) {
    const auto hz = around(sample);
    return hz && *hz > 0 && sample.seconds > 0 ? std::optional(1 / (sample.seconds * *hz)) : std::nullopt;
  });
}

/// Of a launch, without the slowest 1 %: those are single hiccups.
double mean_seconds(const std::vector<Sample>& samples) {
  std::vector<double> seconds;
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  std::sort(seconds.begin(), seconds.end());
  seconds.resize(seconds.size() - seconds.size() / 100);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

/// How much rates that follow one another scatter, relative: by the differences between neighbours, about their median, which a
/// steady change does not widen. 0 of few rates, whose differences may all be parts of one change.
double scatter_of(const std::vector<double>& rates) {
  constexpr std::size_t kEnough = 20;
  if (rates.size() < kEnough) return 0;
  std::vector<double> steps;
  for (std::size_t i = 1; i < rates.size(); ++i) steps.push_back(std::log(rates[i] / rates[i - 1]));
  return scaled_median_absolute_deviation(steps) / std::numbers::sqrt2;
}

/// From when on, counted from the first sample, every window's rate is within the tolerance of the settled one; absent if the
/// last one's is not. The last window has the part of a window after it too: few launches have a rate of their own.
std::optional<double> settled_after(const std::vector<Sample>& samples, double window, double end, double settled_seconds) {
  const double begin = samples.front().start_seconds;
  const double last = std::max(0.0, std::floor((end - begin) / window) - 1);
  const auto place_of = [&](const Sample& sample) {
    return std::min(std::floor((sample.start_seconds - begin) / window), last);
  };
  std::vector<double> places, rates;
  for (std::size_t first = 0; first < samples.size();) {
    places.push_back(place_of(samples[first]));
    std::vector<Sample> window_samples;
    while (first < samples.size() && place_of(samples[first]) <= places.back()) window_samples.push_back(samples[first++]);
    rates.push_back(1 / mean_seconds(window_samples));
  }
  const double within = std::max(kSettledWithin, kScatters * scatter_of(rates));
  for (std::size_t i = rates.size(); i-- > 0;) {
    if (std::abs(rates[i] * settled_seconds - 1) <= within) continue;
    return places[i] < last ? std::optional((places[i] + 1) * window) : std::nullopt;
  }
  return 0;
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
  const std::vector<Sample> first = in(burst, samples), last = in(settled, samples);
  const double burst_seconds = mean_seconds(first), settled_seconds = mean_seconds(last);
  found.burst_rate = 1 / burst_seconds;
  found.settled_rate = 1 / settled_seconds;
  found.settled_of_burst = burst_seconds / settled_seconds;
  found.settled_after_seconds = settled_after(samples, window, end, settled_seconds);
  if (const auto state = summarize(readings, {burst}, burst_seconds)) {
    found.burst_power_watts = state->power_watts;
    found.burst_temperature_celsius = state->temperature_celsius;
  }
  if (const auto state = summarize(readings, {settled}, settled_seconds)) {
    found.settled_power_watts = state->power_watts;
    found.settled_temperature_celsius = state->temperature_celsius;
  }
  found.burst_clock_hz = median_of(first, clock_around(readings, kSm));
  found.settled_clock_hz = median_of(last, clock_around(readings, kSm));
  found.burst_memory_clock_hz = median_of(first, clock_around(readings, kMemory));
  found.settled_memory_clock_hz = median_of(last, clock_around(readings, kMemory));
  found.clock = clock;
  if (clock == ClockDomain::none) return found;
  const Clock followed = clock == ClockDomain::memory ? kMemory : kSm;
  std::vector<Sample> steady = in({begin + kUnsteadyShare * window, begin + window}, samples);
  if (steady.empty()) steady = first;  // of launches that take longer
  const auto before = rate_per_clock(steady, readings, followed), after = rate_per_clock(last, readings, followed);
  if (!before || !after) return found;
  found.rate_per_clock_ratio = *after / *before;
  if (found.settled_of_burst < 1 - kSettledWithin)
    found.explained_by_clock = 1 - std::log(*found.rate_per_clock_ratio) / std::log(found.settled_of_burst);
  return found;
}

}  // namespace roofmark
