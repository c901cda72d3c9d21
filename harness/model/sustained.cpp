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

/// The launches that began in one second.
struct Window {
  double begin, end;  ///< seconds from the first sample on
  double rate;        ///< without the slowest 1 %
  double rate_of_all;
  bool is_last;
};

/// All windows in which a launch began. The last one has the part of a window after it too: few launches have a rate of their
/// own.
std::vector<Window> windows_of(const std::vector<Sample>& samples, double width, double end) {
  const double begin = samples.front().start_seconds;
  const double last = std::max(0.0, std::floor((end - begin) / width) - 1);
  const auto place_of = [&](const Sample& sample) {
    return std::min(std::floor((sample.start_seconds - begin) / width), last);
  };
  std::vector<Window> windows;
  for (std::size_t first = 0; first < samples.size();) {
    const double place = place_of(samples[first]), at = samples[first].start_seconds - begin;
    std::vector<Sample> inside;
    double seconds = 0;
    while (first < samples.size() && place_of(samples[first]) <= place) {
      seconds += samples[first].seconds;
      inside.push_back(samples[first++]);
    }
    windows.push_back(
        {at, (place + 1) * width, 1 / mean_seconds(inside), static_cast<double>(inside.size()) / seconds, place >= last});
  }
  return windows;
}

/// Of fewer seconds the differences may all be parts of one change.
constexpr std::size_t kEnoughWindows = 20;

/// How much rates that follow one another scatter, relative: by the differences between neighbours, about their median, which a
/// steady change does not widen. 0 of few.
double scatter_of(const std::vector<Window>& windows, double Window::*rate) {
  if (windows.size() < kEnoughWindows) return 0;
  std::vector<double> steps;
  for (std::size_t i = 1; i < windows.size(); ++i) steps.push_back(std::log(windows[i].*rate / windows[i - 1].*rate));
  return scaled_median_absolute_deviation(steps) / std::numbers::sqrt2;
}

/// From when on, counted from the first sample, every window's rate is within the tolerance of the settled one; absent if the
/// last one's is not.
std::optional<double> settled_after(const std::vector<Window>& windows, double settled_rate) {
  const double within = std::max(kSettledWithin, kScatters * scatter_of(windows, &Window::rate));
  for (std::size_t i = windows.size(); i-- > 0;) {
    if (std::abs(windows[i].rate / settled_rate - 1) <= within) continue;
    return windows[i].is_last ? std::nullopt : std::optional(windows[i].end);
  }
  return 0;
}

std::optional<Dips> dips_of(const std::vector<Window>& windows) {
  constexpr double kDepth = 0.1, kScattersOfDip = 6;
  if (windows.size() < kEnoughWindows) return std::nullopt;
  std::vector<double> rates;
  for (const Window& window : windows) rates.push_back(window.rate_of_all);
  const double usual = median(std::move(rates));
  const double limit = usual * (1 - std::max(kDepth, kScattersOfDip * scatter_of(windows, &Window::rate_of_all)));
  const auto slow = [&](const Window& window) { return window.rate_of_all < limit; };
  Dips found;
  // What is slow from the start on has no rate before it, and what is slow to the end none after it.
  for (auto at = std::find_if_not(windows.begin(), windows.end(), slow); at != windows.end();) {
    const auto first = std::find_if(at, windows.end(), slow);
    at = std::find_if_not(first, windows.end(), slow);
    if (at == windows.end()) break;
    const double lasted = at->begin - first->begin;
    ++found.count;
    found.seconds += lasted;
    const auto lowest =
        std::min_element(first, at, [](const Window& a, const Window& b) { return a.rate_of_all < b.rate_of_all; });
    if (const double depth = lowest->rate_of_all / usual; depth < found.deepest) {
      found.deepest = depth;
      found.deepest_after = first->begin;
      found.deepest_seconds = lasted;
    }
  }
  return found;
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
  const std::vector<Window> windows = windows_of(samples, window, end);
  found.settled_after_seconds = settled_after(windows, found.settled_rate);
  found.dips = dips_of(windows);
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
