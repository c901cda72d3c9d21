// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/device/device.hpp"

// Weak: a build without the CUDA toolkit leaves the implementation out, and these have a null address there.
namespace roofmark {

/// What `cuda:N` can mean here.
struct CudaDevices {
  std::vector<int> ordinals;
  /// Set when there are none: the reason (no driver, driver older than the runtime, no permission, none visible) and the way
  /// out.
  std::string reason;
};

/// Never throws for want of a device. Initialises no device.
__attribute__((weak)) CudaDevices cuda_devices();

/// What resolve_devices(value, note) says where CUDA offers these devices.
std::vector<std::string> resolve_devices(const std::string& value, const CudaDevices& cuda, std::string& note);

/// Throws DeviceError when the device cannot be opened. Sets the calling thread's current device.
__attribute__((weak)) std::unique_ptr<Device> open_cuda_device(int ordinal);

}  // namespace roofmark
