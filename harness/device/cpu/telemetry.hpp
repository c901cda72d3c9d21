// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "harness/device/telemetry.hpp"

namespace roofmark::cpu {

/// A CPU's state as reported by the kernel: cpufreq, RAPL (powercap), thermal_throttle, hwmon. `root` is "/", or a copy in
/// tests.
class CpuTelemetry final : public TelemetrySource {
 public:
  CpuTelemetry(std::filesystem::path root, std::vector<int> cores);

  Telemetry read() override;
  /// None: the errors of its memory are the host's.
  CounterReadings counters() override { return {}; }
  /// Reading a core's clock may interrupt it.
  double period_seconds() const override { return 0.2; }
  std::string power_kind() override;

 private:
  /// RAPL's counter of a package, in microjoules; it starts again from 0 at its maximum.
  struct Package {
    std::filesystem::path counter;
    double maximum = 0, last = 0;
    double wraps = 0;  ///< microjoules before the counter last started again
  };
  /// Of at most 8 cores, spread evenly over all; of others each time, until all had their turn. Before Linux 5.18 reading one
  /// may take 10 ms.
  std::optional<double> clock_hz();
  std::optional<double> energy_joules();
  /// Since the first reading, how long any package of the cores was throttled: the longest of them in each reading.
  std::optional<double> throttled_seconds();

  std::filesystem::path root_;
  std::vector<int> cores_;
  std::size_t clock_readings_ = 0;
  std::vector<Package> packages_;
  std::map<int, double> throttled_before_;  ///< by core, its package's counter at the last reading, in milliseconds
  double throttled_milliseconds_ = 0;
};

}  // namespace roofmark::cpu
