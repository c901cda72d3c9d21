// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What the environment sets, read at the first call of the CUDA runtime. A value that cannot be read ends the process with
// status 2. Bytes may end in K, M or G (powers of 1024).
//
// clang-format off
// | variable                | value [default]      | effect                                                                   |
// | ----------------------- | -------------------- | ------------------------------------------------------------------------ |
// | GPUMODEL_ARCH           | 70 to 100 [90]       | attributes of a V100, A100 (80), A10 (86), H200 (90) or B200 (100); the  |
// |                         |                      | newest PTX for it runs                                                   |
// | GPUMODEL_DEVICES        | 0 to 16 [1]          | number of GPUs                                                           |
// | GPUMODEL_SMS            | count [all]          | number of SMs                                                            |
// | GPUMODEL_L2             | bytes [all]          | size of the L2 cache                                                     |
// | GPUMODEL_MEMORY         | bytes [4G]           | memory that can be allocated                                             |
// | GPUMODEL_TOTAL          | bytes [all]          | memory in the device's properties; GPUMODEL_MEMORY where that is more    |
// | GPUMODEL_ECC            | 0, 1 or none [1]     | whether ECC is on, or the memory has none                                |
// | GPUMODEL_BOOST_MHZ      | 1 to 10000 [model's] | maximum clock; a low one gives timed loops fewer steps to interpret      |
// | GPUMODEL_CLOCK_MHZ      | MHz                  | a fixed SM clock; without it the clock follows the load                  |
// | GPUMODEL_CLOCK_GATED    | 0 or 1 [0]           | the SMs' cycle counters stand still while no operation runs              |
// | GPUMODEL_NOISE          | fraction [0.003]     | standard deviation of the times of operations                            |
// | GPUMODEL_SEED           | number [1]           | seed of that noise                                                       |
//
// Faults. `part` is a part of a kernel's mangled name. `n` counts its launches from 1 (the default); 0 means every launch.
// `device` is a number among the installed GPUs; without it the fault is on all of them. SLOW, FLIP, STICKY and HANG take
// several entries, separated by commas, and so does COUNTER.
//
// | GPUMODEL_THROTTLE       | seconds:mhz[@device] | the SM clock falls after that time, and NVML tells a reason and how long |
// | GPUMODEL_COUNTER        | id:step[@device]     | NVML's answer for a counter gets worse by that once the device works     |
// | GPUMODEL_SLOW           | part:factor[@device] | the kernel takes longer ("cublaslt_matmul": products of cuBLASLt)        |
// | GPUMODEL_FLIP           | part:n:byte[@device] | a bit flips in one byte (0 [0], 1, ...) of those that the launch changed |
// | GPUMODEL_STICKY         | part:n[@device]      | the launch ends with an illegal address                                  |
// | GPUMODEL_HANG           | part:n[@device]      | the launch never ends                                                    |
// | GPUMODEL_OOM_AFTER      | bytes                | cudaMalloc fails beyond this, though cudaMemGetInfo tells of more        |
// | GPUMODEL_PINNED         | bytes                | no more host memory can be pinned or registered                          |
// | GPUMODEL_PEER_ACCESS    | 0 or 1 [1]           | whether a GPU can access another's memory                                |
// | GPUMODEL_HELD           | bytes                | memory that is in use, by no process that NVML lists                     |
// | GPUMODEL_TAKEN          | 0 or 1 [0]           | another process has the GPUs, which are in exclusive compute mode        |
// | GPUMODEL_CONFIDENTIAL   | 0 or 1 [0]           | NVML says that confidential computing is on; registering memory fails    |
//
// What takes too long to interpret can be left out. Its results are then garbage.
//
// | GPUMODEL_SKIP           | part,...             | kernels                                                                  |
// | GPUMODEL_SKIP_OVER      | threads              | launches of more threads                                                 |
// | GPUMODEL_BLAS_LIMIT     | FLOPs                | products of cuBLASLt with more FLOPs                                     |
//
// What the libraries do in one way or another.
//
// | GPUMODEL_SPLIT_EPILOGUE | 0 or 1 [0]           | cuBLASLt stores a product in D, and its epilogue reads it from there     |
//
// Diagnosis.
//
// | GPUMODEL_DEADLOCK_HANGS | 0 or 1 [0]           | a deadlock hangs, as on a GPU, and is not made an error                  |
// | GPUMODEL_TRACE          | 0 or 1 [0]           | a line on stderr for each operation                                      |
// | GPUMODEL_DUMP           | folder               | writes the PTX of each kernel that is loaded                             |
// clang-format on
//
// CUDA_VISIBLE_DEVICES (numbers, no UUIDs) and CUDA_LAUNCH_BLOCKING do what CUDA documents.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device_model.hpp"

namespace gpu_model::runtime {

inline constexpr int any_device = -1;

/// One entry of GPUMODEL_SLOW, GPUMODEL_FLIP, GPUMODEL_STICKY, GPUMODEL_HANG or GPUMODEL_COUNTER.
struct PlantedFault {
  std::string part;  ///< of the kernel's mangled name; the counter's id
  std::vector<double> numbers;
  int device = any_device;
};

struct Settings {
  const DeviceModel* model = nullptr;  ///< at the clock of GPUMODEL_BOOST_MHZ
  int installed_devices = 1;
  std::vector<int> visible_devices;  ///< by CUDA_VISIBLE_DEVICES; the position is the ordinal
  int multiprocessors = 0;
  std::size_t l2_bytes = 0, memory_bytes = 0, total_memory_bytes = 0, held_bytes = 0;
  std::size_t out_of_memory_after = 0;                  ///< bytes; 0: never before memory_bytes
  std::size_t pinned_bytes = 0;                         ///< 0: all that the host has
  double clock_mhz = 0;                                 ///< 0: the model's own
  double throttle_after_seconds = 0, throttle_mhz = 0;  ///< throttle_mhz 0: never
  int throttled_device = any_device;
  double noise = 0;
  std::uint64_t seed = 0;
  bool has_ecc = true, ecc = true, peer_access = true, taken = false, confidential = false, clock_gated = false, trace = false,
       blocking = false, deadlock_hangs = false, split_epilogue = false;
  std::vector<PlantedFault> slow, flip, sticky, hang, counters;
  std::vector<std::string> skip;
  double skip_over_threads = 0, blas_limit = 0;  ///< 0: none
  std::string dump_folder;
};

const Settings& settings();

}  // namespace gpu_model::runtime
