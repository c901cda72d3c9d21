// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/device/issue.hpp"
#include "harness/model/work.hpp"

namespace roofmark {

/// Of a probe: the resource whose empirical ceiling it may set. By rate: each probe by its own; the best counts. By slope: all
/// together, by the fit of a sample's seconds over its launches, so the fixed cost of a sample is not part of the ceiling. By
/// library: as by rate, of one product of a library, which may be a little faster at other sizes.
struct SetsCeiling {
  enum class By { rate, slope, library };

  Resource resource;
  By by = By::rate;
};

/// The line that a ceiling is the slope of: seconds of a sample over its launches.
struct CeilingLine {
  double fixed_seconds = 0;  ///< of a sample, however many launches it has; 0: the line starts at its lower bound
  std::optional<double> r2;  ///< of the fit; absent for two points
  int points = 0;
};

/// A drift up to this is none.
inline constexpr double kDriftLimit = 0.02;

/// The limit of a resource on one device, in units per second. Whatever is unknown is absent.
struct Ceiling {
  Resource resource;
  /// From attributes read on the device: SMs x highest clock x operations per clock per SM, or bus width x memory clock x 2.
  std::optional<double> theoretical;
  std::string theoretical_source;
  /// Where sources differ: the ceiling by the highest of their figures, which no rate up to it exceeds.
  std::optional<double> theoretical_at_most;
  /// Of a link: what healthy machines reach at least in its probe. Absent where that is not known.
  std::optional<double> healthy_at_least;
  /// Where `theoretical` follows the SM clock: the highest clock, which it assumes, and the clock the device is rated for.
  std::optional<double> theoretical_clock_hz, rated_clock_hz;
  /// The vendor's datasheet figure (dense).
  std::optional<double> datasheet;
  std::string datasheet_source;
  /// The best probe of the ceilings family before and after the suite, and that probe's name.
  std::optional<double> first, last;
  std::string first_by, last_by;
  /// Half of their 95 % intervals, relative; of a slope, its longest probe's. Absent with one block.
  std::optional<double> first_half_width, last_half_width;
  int first_blocks = 0, last_blocks = 0;  ///< that these rest on
  /// The observed clock during these probes, of a device that counts its cycles: a GPU.
  std::optional<double> first_clock_hz, last_clock_hz;
  bool first_by_library = false, last_by_library = false;  ///< SetsCeiling::By::library
  /// Of a ceiling that its probes set together (SetsCeiling::By::slope).
  std::optional<CeilingLine> first_line, last_line;
  /// A verified result exceeds `theoretical` by more than 2 %: a count, a clock or a table is wrong. No verdict may rest on it.
  bool doubtful = false;
  /// Ceilings of the run that were measured twice: any of them may drift by chance.
  std::size_t measured_twice = 1;

  /// The better of first and last, and the half of its interval.
  std::optional<double> empirical() const;
  std::optional<double> empirical_half_width() const;
  int empirical_blocks() const;
  /// Whether a library's product set it.
  bool by_library() const;
  /// last / first - 1, when both are there.
  std::optional<double> drift() const;
  /// The drift less what the clock explains, where the resource follows the SM clock and both clocks are known: the rate may
  /// have changed with the clock, by any part of its change (other limits held the rest). Never larger than the drift.
  std::optional<double> unexplained_drift() const;
  /// What chance explains of a drift, among all ceilings of the run: apart_by_chance(); 0 where the intervals are unknown.
  double drift_half_width() const;
  /// The unexplained drift is above kDriftLimit, and more than chance explains.
  bool moved() const;
};

/// The ceilings of one device.
class Roofline {
 public:
  const Ceiling* find(const Resource& resource) const;
  /// The ceiling of a resource, made when it is not there yet.
  Ceiling& at(const Resource& resource);
  const std::vector<Ceiling>& ceilings() const { return ceilings_; }

 private:
  std::vector<Ceiling> ceilings_;
};

/// The theoretical ceilings that hold for all of several devices: of each resource the lowest. One that is unknown for any
/// device is unknown.
Roofline lowest(const std::vector<Roofline>& devices);

/// A measured time on the roofline. Fractions are never clamped: above 1 means a wrong count, a cache that helped, or a
/// ceiling that was not reached when it was measured.
struct Placement {
  /// The minimum time of the work on the empirical ceilings, and the resource that limits it. Absent when a demanded resource
  /// has no empirical ceiling; the limiting resource is then that of the theoretical ones (a network has no probe).
  std::optional<double> t_min_seconds;
  std::string bound_by;
  std::optional<double> of_empirical;          ///< t_min on empirical ceilings / measured
  std::optional<double> of_theoretical;        ///< t_min on theoretical ceilings / measured
  std::optional<double> of_theoretical_clock;  ///< the same with clocked ceilings scaled to the observed clock
  std::optional<double> flops_per_second;      ///< FLOPs (integer types: operations) per second
  std::optional<double> bytes_per_second;      ///< of the link or memory level that binds, else of the outermost demanded
  std::optional<double> intensity;             ///< FLOPs per byte, both demanded and the bytes of one level
};

/// t_min = sum over phases of the maximum of amount / ceiling, and at least one launch by the path used; without a path, as of
/// the host's time of a call, launches are no limit.
Placement place(const Work& work, const Roofline& roofline, double seconds, std::optional<Issue> path,
                std::optional<double> clock_hz);

/// Whether the rates of a placement are those of the work in this time: of any level that the work demands, since it depends on
/// the ceilings, and on the version that placed it, which one binds.
bool has_rates_of(const Placement& placement, const Work& work, double seconds);

/// A resource that work seems to have used faster than the theoretical ceiling allows.
struct Excess {
  Resource resource;
  double rate = 0, ceiling = 0;  ///< per second
};

/// The resources whose theoretical ceilings the rates exceed by more than 2 %, less what a cache may rightly serve. Per
/// resource over the whole time: an implementation may overlap phases, but it cannot widen a bus. At the highest clock known:
/// that of the ceiling, or the observed one where the device ran beyond it (without NVML, a card that boosts). A lower observed
/// clock does not count: it is a mean over a block, and its samples ran at others.
std::vector<Excess> above_theoretical(const Work& work, const Roofline& roofline, double seconds,
                                      std::optional<double> clock_hz);

}  // namespace roofmark
