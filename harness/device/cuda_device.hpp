// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/device/peer_path.hpp"

// Weak: a build without the CUDA toolkit leaves the implementation out, and these addresses are null.
namespace roofmark {

/// The values of N for which `cuda:N` is valid here.
struct CudaDevices {
  std::vector<int> ordinals;
  /// If there are none: the reason (no driver, driver older than the runtime, no permission, none visible) and the remedy.
  std::string reason;
  /// If there are none though the user hides none: those that the host has.
  int unusable = 0;
};

/// Does not throw if there is no device. Initialises no device.
__attribute__((weak)) CudaDevices cuda_devices();

/// Why the CPU is not measured in place of GPUs that are there and `unusable`.
std::string unusable_in_words(const CudaDevices& cuda);

/// Throws DeviceError unless CUDA offers exactly so many GPUs. It names `on_pci`, how many the host has (gpus_to_compute_with),
/// and CUDA_VISIBLE_DEVICES, null where that is not set.
void expect_gpus(int expected, const CudaDevices& cuda, int on_pci, const char* visible);

/// The result of resolve_devices(value, note) if CUDA offers these devices.
std::vector<std::string> resolve_devices(const std::string& value, const CudaDevices& cuda, std::string& note);

/// Of each GPU that the driver has, by its PCI address: whether the driver has lost it. Without those that it does not tell of.
__attribute__((weak)) std::map<std::string, bool> lost_gpus();

/// Everything except the free memory, without opening the device.
__attribute__((weak)) DeviceInfo describe_cuda_device(int ordinal);

/// The connection between two devices and whether they may access each other's memory, without opening them.
__attribute__((weak)) PeerPath cuda_peer_path(int one, int other);

/// Throws DeviceError if the device cannot be opened. Sets the calling thread's current device.
__attribute__((weak)) std::unique_ptr<Device> open_cuda_device(int ordinal);

}  // namespace roofmark
