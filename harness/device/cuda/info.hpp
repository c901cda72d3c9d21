// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/device/cuda/kernels.hpp"
#include "harness/device/cuda/nvml.hpp"
#include "harness/device/device.hpp"

namespace roofmark::cuda {

/// Facts for the case that no device can be used.
struct Absence {
  cudaError_t status = cudaErrorNoDevice;  ///< of counting the devices
  int driver_version = 0;                  ///< newest CUDA version that the driver supports, as 12040; 0 without a driver
  int runtime_version = 0;
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES
  std::vector<std::string> forbidden_nodes;    ///< device files that exist and may not be opened
};

/// The reason and the remedy, in one line.
std::string describe(const Absence& absence);

/// Why a device cannot be opened, where making a context there gave `status`: the reason and the remedy, in one line.
std::string why_unusable(cudaError_t status, const DeviceInfo& device);

/// Why a device cannot run `code`, of a build for these architectures: the reason and the remedy, in one line. Empty where it
/// can, and where its error is no lack of code. Code for an older GPU may run and yet lack what the device is taken to have:
/// without the instructions for fp8 (8.9), or for clusters (9.0), kernels are empty.
std::string why_no_code(const Code& code, const DeviceInfo& device, const std::string& architectures);

/// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
std::string uuid_text(const cudaUUID_t& uuid);
/// "12.4" for 12040.
std::string cuda_version_text(int version);
/// "0000:3B:00.0"
std::string pci_bus_id(int ordinal);

/// Everything except free_bytes and used_bytes. Creates no context on the device.
DeviceInfo read_device_info(int ordinal, const NvmlDevice& nvml);

}  // namespace roofmark::cuda
