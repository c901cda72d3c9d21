// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "harness/model/units.hpp"

namespace roofmark {
namespace {

/// Above this multiple of a physical limit a rate cannot be true; below, clocks and counters are not that exact.
constexpr double kTolerance = 1.02;

/// From the outermost to the innermost.
constexpr std::array kMemoryLevels = {resource::dram, resource::l3, resource::l2, resource::l1, resource::shared};

using Amounts = std::array<double, std::size(kResources)>;

/// What the demands take from each of kResources.
Amounts amounts_of(const Phase& phase) {
  Amounts amounts{};
  for (const Demand& demand : phase) amounts.at(&find_resource(demand.resource.id) - kResources) += demand.amount;
  return amounts;
}

struct LeastTime {
  double seconds = 0;
  std::string bound_by;  ///< the resource with the largest share of it; empty for work that demands nothing
};

/// The sum over the phases of the greatest amount / limit(resource); absent when a demanded resource has no limit, since
/// leaving it out would make the time too short.
template <class Limit>
std::optional<LeastTime> least_time(const Work& work, const Limit& limit) {
  Amounts shares{};
  for (const Phase& phase : work.phases) {
    const Amounts amounts = amounts_of(phase);
    double greatest = 0;
    std::size_t bound = 0;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      if (amounts[i] == 0) continue;
      const std::optional<double> ceiling = limit(kResources[i]);
      if (!ceiling) return std::nullopt;
      if (amounts[i] / *ceiling <= greatest) continue;
      greatest = amounts[i] / *ceiling;
      bound = i;
    }
    shares.at(bound) += greatest;
  }
  LeastTime least;
  for (double share : shares) least.seconds += share;
  if (least.seconds > 0) least.bound_by = kResources[std::max_element(shares.begin(), shares.end()) - shares.begin()].id;
  return least;
}

/// The theoretical ceiling at the observed clock; absent when it follows the clock and one of the clocks is unknown.
std::optional<double> at_clock(const Ceiling& ceiling, std::optional<double> clock_hz) {
  if (!ceiling.theoretical || !ceiling.resource.follows_clock) return ceiling.theoretical;
  if (!clock_hz || !ceiling.theoretical_clock_hz) return std::nullopt;
  return *ceiling.theoretical * *clock_hz / *ceiling.theoretical_clock_hz;
}

/// Why the rates cannot be true, or empty. Judged by resource over the whole time: an implementation may overlap phases, but
/// it cannot move more bytes than the pins carry. Where no clock was observed the peak is that of the highest clock.
std::string why_impossible(const Work& work, const Roofline& roofline, double seconds, std::optional<double> clock_hz) {
  std::string reasons;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (!ceiling.theoretical) continue;
    double needed = 0;
    for (const Phase& phase : work.phases) {
      for (const Demand& demand : phase) {
        if (demand.resource == ceiling.resource) needed += demand.amount - demand.avoidable;
      }
    }
    const std::optional<double> scaled = at_clock(ceiling, clock_hz);
    const double limit = scaled.value_or(*ceiling.theoretical), rate = needed / seconds;
    if (rate <= kTolerance * limit) continue;
    const Unit unit = ceiling.resource.unit;
    reasons += fmt::format("{}{}: {} is {:.3f} of the {} that the device can give ({}", reasons.empty() ? "" : "; ",
                           ceiling.resource.title, format_rate(rate, unit), rate / limit, format_rate(limit, unit),
                           ceiling.theoretical_source);
    if (ceiling.resource.follows_clock && scaled) reasons += fmt::format(", at the observed {:.0f} MHz", *clock_hz / 1e6);
    reasons += ")";
  }
  return reasons;
}

const Resource& launches_by(Issue path) {
  switch (path) {
    case Issue::stream:
    case Issue::gate:
      return resource::stream_launch;
    case Issue::graph:
      return resource::graph_launch;
    case Issue::automatic:
      break;
  }
  throw std::invalid_argument("a measurement is placed by the path it took, and automatic is none");
}

}  // namespace

