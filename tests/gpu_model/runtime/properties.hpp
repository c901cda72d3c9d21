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
const gpu_model::runtime::DeviceModel* gpumodel_device_model();
/// values: SM and memory clock in MHz, power in W, temperature in degrees Celsius. reasons: NVML's clocks event reasons.
/// Returns false, and writes nothing, if the device is not visible to the process.
bool gpumodel_telemetry(int physical, double* values, unsigned long long* reasons);
}
