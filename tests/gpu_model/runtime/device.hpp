// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// A GPU: its clock and its telemetry. The time base of all GPUs.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>
#include <random>
#include <set>
#include <string_view>

namespace gpu_model::runtime {

/// Model time of the host: nanoseconds since the process started.
double host_now_ns();
/// What %globaltimer reads at a model time.
std::uint64_t timer_ns(double model_ns);

struct Telemetry {
  double sm_mhz, memory_mhz, power_watts, celsius;
  unsigned long long reasons;                     ///< NVML's clocks event reasons
  double energy_joules, throttled_seconds, busy;  ///< since the process started; busy: 1 or 0
};

class Device {
 public:
  Device(int ordinal, int physical);

  int ordinal() const { return ordinal_; }
  /// Its number among the installed GPUs, whatever CUDA_VISIBLE_DEVICES says.
  int physical() const { return physical_; }

  /// A random factor around 1 for the time of one operation.
  double noise();
  /// The SM clock at a model time. load: of the tensor cores, 0 to 1.
  double clock_mhz(double at_ns, double load) const;
  /// What the SMs' cycle counters read at a model time from which on an operation runs at this clock.
  std::uint64_t cycles(double at_ns, double clock_mhz);
  /// Records an operation for the telemetry.
  void was_busy(double from_ns, double to_ns, double load);
  Telemetry telemetry();
  /// What GPUMODEL_COUNTER adds to a counter now.
  double counter_step(std::string_view id) const;

  // Guarded by the mutex of the state.
  cudaError_t sticky = cudaSuccess;
  std::size_t used_bytes = 0;
  unsigned flags = 0;  ///< cudaDevice*
  CUstream_st* legacy_stream = nullptr;
  std::set<CUstream_st*> streams;  ///< also the legacy stream, and destroyed ones until their queues are empty

 private:
  bool throttled(double at_ns) const;
  // The mutex is held.
  bool busy(double at_ns) const;
  double watts(double at_ns) const;
  void count_energy(double until_ns);

  int ordinal_, physical_;
  mutable std::mutex mutex_;  // guards the following
  std::mt19937_64 random_;
  double busy_until_ns_ = -1e9, busy_total_ns_ = 0, last_load_ = 0;
  double energy_joules_ = 0, energy_until_ns_ = 0;
  double cycles_ = 0, cycles_until_ns_ = 0, cycles_mhz_ = 0;
  int operations_ = 0;
};

}  // namespace gpu_model::runtime
