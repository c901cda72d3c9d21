// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "device_model.hpp"

#include <string>

namespace gpu_model::runtime {
namespace {

constexpr std::size_t mebibytes(std::size_t count) { return count << 20; }

constexpr DeviceModel models[] = {
    // As a V100 SXM2, for which roofmark has no code.
    {.compute_capability = 70,
     .name = "roofmark model GPU (sm_70)",
     .multiprocessors = 80,
     .threads_per_multiprocessor = 2048,
     .shared_per_block_opt_in = 96 * 1024,
     .shared_per_multiprocessor = 96 * 1024,
     .l2_bytes = mebibytes(6),
     .memory_bytes = mebibytes(16160),
     .clock_mhz = 1530,
     .loaded_clock_mhz = 1380,
     .memory_clock_mhz = 877,
     .memory_bus_bits = 4096,
     .dram_bytes_per_ns = 800,
     .l2_bytes_per_ns = 2000,
     .fma_flops = {256, 128, 64},
     .tensor_flops = {.fp64 = 0, .tf32 = 0, .sixteen_bit = 1024, .eight_bit = 0},
     .mma_sync_share = 0.9,
     .clusters = false,
     .power_limit_watts = 300,
     .nvlinks = 6,
     .pcie_generation = 3},
    // As an A100 SXM4 80GB.
    {.compute_capability = 80,
     .name = "roofmark model GPU (sm_80)",
     .multiprocessors = 108,
     .threads_per_multiprocessor = 2048,
     .shared_per_block_opt_in = 163 * 1024,
     .shared_per_multiprocessor = 164 * 1024,
     .l2_bytes = mebibytes(40),
     .memory_bytes = mebibytes(81251),
     .clock_mhz = 1410,
     .loaded_clock_mhz = 1380,
     .memory_clock_mhz = 1593,
     .memory_bus_bits = 5120,
     .dram_bytes_per_ns = 1780,
     .l2_bytes_per_ns = 3900,
     .fma_flops = {256, 128, 64},  // of bf16; fp16 has twice as many
     .tensor_flops = {.fp64 = 128, .tf32 = 1024, .sixteen_bit = 2048, .eight_bit = 4096},
     .mma_sync_share = 0.9,
     .clusters = false,
     .power_limit_watts = 400,
     .nvlinks = 12,
     .pcie_generation = 4},
    // As an A10: shared memory is scarce.
    {.compute_capability = 86,
     .name = "roofmark model GPU (sm_86)",
     .multiprocessors = 72,
     .threads_per_multiprocessor = 1536,
     .shared_per_block_opt_in = 99 * 1024,
     .shared_per_multiprocessor = 100 * 1024,
     .l2_bytes = mebibytes(6),
     .memory_bytes = mebibytes(23028),
     .clock_mhz = 1695,
     .loaded_clock_mhz = 1500,
     .memory_clock_mhz = 6251,
     .memory_bus_bits = 384,
     .dram_bytes_per_ns = 540,
     .l2_bytes_per_ns = 2000,
     .fma_flops = {256, 256, 4},
     .tensor_flops = {.fp64 = 4, .tf32 = 512, .sixteen_bit = 1024, .eight_bit = 2048},
     .mma_sync_share = 0.9,
     .clusters = false,
     .power_limit_watts = 150,
     .nvlinks = 0,
     .pcie_generation = 4},
    // As an H200.
    {.compute_capability = 90,
     .name = "roofmark model GPU (sm_90)",
     .multiprocessors = 132,
     .threads_per_multiprocessor = 2048,
     .shared_per_block_opt_in = 227 * 1024,
     .shared_per_multiprocessor = 228 * 1024,
     .l2_bytes = mebibytes(60),
     .memory_bytes = mebibytes(143771),
     .clock_mhz = 1980,
     .loaded_clock_mhz = 1755,
     .memory_clock_mhz = 3201,
     .memory_bus_bits = 6144,
     .dram_bytes_per_ns = 4200,
     .l2_bytes_per_ns = 6500,
     .fma_flops = {512, 256, 128},
     .tensor_flops = {.fp64 = 256, .tf32 = 2048, .sixteen_bit = 4096, .eight_bit = 8192},
     .mma_sync_share = 0.64,
     .clusters = true,
     .power_limit_watts = 700,
     .nvlinks = 18,
     .pcie_generation = 5},
    // As a B200.
    {.compute_capability = 100,
     .name = "roofmark model GPU (sm_100)",
     .multiprocessors = 148,
     .threads_per_multiprocessor = 2048,
     .shared_per_block_opt_in = 227 * 1024,
     .shared_per_multiprocessor = 228 * 1024,
     .l2_bytes = mebibytes(126),
     .memory_bytes = mebibytes(183359),
     .clock_mhz = 1965,
     .loaded_clock_mhz = 1700,
     .memory_clock_mhz = 3996,
     .memory_bus_bits = 8192,
     .dram_bytes_per_ns = 7200,
     .l2_bytes_per_ns = 10000,
     .fma_flops = {256, 256, 128},
     .tensor_flops = {.fp64 = 128, .tf32 = 4096, .sixteen_bit = 8192, .eight_bit = 16384},
     .mma_sync_share = 0.32,
     .clusters = true,
     .power_limit_watts = 1000,
     .nvlinks = 18,
     .pcie_generation = 6},
};

}  // namespace

const DeviceModel* find_device_model(std::string_view compute_capability) {
  for (const DeviceModel& model : models) {
    if (std::to_string(model.compute_capability) == compute_capability) return &model;
  }
  return nullptr;
}

}  // namespace gpu_model::runtime
