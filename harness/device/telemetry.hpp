// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// The names of what lowers a clock.
inline constexpr std::string_view kThrottleReasons[] = {"power cap",        "hardware slowdown", "sync boost",   "thermal",
                                                        "hardware thermal", "power brake",       "display clock"};

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
  std::vector<std::string> throttle_reasons;  ///< that lower the clock now, of kThrottleReasons
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
  /// What power_watts is: "instantaneous", "averaged by the driver", "from the energy counter"; empty where there is none.
  virtual std::string power_kind() = 0;
};

}  // namespace roofmark
