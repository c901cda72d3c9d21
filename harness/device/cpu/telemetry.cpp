// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cpu/telemetry.hpp"

#include <algorithm>
#include <utility>

#include "harness/machine/facts.hpp"
#include "harness/machine/files.hpp"

namespace roofmark::cpu {

CpuTelemetry::CpuTelemetry(std::filesystem::path root, std::vector<int> cores)
    : root_(std::move(root)), cores_(std::move(cores)) {
  // intel-rapl:N is a package, intel-rapl:N:M a part of one; AMD's packages have the same name. The platform ("psys") contains
  // the packages.
  for (const std::filesystem::path& zone : entries(root_ / "sys/class/powercap", "intel-rapl:")) {
    const std::string name = zone.filename();
    if (name.find(':') != name.rfind(':') || first_line(zone / "name") == "psys") continue;
    const auto maximum = number_in(zone / "max_energy_range_uj"), now = number_in(zone / "energy_uj");
    if (maximum && now) packages_.push_back({zone / "energy_uj", *maximum, *now});
  }
}

std::optional<double> CpuTelemetry::clock_hz() {
  constexpr std::size_t kCores = 8;
  const std::size_t turns = std::max<std::size_t>(1, (cores_.size() + kCores - 1) / kCores);
  std::vector<int> read;
  for (std::size_t i = clock_readings_++ % turns; i < cores_.size(); i += turns) read.push_back(cores_[i]);
  return current_clock_hz(root_, read);
}

std::optional<double> CpuTelemetry::energy_joules() {
  double sum = 0;
  for (Package& package : packages_) {
    const auto now = number_in(package.counter);
    if (!now) return std::nullopt;
    if (*now < package.last) package.wraps += package.maximum;
    package.last = *now;
    sum += package.wraps + *now;
  }
  return packages_.empty() ? std::nullopt : std::optional(sum * 1e-6);
}

std::optional<double> CpuTelemetry::throttled_seconds() {
  double longest = 0;
  for (const int core : cores_) {
    const auto now = number_in(root_ / "sys/devices/system/cpu" / ("cpu" + std::to_string(core)) /
                               "thermal_throttle/package_throttle_total_time_ms");
    if (!now) continue;
    double& last = throttled_before_.try_emplace(core, *now).first->second;
    longest = std::max(longest, *now - std::exchange(last, *now));
  }
  throttled_milliseconds_ += longest;
  return throttled_before_.empty() ? std::nullopt : std::optional(throttled_milliseconds_ * 1e-3);
}

Telemetry CpuTelemetry::read() {
  Telemetry now;
  now.sm_clock_hz = clock_hz();
  now.temperature_celsius = temperature_celsius(root_);
  now.energy_joules = energy_joules();
  if (const auto seconds = throttled_seconds()) now.throttled_seconds[std::string(throttle::thermal.name)] = *seconds;
  return now;
}

std::string CpuTelemetry::power_kind() { return packages_.empty() ? "" : "from the energy counter"; }

}  // namespace roofmark::cpu
