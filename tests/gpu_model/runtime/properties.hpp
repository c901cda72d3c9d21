// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What the stand-in of NVML asks the model in the same process. Devices are numbered as installed, whatever
// CUDA_VISIBLE_DEVICES says.
#pragma once
#include "device_model.hpp"

extern "C" {

/// Number of installed GPUs.
int gpumodel_devices();
/// 90 for 9.0.
int gpumodel_compute_capability();
/// Negative where the memory has none.
int gpumodel_ecc();
bool gpumodel_confidential();
const gpu_model::runtime::DeviceModel* gpumodel_device_model();
struct GpuModelState {
  double sm_mhz, memory_mhz, watts, celsius, joules, throttled_seconds, busy;
  unsigned long long reasons;  ///< NVML's clocks event reasons
};
/// Returns false, and writes nothing, if the device is not visible to the process.
bool gpumodel_telemetry(int physical, GpuModelState* state);
/// Whether a GPU can access another's memory.
bool gpumodel_peer_access();
/// What GPUMODEL_COUNTER adds now; 0 if the device is not visible to the process.
double gpumodel_counter_step(int physical, const char* id);
}
