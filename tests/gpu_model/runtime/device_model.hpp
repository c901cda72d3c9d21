// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The GPUs that can be modelled.
#pragma once
#include <cstddef>
#include <string_view>

namespace gpu_model::runtime {

/// FLOPs of the tensor cores per clock per SM, by the type of their operands.
struct TensorRates {
  double fp64, tf32, sixteen_bit, eight_bit;
};

/// Properties follow the vendor's tables; rates are at or below the published ones.
struct DeviceModel {
  int compute_capability;  ///< 90 for 9.0
  const char* name;
  int multiprocessors, threads_per_multiprocessor;
  int shared_per_block_opt_in, shared_per_multiprocessor;  ///< bytes
  std::size_t l2_bytes, memory_bytes;
  double clock_mhz, loaded_clock_mhz;  ///< without and with load on the tensor cores
  int memory_clock_mhz, memory_bus_bits;
  double dram_bytes_per_ns, l2_bytes_per_ns;
  double fma_flops[3];  ///< per clock per SM: fp16, fp32, fp64
  TensorRates tensor_flops;
  double mma_sync_share;  ///< attainable share of the tensor cores' peak with mma.sync
  bool clusters;
  int power_limit_watts, nvlinks, pcie_generation;
};

/// The model for "70", "80", "86", "90" or "100"; nullptr for anything else.
const DeviceModel* find_device_model(std::string_view compute_capability);

}  // namespace gpu_model::runtime
