// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/model/table.hpp"

namespace roofmark {

/// What a rule of a profile limits.
enum class Quantity {
  of_theoretical_clock,
  of_theoretical,
  of_datasheet,
  of_empirical,
  rate,
  busbw,
  seconds,
  cv,
  settled_of_burst,
  share_of_time,
  temperature,
  memory_temperature,
  slowdown_margin,
  power,
  clock,
  drift,
  ratio,
  differing_bits,
  results,
  runs,
  finding,
  counter,
  state,
  version,
  gpus
};

/// How a value of a quantity is written.
enum class Scale { share, rate, seconds, ratio, celsius, watts, megahertz, count, version };

/// Which limit a quantity can have.
enum class Limit { any, least, most };

/// What it is measured from.
enum class Basis {
  record,      ///< each record that the rule's `cases` match
  ceiling,     ///< each ceiling, by the name of its first probe
  comparison,  ///< each comparison of two cases, by the name of its numerator
  run          ///< one value per run, or per node or delivery
};

struct QuantityType {
  Quantity quantity;
  std::string_view id;  ///< in profiles
  Scale scale;
  Basis basis;
  /// What may follow the id after a dot: "finding.drift"; empty: nothing.
  std::string_view argument;
  std::string_view meaning;
  Limit limit = Limit::any;
  double lowest = 0, highest = 0;  ///< a limit outside this range is one in another unit; both 0: any is possible
};

/// In the order of Quantity.
inline constexpr QuantityType kQuantities[] = {
    {Quantity::of_theoretical_clock, "of_theoretical_clock", Scale::share, Basis::record, "",
     "share of the theoretical roof at the clock observed during the case"},
    {Quantity::of_theoretical, "of_theoretical", Scale::share, Basis::record, "",
     "share of the theoretical roof at the highest clock"},
    {Quantity::of_datasheet, "of_datasheet", Scale::share, Basis::record, "", "share of the roof by the vendor's datasheet"},
    {Quantity::of_empirical, "of_empirical", Scale::share, Basis::record, "", "share of the roof measured in the same run"},
    {Quantity::rate, "rate", Scale::rate, Basis::record, "", "units per second of the resource that limits the case"},
    {Quantity::busbw, "busbw", Scale::rate, Basis::record, "", "bus bandwidth of a collective, as nccl-tests defines it"},
    {Quantity::seconds, "seconds", Scale::seconds, Basis::record, "", "median time per launch"},
    {Quantity::cv, "cv", Scale::share, Basis::record, "", "coefficient of variation of the samples"},
    {Quantity::settled_of_burst, "settled_of_burst", Scale::share, Basis::record, "",
     "rate of a sustained load in its last quarter / rate in its first second"},
    {Quantity::share_of_time, "share_of_time", Scale::share, Basis::record, "REASON",
     "share of the case's time during which this throttle reason lowered the clock"},
    {Quantity::temperature, "temperature", Scale::celsius, Basis::record, "",
     "highest temperature of the device during the case, in degrees Celsius", Limit::most, 20, 120},
    {Quantity::memory_temperature, "memory_temperature", Scale::celsius, Basis::record, "",
     "highest temperature of the device's memory during the case, in degrees Celsius", Limit::most, 20, 120},
    {Quantity::slowdown_margin, "slowdown_margin", Scale::celsius, Basis::record, "",
     "smallest margin to the temperature at which the device slows down, in degrees Celsius", Limit::least, -20, 100},
    {Quantity::power, "power", Scale::watts, Basis::record, "",
     "mean power during the case, in watts; of cases of a second or more, or by the energy counter", Limit::any, 1, 5000},
    {Quantity::clock, "clock", Scale::megahertz, Basis::record, "",
     "mean SM clock (a CPU's: core clock) that the driver reports during the case, in MHz", Limit::least, 100, 10000},
    {Quantity::drift, "drift", Scale::share, Basis::ceiling, "",
     "absolute change of a measured ceiling during the suite that its clock does not explain"},
    {Quantity::ratio, "ratio", Scale::ratio, Basis::comparison, "",
     "speed-up of a comparison's numerator over its denominator"},
    {Quantity::differing_bits, "differing_bits", Scale::count, Basis::record, "",
     "ranks and other GPUs whose output bits differ for the same fingerprint key"},
    {Quantity::results, "results", Scale::count, Basis::run, "STATUS",
     "number of results with this status: wrong, failed or not_run"},
    {Quantity::runs, "runs", Scale::count, Basis::run, "VERDICT",
     "number of runs with this verdict of their own: good, doubtful or bad"},
    {Quantity::finding, "finding", Scale::count, Basis::run, "KIND", "number of findings of this kind"},
    {Quantity::counter, "counter", Scale::count, Basis::run, "NAME",
     "amount by which a device counter got worse during the run"},
    {Quantity::state, "state", Scale::count, Basis::run, "NAME",
     "value of a device counter: the worse of before and after the run"},
    {Quantity::version, "version", Scale::version, Basis::run, "NAME", "version of the driver, vbios, roofmark or a library"},
    {Quantity::gpus, "gpus", Scale::count, Basis::run, "", "number of distinct GPUs"},
};

static_assert(is_in_order(kQuantities, &QuantityType::quantity));

constexpr const QuantityType& type_of(Quantity quantity) { return kQuantities[static_cast<int>(quantity)]; }

constexpr bool is_share_of_roof(Quantity quantity) { return quantity <= Quantity::of_empirical; }

/// What a device's telemetry tells of a case.
constexpr bool is_by_telemetry(Quantity quantity) { return quantity >= Quantity::share_of_time && quantity <= Quantity::clock; }

/// Empty of a scale whose unit depends on the value, or that has none.
constexpr std::string_view unit_of(Scale scale) {
  return scale == Scale::celsius ? "C" : scale == Scale::watts ? "W" : scale == Scale::megahertz ? "MHz" : "";
}

/// Null for an id that no quantity has.
constexpr const QuantityType* find_quantity(std::string_view id) {
  for (const QuantityType& type : kQuantities) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

}  // namespace roofmark
