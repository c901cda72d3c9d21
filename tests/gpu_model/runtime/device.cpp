// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <algorithm>
#include <chrono>

#include "settings.hpp"

namespace gpu_model::runtime {
namespace {

using Nanoseconds = std::chrono::duration<double, std::nano>;

const auto start = std::chrono::steady_clock::now();
const auto epoch_ns = static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());

// NVML's clocks event reasons.
constexpr unsigned long long gpu_idle = 0x1, software_thermal_slowdown = 0x20;
/// The energy counter advances in steps of this time.
constexpr double energy_step_ns = 20e6;
/// What a program does as it opens a device stays below this, and every run exceeds it.
constexpr int operations_before_counters_step = 20;

}  // namespace

double host_now_ns() { return Nanoseconds(std::chrono::steady_clock::now() - start).count(); }
std::uint64_t timer_ns(double model_ns) { return epoch_ns + static_cast<std::uint64_t>(std::max(model_ns, 0.0)); }

Device::Device(int ordinal, int physical)
    : used_bytes(settings().held_bytes),
      ordinal_(ordinal),
      physical_(physical),
      random_(settings().seed * 1000003 + static_cast<std::uint64_t>(physical)) {}

double Device::noise() {
  const double deviation = settings().noise;
  const std::lock_guard lock(mutex_);
  const double factor = std::normal_distribution<double>(1, deviation)(random_);
  const bool late = std::uniform_real_distribution<double>(0, 1)(random_) < 0.01;
  return std::max(factor, 1 - 2 * deviation) + (late ? 10 * deviation : 0);
}

bool Device::throttled(double at_ns) const {
  const Settings& s = settings();
  return s.throttle_mhz > 0 && at_ns * 1e-9 >= s.throttle_after_seconds &&
         (s.throttled_device == any_device || s.throttled_device == physical_);
}

double Device::clock_mhz(double at_ns, double load) const {
  const Settings& s = settings();
  if (throttled(at_ns)) return s.throttle_mhz;
  if (s.clock_mhz > 0) return s.clock_mhz;
  return s.model->clock_mhz - (s.model->clock_mhz - s.model->loaded_clock_mhz) * std::clamp(load, 0.0, 1.0);
}

bool Device::busy(double at_ns) const { return at_ns - busy_until_ns_ < 50e6; }

double Device::watts(double at_ns) const {
  return settings().model->power_limit_watts * (busy(at_ns) ? 0.35 + 0.57 * last_load_ : 0.16);
}

void Device::count_energy(double until_ns) {
  for (; energy_until_ns_ + energy_step_ns <= until_ns; energy_until_ns_ += energy_step_ns) {
    energy_joules_ += watts(energy_until_ns_) * energy_step_ns * 1e-9;
  }
}

std::uint64_t Device::cycles(double at_ns, double clock_mhz) {
  const std::lock_guard lock(mutex_);
  if (!settings().clock_gated && at_ns > cycles_until_ns_) {
    // Idle SMs keep the clock of the operation before.
    cycles_ += (at_ns - cycles_until_ns_) * (cycles_mhz_ > 0 ? cycles_mhz_ : clock_mhz) * 1e-3;
    cycles_until_ns_ = at_ns;
  }
  cycles_mhz_ = clock_mhz;
  return static_cast<std::uint64_t>(cycles_);
}

void Device::was_busy(double from_ns, double to_ns, double load) {
  const std::lock_guard lock(mutex_);
  if (settings().clock_gated) cycles_ += (to_ns - from_ns) * clock_mhz(from_ns, load) * 1e-3;
  count_energy(host_now_ns());
  busy_until_ns_ = std::max(busy_until_ns_, to_ns);
  busy_total_ns_ += to_ns - from_ns;
  last_load_ = load;
  ++operations_;
}

Telemetry Device::telemetry() {
  const Settings& s = settings();
  const DeviceModel& model = *s.model;
  const double now_ns = host_now_ns();
  const std::lock_guard lock(mutex_);
  count_energy(now_ns);
  const bool busy = this->busy(now_ns), slow = throttled(now_ns);
  Telemetry t;
  t.sm_mhz = busy || slow ? clock_mhz(now_ns, last_load_) : model.clock_mhz;
  t.memory_mhz = model.memory_clock_mhz;
  t.power_watts = watts(now_ns);
  t.celsius = std::min(31 + 20 * busy_total_ns_ * 1e-9, busy ? 65.0 : 45.0);
  t.reasons = slow ? software_thermal_slowdown : busy ? 0 : gpu_idle;
  t.energy_joules = energy_joules_;
  t.throttled_seconds = slow ? now_ns * 1e-9 - s.throttle_after_seconds : 0;
  t.busy = busy;
  return t;
}

double Device::counter_step(std::string_view id) const {
  double step = 0;
  const std::lock_guard lock(mutex_);
  if (operations_ < operations_before_counters_step) return 0;
  for (const PlantedFault& fault : settings().counters) {
    if (fault.part == id && (fault.device == any_device || fault.device == physical_)) step += fault.numbers[0];
  }
  return step;
}

}  // namespace gpu_model::runtime
