// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// What lowers a clock.
struct ThrottleReason {
  std::string_view name;
  bool is_slowdown;  ///< a device that works as it should never meets it; its power cap it may meet under any load
};
namespace throttle {
inline constexpr ThrottleReason power_cap{"power cap", false}, hardware_slowdown{"hardware slowdown", true},
    sync_boost{"sync boost", false}, thermal{"thermal", true}, hardware_thermal{"hardware thermal", true},
    power_brake{"power brake", true}, display_clock{"display clock", false};
}  // namespace throttle
inline constexpr ThrottleReason kThrottleReasons[] = {
    throttle::power_cap,        throttle::hardware_slowdown, throttle::sync_boost,   throttle::thermal,
    throttle::hardware_thermal, throttle::power_brake,       throttle::display_clock};

/// A device's own state at one moment; what cannot be read is absent.
struct Telemetry {
  std::optional<double> sm_clock_hz, memory_clock_hz, power_watts;
  std::optional<double> energy_joules;  ///< a counter that only grows, in steps of some tens of milliseconds
  std::optional<double> temperature_celsius, memory_temperature_celsius;
  std::optional<double> slowdown_margin_celsius;  ///< how much hotter it may get before it slows itself down
  std::optional<double> utilization;              ///< share of the driver's last period in which a kernel ran
  std::optional<double> pcie_in_bytes, pcie_out_bytes, nvlink_in_bytes, nvlink_out_bytes;  ///< counters that only grow
  /// What the link carries in one direction: as it is trained now (idle, it slows down), and as fast and wide as both ends can.
  std::optional<double> pcie_bytes_per_second, pcie_bytes_per_second_at_most;
  std::vector<std::string> throttle_reasons;  ///< names of those that lower the clock now
  /// By the same names, how long each has lowered the clock: counters that only grow. Empty where the device keeps none.
  std::map<std::string, double> throttled_seconds;

  bool operator==(const Telemetry&) const = default;
};

/// Reads a device's state, beside a Device and in another thread than its own. No function throws.
class TelemetrySource {
 public:
  virtual ~TelemetrySource() = default;
  virtual Telemetry read() = 0;
  /// By the ids of kCounters (harness/model/counter.hpp), those that can be read, and by their number_ids.
  virtual std::map<std::string, double> counters() = 0;
  /// How far apart the readings should be, in seconds: a reading may cost the device or the host something.
  virtual double period_seconds() const = 0;
  /// The kind of power_watts: "instantaneous", "averaged by the driver", "from the energy counter"; empty without power.
  virtual std::string power_kind() = 0;
};

}  // namespace roofmark
