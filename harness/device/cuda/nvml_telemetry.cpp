// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/nvml_telemetry.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kGpuSensor = 0;  // nvmlTemperatureSensors_t

}  // namespace

Telemetry NvmlTelemetry::read() {
  Telemetry now;
  if (const auto megahertz = device_.clock("nvmlDeviceGetClockInfo", kSmClock)) now.sm_clock_hz = *megahertz * 1e6;
  if (const auto megahertz = device_.clock("nvmlDeviceGetClockInfo", kMemoryClock)) now.memory_clock_hz = *megahertz * 1e6;
  if (const auto milliwatts = device_.number("nvmlDeviceGetPowerUsage")) now.power_watts = *milliwatts * 1e-3;
  unsigned celsius = 0;
  if (device_.call("nvmlDeviceGetTemperature", kGpuSensor, &celsius)) now.temperature_celsius = celsius;
  unsigned long long mask = 0;
  if (device_.call("nvmlDeviceGetCurrentClocksEventReasons", &mask) ||
      device_.call("nvmlDeviceGetCurrentClocksThrottleReasons", &mask)) {
    now.throttle_reasons = throttle_reasons(mask);
  }
  return now;
}

std::map<std::string, double> NvmlTelemetry::counters() { return {}; }

std::string NvmlTelemetry::power_kind() { return device_.number("nvmlDeviceGetPowerUsage") ? "averaged by the driver" : ""; }

}  // namespace roofmark::cuda
