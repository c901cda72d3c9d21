// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// A reason for a lower clock.
struct ThrottleReason {
  std::string_view name;
  bool is_slowdown;  ///< never occurs on a healthy device; a power cap may occur under any load
};
namespace throttle {
inline constexpr ThrottleReason application_clocks{"application clocks", false}, power_cap{"power cap", false},
    hardware_slowdown{"hardware slowdown", true}, sync_boost{"sync boost", false}, thermal{"thermal", true},
    hardware_thermal{"hardware thermal", true}, power_brake{"power brake", true}, display_clock{"display clock", false};
}  // namespace throttle
inline constexpr ThrottleReason kThrottleReasons[] = {
    throttle::application_clocks, throttle::power_cap,   throttle::hardware_slowdown, throttle::sync_boost, throttle::thermal,
    throttle::hardware_thermal,   throttle::power_brake, throttle::display_clock};

/// A device's own state at one moment; what cannot be read is absent.
struct Telemetry {
  std::optional<double> sm_clock_hz, memory_clock_hz, power_watts;
  /// A counter that only grows, in steps of up to 0.1 s. It, bytes over NVLink and throttled_seconds may be read less often
  /// than the rest.
  std::optional<double> energy_joules;
  std::optional<double> temperature_celsius, memory_temperature_celsius;
  std::optional<double> slowdown_margin_celsius;  ///< margin to the temperature at which it slows down
  std::optional<double> utilization;              ///< share of the driver's last period in which a kernel ran
  /// Counters that only grow. A device's PCIe counters may wrap at 32 bits: these do not, and are absent from the first time
  /// that more may have been carried between two readings than 32 bits count.
  std::optional<double> pcie_in_bytes, pcie_out_bytes, nvlink_in_bytes, nvlink_out_bytes;
  /// The link's rate in one direction: at its present speed and width (idle links slow down), and at the highest of both ends.
  std::optional<double> pcie_bytes_per_second, pcie_bytes_per_second_at_most;
  std::optional<std::vector<std::string>> throttle_reasons;  ///< names of those that lower the clock now
  /// Per reason, the time that it has lowered the clock: cumulative counters. Empty if the device has none.
  std::map<std::string, double> throttled_seconds;

  bool operator==(const Telemetry&) const = default;
};

/// By part of a device or host ("link 7", "mlx5_3:1"; "" is the whole) and by the ids and number_ids of kCounters
/// (harness/model/counter.hpp).
using CounterReadings = std::map<std::string, std::map<std::string, double>>;

/// Reads a device's state, independent of its Device and in another thread. No function throws.
class TelemetrySource {
 public:
  virtual ~TelemetrySource() = default;
  virtual Telemetry read() = 0;
  /// Those that can be read.
  virtual CounterReadings counters() = 0;
  /// Interval between readings in seconds: a reading may take time on the device or the host.
  virtual double period_seconds() const = 0;
  /// The kind of power_watts: "instantaneous", "averaged by the driver", "from the energy counter"; empty without power.
  virtual std::string power_kind() = 0;
};

}  // namespace roofmark
