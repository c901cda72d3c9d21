// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "harness/model/statistics.hpp"

namespace roofmark {
namespace {

/// How far a rate may exceed a theoretical ceiling before it says something: clocks and counters are not more exact.
constexpr double kTolerance = 1.02;

/// Links and memory levels, from the outermost to the innermost.
constexpr std::array kByteResources = {resource::host_to_device,
                                       resource::device_to_host,
                                       resource::peer_in,
                                       resource::peer_out,
                                       resource::host_dram,
                                       resource::dram,
                                       resource::l3,
                                       resource::l2,
                                       resource::l1,
                                       resource::shared};

using Amounts = std::array<double, std::size(kResources)>;

/// What the demands take from each of kResources, as of all of it.
Amounts amounts_of(const Phase& phase) {
  Amounts amounts{};
  for (const Demand& demand : phase) amounts.at(&find_resource(demand.resource.id) - kResources) += demand.amount / demand.part;
  return amounts;
}

struct MinimumTime {
  double seconds = 0;
  std::string bound_by;  ///< the resource with the largest share of it; empty for work that demands nothing
};

/// The sum over the phases of the maximum of amount / limit(resource); absent when a demanded resource has no limit: leaving it
/// out would make the time too short.
template <class Limit>
std::optional<MinimumTime> minimum_time(const Work& work, const Limit& limit) {
  Amounts shares{};
  for (const Phase& phase : work.phases) {
    const Amounts amounts = amounts_of(phase);
    double maximum = 0;
    std::size_t bound = 0;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      if (amounts[i] == 0) continue;
      const std::optional<double> ceiling = limit(kResources[i]);
      if (!ceiling) return std::nullopt;
      if (amounts[i] / *ceiling <= maximum) continue;
      maximum = amounts[i] / *ceiling;
      bound = i;
    }
    shares.at(bound) += maximum;
  }
  MinimumTime minimum;
  for (double share : shares) minimum.seconds += share;
  if (minimum.seconds > 0) minimum.bound_by = kResources[std::max_element(shares.begin(), shares.end()) - shares.begin()].id;
  return minimum;
}

/// The theoretical ceiling at the observed clock; absent when it follows the clock and one of the clocks is unknown.
std::optional<double> at_clock(const Ceiling& ceiling, std::optional<double> clock_hz) {
  if (!ceiling.theoretical || ceiling.resource.clock != ClockDomain::sm) return ceiling.theoretical;
  if (!clock_hz || !ceiling.theoretical_clock_hz) return std::nullopt;
  return *ceiling.theoretical * *clock_hz / *ceiling.theoretical_clock_hz;
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
  throw std::invalid_argument("a measurement is placed by the path it took; automatic is not a path");
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

Demand Work::main() const {
  const Resource& resource = phases.front().front().resource;
  return {resource, total(resource)};
}

std::optional<double> Ceiling::empirical() const {
  if (first && last) return std::max(*first, *last);
  return first ? first : last;
}

std::optional<double> Ceiling::drift() const {
  if (first && last) return *last / *first - 1;
  return std::nullopt;
}

std::optional<double> Ceiling::empirical_half_width() const {
  return first == empirical() ? first_half_width : last_half_width;
}

int Ceiling::empirical_blocks() const { return first == empirical() ? first_blocks : last_blocks; }

double Ceiling::drift_half_width() const {
  return apart_by_chance({first_half_width.value_or(0), first_blocks}, {last_half_width.value_or(0), last_blocks},
                         static_cast<double>(measured_twice));
}

bool Ceiling::moved() const {
  const auto change = unexplained_drift();
  return change && std::abs(*change) > kDriftLimit && std::abs(std::log1p(*change)) > drift_half_width();
}

bool Ceiling::by_library() const { return first == empirical() ? first_by_library : last_by_library; }

std::optional<double> Ceiling::unexplained_drift() const {
  const auto change = drift();
  if (!change || resource.clock != ClockDomain::sm || !first_clock_hz || !last_clock_hz) return change;
  const double by_clock = std::log(*last_clock_hz / *first_clock_hz);
  const double all = std::log1p(*change);
  return std::expm1(all - std::clamp(all, std::min(by_clock, 0.0), std::max(by_clock, 0.0)));
}

const Ceiling* Roofline::find(const Resource& resource) const {
  for (const Ceiling& ceiling : ceilings_) {
    if (ceiling.resource == resource) return &ceiling;
  }
  return nullptr;
}

Ceiling& Roofline::at(const Resource& resource) {
  if (const Ceiling* found = find(resource)) return const_cast<Ceiling&>(*found);
  Ceiling& made = ceilings_.emplace_back();
  made.resource = resource;
  return made;
}

Roofline lowest(const std::vector<Roofline>& devices) {
  Roofline all;
  if (devices.empty()) return all;
  for (const Ceiling& first : devices.front().ceilings()) {
    Ceiling ceiling = first;
    for (const Roofline& device : devices) {
      const Ceiling* other = device.find(first.resource);
      if (!other || !other->theoretical || !ceiling.theoretical) {
        ceiling.theoretical = ceiling.theoretical_at_most = ceiling.theoretical_clock_hz = ceiling.rated_clock_hz =
            std::nullopt;
        ceiling.theoretical_source.clear();
      } else if (*other->theoretical < *ceiling.theoretical) {
        ceiling.theoretical = other->theoretical;
        ceiling.theoretical_at_most = other->theoretical_at_most;
        ceiling.theoretical_source = other->theoretical_source;
        ceiling.theoretical_clock_hz = other->theoretical_clock_hz;
        ceiling.rated_clock_hz = other->rated_clock_hz;
      }
      if (!other || !other->healthy_at_least || !ceiling.healthy_at_least) {
        ceiling.healthy_at_least = std::nullopt;
      } else {
        ceiling.healthy_at_least = std::min(*ceiling.healthy_at_least, *other->healthy_at_least);
      }
      if (!other || !other->datasheet || !ceiling.datasheet) {
        ceiling.datasheet = std::nullopt;
        ceiling.datasheet_source.clear();
      } else if (*other->datasheet < *ceiling.datasheet) {
        ceiling.datasheet = other->datasheet;
        ceiling.datasheet_source = other->datasheet_source;
      }
    }
    if (ceiling.theoretical || ceiling.datasheet) all.at(first.resource) = ceiling;
  }
  return all;
}

Placement place(const Work& work, const Roofline& roofline, double seconds, std::optional<Issue> path,
                std::optional<double> clock_hz) {
  if (!(seconds > 0) || !std::isfinite(seconds)) throw std::invalid_argument("a time that is not positive cannot be placed");
  const Resource* launch = path ? &launches_by(*path) : nullptr;
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

  if (std::optional<MinimumTime> minimum = minimum_time(work, empirical)) {
    const auto rate = launch ? empirical(*launch) : std::nullopt;
    if (rate && 1 / *rate > minimum->seconds) *minimum = {1 / *rate, std::string(launch->id)};
    if (minimum->seconds > 0) {
      placement.t_min_seconds = minimum->seconds;
      placement.bound_by = minimum->bound_by;
      placement.of_empirical = minimum->seconds / seconds;
    }
  }
  // Launches have no theoretical ceiling, so a launch-bound case has a low fraction here: that is what it shows.
  const auto fraction = [&](const std::optional<MinimumTime>& minimum) -> std::optional<double> {
    if (!minimum || minimum->seconds == 0) return std::nullopt;
    return minimum->seconds / seconds;
  };
  const std::optional<MinimumTime> in_theory = minimum_time(work, theoretical);
  placement.of_theoretical = fraction(in_theory);
  if (placement.bound_by.empty() && in_theory) placement.bound_by = in_theory->bound_by;
  placement.of_theoretical_clock = fraction(minimum_time(work, theoretical_at_clock));

  const double flops = work.total(Unit::flop) + work.total(Unit::op);
  if (flops > 0) placement.flops_per_second = flops / seconds;
  double bytes = 0;
  for (const Resource& level : kByteResources) {
    const double demanded = work.total(level);
    if (demanded == 0) continue;
    const bool binds = level.id == placement.bound_by;
    if (bytes == 0 || binds) bytes = demanded;
    if (binds) break;
  }
  if (bytes > 0) {
    placement.bytes_per_second = bytes / seconds;
    if (flops > 0) placement.intensity = flops / bytes;
  }
  return placement;
}

bool has_rates_of(const Placement& placement, const Work& work, double seconds) {
  constexpr double kRounding = 1e-9;
  const auto is = [&](double rate, double amount) { return std::abs(rate * seconds - amount) <= kRounding * amount; };
  const auto is_of = [&](const Resource& level) {
    const double demanded = work.total(level);
    return demanded > 0 && is(*placement.bytes_per_second, demanded);
  };
  if (placement.flops_per_second && !is(*placement.flops_per_second, work.total(Unit::flop) + work.total(Unit::op))) {
    return false;
  }
  return !placement.bytes_per_second || std::any_of(kByteResources.begin(), kByteResources.end(), is_of);
}

std::vector<Excess> above_theoretical(const Work& work, const Roofline& roofline, double seconds,
                                      std::optional<double> clock_hz) {
  std::vector<Excess> found;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (!ceiling.theoretical) continue;
    double needed = 0;
    for (const Phase& phase : work.phases) {
      for (const Demand& demand : phase) {
        if (demand.resource == ceiling.resource) needed += (demand.amount - demand.avoidable) / demand.part;
      }
    }
    const double rate = needed / seconds;
    const double at_most = ceiling.theoretical_at_most.value_or(*ceiling.theoretical);
    const double boost = at_clock(ceiling, clock_hz).value_or(0) / *ceiling.theoretical;
    const double limit = at_most * std::max(1.0, boost);
    if (rate > kTolerance * limit) found.push_back({ceiling.resource, rate, limit});
  }
  return found;
}

}  // namespace roofmark