const Resource& find_resource(std::string_view id) {
  for (const Resource& resource : kResources) {
    if (resource.id == id) return resource;
  }
  throw std::invalid_argument("unknown resource '" + std::string(id) + "'");
}

double Work::total(Unit unit) const {
  double sum = 0;
  for (const Phase& phase : phases) {
    for (const Demand& demand : phase) {
      if (demand.resource.unit == unit) sum += demand.amount;
    }
  }
  return sum;
}

double Work::total(const Resource& resource) const {
  double sum = 0;
  for (const Phase& phase : phases) {
    for (const Demand& demand : phase) {
      if (demand.resource == resource) sum += demand.amount;
    }
  }
  return sum;
}

std::optional<double> Ceiling::empirical() const {
  if (first && last) return std::max(*first, *last);
  return first ? first : last;
}

std::optional<double> Ceiling::drift() const {
  if (first && last) return *last / *first - 1;
  return std::nullopt;
}

const Ceiling* Roofline::find(const Resource& resource) const {
  for (const Ceiling& ceiling : ceilings_) {
    if (ceiling.resource == resource) return &ceiling;
  }
  return nullptr;
}

Ceiling& Roofline::at(const Resource& resource) {
  if (const Ceiling* found = find(resource)) return const_cast<Ceiling&>(*found);
  Ceiling made{resource, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  ceilings_.push_back(std::move(made));
  return ceilings_.back();
}

Placement place(const Work& work, const Roofline& roofline, double seconds, Issue path, std::optional<double> clock_hz,
                std::optional<double> highest_clock_hz) {
  if (!(seconds > 0) || !std::isfinite(seconds)) throw std::invalid_argument("a time that is not above 0 has no place");
  const Resource& launch = launches_by(path);
  Placement placement;

  const auto empirical = [&](const Resource& resource) -> std::optional<double> {
    const Ceiling* ceiling = roofline.find(resource);
    return ceiling ? ceiling->empirical() : std::nullopt;
  };
  const auto theoretical = [&](const Resource& resource) -> std::optional<double> {
    const Ceiling* ceiling = roofline.find(resource);
    return ceiling ? ceiling->theoretical : std::nullopt;
  };
  const auto theoretical_at_clock = [&](const Resource& resource) -> std::optional<double> {
    const Ceiling* ceiling = roofline.find(resource);
    return ceiling ? at_clock(*ceiling, clock_hz) : std::nullopt;
  };

  if (std::optional<LeastTime> least = least_time(work, empirical)) {
    if (const auto rate = empirical(launch); rate && 1 / *rate > least->seconds) *least = {1 / *rate, std::string(launch.id)};
    if (least->seconds > 0) {
      placement.t_min_seconds = least->seconds;
      placement.bound_by = least->bound_by;
      placement.of_empirical = least->seconds / seconds;
    }
  }
  // No launch has a theoretical ceiling: of these fractions a launch-bound case reaches little, and that is the finding.
  const auto fraction = [&](const std::optional<LeastTime>& least) -> std::optional<double> {
    if (!least || least->seconds == 0) return std::nullopt;
    return least->seconds / seconds;
  };
  const std::optional<LeastTime> in_theory = least_time(work, theoretical);
  placement.of_theoretical = fraction(in_theory);
  if (placement.bound_by.empty() && in_theory) placement.bound_by = in_theory->bound_by;
  placement.of_theoretical_clock = fraction(least_time(work, theoretical_at_clock));

  const double flops = work.total(Unit::flop) + work.total(Unit::op);
  if (flops > 0) placement.flops_per_second = flops / seconds;
  for (const Resource& level : kMemoryLevels) {
    const double bytes = work.total(level);
    if (bytes == 0) continue;
    placement.bytes_per_second = bytes / seconds;
    if (flops > 0) placement.intensity = flops / bytes;
    break;
  }
  placement.impossible = why_impossible(work, roofline, seconds, highest_clock_hz ? highest_clock_hz : clock_hz);
  return placement;
}

}  // namespace roofmark
