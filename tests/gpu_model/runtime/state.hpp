// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What the process owns: GPUs, allocations, handles. How entry points report errors.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device.hpp"
#include "diagnostics.hpp"
#include "memory.hpp"
#include "settings.hpp"

namespace gpu_model::runtime {

struct Capture;
class FatBinary;
struct Kernel;

struct State {
  std::mutex mutex;  ///< guards the following; `devices` does not change
  std::vector<std::unique_ptr<Device>> devices;
  std::map<const char*, Allocation> allocations;                        ///< by address
  std::set<const void*> streams, events, graphs, graph_execs;           ///< handles that are alive
  std::map<const void*, Kernel*> kernels;                               ///< by host function and by cudaKernel_t
  std::map<const void*, std::pair<FatBinary*, std::string>> variables;  ///< by host variable: where it is, its mangled name
  std::vector<std::shared_ptr<Capture>> captures;                       ///< that have not ended
  std::set<std::pair<int, int>> peer_access;                            ///< of the first device to the second one's memory
  int process = 0;                                                      ///< that called CUDA first
};
State& state();

Device& current_device();
Device& device_at(int ordinal);
bool exists(int ordinal);

/// What every entry point checks first. Errors: a call in a forked child; and, if it needs a device, no device or a sticky
/// error.
cudaError_t enter(bool needs_device = true);
/// Sets the thread's last error and returns it.
cudaError_t fail(cudaError_t status);
/// The same, with a line on stderr that says why.
cudaError_t fail(cudaError_t status, const std::string& why);
/// From now on every call that needs the device returns this error, unless it has one already.
void set_sticky(Device& device, cudaError_t status);
bool has_sticky_error(Device& device);

}  // namespace gpu_model::runtime

/// Returns from the function with the error of `expression`, if there is one.
#define GPUMODEL_CHECK(expression)                                                        \
  do {                                                                                    \
    if (const cudaError_t status_ = (expression); status_ != cudaSuccess) return status_; \
  } while (0)
