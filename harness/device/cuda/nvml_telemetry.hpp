// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "harness/device/cuda/nvml.hpp"
#include "harness/device/cuda/unwrapped_counter.hpp"
#include "harness/device/cuda/xid_reports.hpp"
#include "harness/device/telemetry.hpp"
#include "harness/machine/steady_seconds.hpp"

namespace roofmark::cuda {

/// A GPU's state as reported by NVML; unreported values are absent. The first query initialises NVML in the querying thread.
class NvmlTelemetry final : public TelemetrySource {
 public:
  /// `root` is "/", or a copy in tests; `seconds` is the clock of the readings, since the host booted.
  explicit NvmlTelemetry(const NvmlDevice& device, std::filesystem::path kernel_log = "/dev/kmsg",
                         std::filesystem::path root = "/", std::function<double()> seconds = steady_seconds)
      : device_(device), kernel_log_(std::move(kernel_log)), root_(std::move(root)), seconds_(std::move(seconds)) {}

  Telemetry read() override;
  /// All but Xids, foreign_processes and states are events since the GPU was made, the driver was loaded or the host was
  /// booted: of ECC the aggregate counts, which a reset of the GPU keeps.
  CounterReadings counters() override;
  double period_seconds() const override { return 0.05; }
  std::string power_kind() override;

 private:
  /// What this driver has, which must not change between two readings of a counter, and what of the GPU does not change.
  struct Sources {
    bool instantaneous = false;                                          ///< power
    std::vector<std::pair<std::string_view, unsigned>> throttle_fields;  ///< by reason
    std::vector<std::pair<std::string_view, int>> throttle_policies;     ///< of the older function: nvmlPerfPolicyType_t
    std::optional<double> slowdown_celsius;                              ///< where NVML has no margin
    std::optional<double> pcie_bytes_per_second_at_most;
    std::vector<unsigned> nvlinks;
    std::unique_ptr<XidReports> xid;
  };
  Sources& sources();
  /// A value of each field, asked for in one call.
  std::vector<std::optional<double>> fields(const std::vector<unsigned>& ids, unsigned scope = 0) const;
  /// One field of each of these links, asked for in one call.
  std::vector<std::optional<double>> field_of_links(unsigned id, const std::vector<unsigned>& links) const;
  std::vector<std::optional<double>> values_of(std::vector<FieldValue> asked) const;
  std::optional<double> margin_celsius() const;
  std::map<std::string, double> throttled_seconds(const std::vector<std::optional<double>>& nanoseconds) const;
  void count_memory_errors(std::map<std::string, double>& counters) const;
  void count_pcie_errors(std::map<std::string, double>& whole, CounterReadings& readings) const;
  void count_nvlink_errors(CounterReadings& readings);
  void state_condition(std::map<std::string, double>& counters) const;

  NvmlDevice device_;
  std::filesystem::path kernel_log_, root_;
  std::function<double()> seconds_;
  UnwrappedCounter pcie_in_, pcie_out_;
  std::optional<double> counters_read_;  ///< when the energy, bytes over NVLink and times under each reason were read last
  std::optional<Sources> sources_;
};

}  // namespace roofmark::cuda
