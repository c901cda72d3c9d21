// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/cuda/nvml.hpp"
#include "harness/device/telemetry.hpp"

namespace roofmark::cuda {

/// A GPU's state as NVML tells it. What this driver or GPU does not answer is absent.
class NvmlTelemetry final : public TelemetrySource {
 public:
  explicit NvmlTelemetry(const NvmlDevice& device) : device_(device) {}

  Telemetry read() override;
  std::map<std::string, double> counters() override;
  double period_seconds() const override { return 0.05; }
  std::string power_kind() override;

 private:
  NvmlDevice device_;
};

}  // namespace roofmark::cuda
