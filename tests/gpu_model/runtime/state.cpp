// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "state.hpp"

#include <unistd.h>

#include "operations.hpp"

namespace gpu_model::runtime {
namespace {

thread_local int t_device = 0;
thread_local cudaError_t t_last_error = cudaSuccess;

State* make_state() {
  auto* made = new State;
  made->process = getpid();
  for (const int physical : settings().visible_devices) {
    auto device = std::make_unique<Device>(static_cast<int>(made->devices.size()), physical);
    device->legacy_stream = new CUstream_st;
    device->legacy_stream->device = device->ordinal();
    device->legacy_stream->legacy = true;
    device->streams.insert(device->legacy_stream);
    made->devices.push_back(std::move(device));
  }
  return made;
}

}  // namespace

State& state() {
  static State* all = make_state();  // never destroyed: threads of streams outlive main()
  return *all;
}

Device& device_at(int ordinal) { return *state().devices[static_cast<std::size_t>(ordinal)]; }
bool exists(int ordinal) { return ordinal >= 0 && ordinal < static_cast<int>(state().devices.size()); }
Device& current_device() { return device_at(t_device); }

cudaError_t fail(cudaError_t status) {
  if (status != cudaSuccess) t_last_error = status;
  return status;
}

cudaError_t fail(cudaError_t status, const std::string& why) {
  say("%s (%d) returned: %s", cudaGetErrorName(status), static_cast<int>(status), why.c_str());
  return fail(status);
}

cudaError_t enter(bool needs_device) {
  State& s = state();
  if (s.process != getpid()) return fail(cudaErrorInitializationError, "the process was forked after CUDA was initialised");
  if (!needs_device) return cudaSuccess;
  if (s.devices.empty()) return fail(cudaErrorNoDevice);
  if (settings().taken) return fail(cudaErrorDevicesUnavailable);
  const std::lock_guard lock(s.mutex);
  return fail(current_device().sticky);
}

void set_sticky(Device& device, cudaError_t status) {
  const std::lock_guard lock(state().mutex);
  if (device.sticky == cudaSuccess) device.sticky = status;
}

bool has_sticky_error(Device& device) {
  const std::lock_guard lock(state().mutex);
  return device.sticky != cudaSuccess;
}

}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t last = t_last_error;
  t_last_error = cudaSuccess;
  return last;
}
cudaError_t cudaPeekAtLastError() { return t_last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
  GPUMODEL_CHECK(enter(false));
  if (!count) return fail(cudaErrorInvalidValue);
  *count = static_cast<int>(state().devices.size());
  return *count ? cudaSuccess : fail(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
  GPUMODEL_CHECK(enter(false));
  const int count = static_cast<int>(state().devices.size());
  if (count == 0) return fail(cudaErrorNoDevice);
  if (device < 0 || device >= count) return fail(cudaErrorInvalidDevice);
  t_device = device;
  return enter();
}
cudaError_t cudaSetDeviceFlags(unsigned flags) {
  GPUMODEL_CHECK(enter());
  const unsigned schedule = flags & cudaDeviceScheduleMask;
  const bool one_schedule = schedule == 0 || schedule == cudaDeviceScheduleSpin || schedule == cudaDeviceScheduleYield ||
                            schedule == cudaDeviceScheduleBlockingSync;
  if ((flags & ~unsigned{cudaDeviceMask}) || !one_schedule) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(state().mutex);
  current_device().flags = flags;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  GPUMODEL_CHECK(enter());
  if (!flags) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(state().mutex);
  *flags = current_device().flags | cudaDeviceMapHost;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  GPUMODEL_CHECK(enter(false));
  if (state().devices.empty()) return fail(cudaErrorNoDevice);
  if (!device) return fail(cudaErrorInvalidValue);
  *device = t_device;
  return cudaSuccess;
}

}  // extern "C"
