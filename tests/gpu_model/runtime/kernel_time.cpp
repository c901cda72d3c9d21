// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_time.hpp"

#include <algorithm>
#include <cmath>

#include "settings.hpp"

namespace gpu_model::runtime {
namespace {

constexpr double fixed_ns = 600, load_latency_ns = 300;
// Per SM; shared memory and L1 have one data path.
constexpr double special_per_clock = 16, shared_bytes_per_clock = 128;
constexpr double vector_share = 0.97, asynchronous_share = 0.9;  // attainable share of the peak
// Warp instructions per clock per SM: for all of its schedulers, and for one resident warp.
constexpr double max_issue = 3.6, issue_per_warp = 0.2, max_resident_warps = 64;

double as_double(std::uint64_t count) { return static_cast<double>(count); }

/// FLOPs per clock per SM, by the operand type in an instruction's name.
double tensor_rate(const std::string& opcode) {
  const TensorRates& rates = settings().model->tensor_flops;
  const auto names = [&](const char* type) { return opcode.find(type) != std::string::npos; };
  if (names(".f64")) return rates.fp64;
  if (names(".tf32") || names("::tf32")) return rates.tf32;
  if (names("::mxf4nvf4")) return 2 * rates.eight_bit;
  for (const char* eight_bit : {".e4m3", ".e5m2", ".s8", ".u8", "f8f6f4", "::i8"}) {
    if (names(eight_bit)) return rates.eight_bit;
  }
  return rates.sixteen_bit;
}

double memory_ns(const KernelShape& shape, const Counters& c, double share_of_device) {
  const DeviceModel& model = *settings().model;
  const double bytes = as_double(c.global_load_bytes + c.global_store_bytes + c.tma_bytes);
  const double l2_ns = bytes / (model.l2_bytes_per_ns * std::max(share_of_device, 0.02));
  if (shape.footprint_bytes < 0.7 * static_cast<double>(settings().l2_bytes)) return l2_ns;
  // Half of the SMs saturate the DRAM.
  return std::max(l2_ns,
                  std::min(bytes, 2 * shape.footprint_bytes) / (model.dram_bytes_per_ns * std::min(1.0, 2 * share_of_device)));
}

/// Clocks that one SM alone would need for the arithmetic, shared memory and L1: what is loaded over and over again is from
/// there, unless it is loaded past it.
double compute_clocks(const KernelTraits& traits, const KernelShape& shape, const Counters& c) {
  constexpr double rereads = 4;
  const DeviceModel& model = *settings().model;
  double clocks = traits.has_tensor_math ? as_double(c.mma_flops) / traits.tensor_flops_per_clock : 0;
  for (int i = 0; i < 3; ++i) clocks = std::max(clocks, as_double(c.fma_flops[i]) / (model.fma_flops[i] * vector_share));
  clocks = std::max(clocks, as_double(c.special) / (special_per_clock * vector_share));
  const double loaded = as_double(c.global_load_bytes);
  const double from_l1 = traits.loads_by_l1 && loaded > rereads * shape.footprint_bytes ? loaded : 0;
  return std::max(clocks, (as_double(c.shared_bytes) + from_l1) / (shared_bytes_per_clock * vector_share));
}

}  // namespace

KernelTraits traits_of(const std::string& ptx) {
  KernelTraits traits;
  traits.reads_timer = ptx.find("%globaltimer") != std::string::npos;
  traits.loads_by_l1 = ptx.find("ld.global.v2.u64") != std::string::npos;
  const auto read = [&](const char* instruction, double share) {
    const std::size_t at = ptx.find(instruction);
    if (at == std::string::npos) return;
    traits.has_tensor_math = true;
    traits.tensor_flops_per_clock = share * tensor_rate(ptx.substr(at, ptx.find_first_of(" \t\n", at) - at));
  };
  read("mma.sync", settings().model->mma_sync_share);
  read("wgmma.mma_async", asynchronous_share);
  read("tcgen05.mma", asynchronous_share);
  return traits;
}

double kernel_ns(const KernelTraits& traits, const KernelShape& shape, const Counters& c, double clock_mhz) {
  const double blocks = double(shape.grid.x) * shape.grid.y * shape.grid.z;
  const double warps = std::ceil(double(shape.block.x) * shape.block.y * shape.block.z / 32);  // per block
  const double multiprocessors = settings().multiprocessors, used = std::min(multiprocessors, blocks);
  const double clocks_per_ns = clock_mhz * 1e-3;
  const double resident = std::min(max_resident_warps, warps * std::max(1.0, blocks / multiprocessors));
  const double issued = std::min(max_issue, resident * issue_per_warp);
  double ns = memory_ns(shape, c, used / settings().model->multiprocessors);
  ns = std::max(ns, compute_clocks(traits, shape, c) / (used * clocks_per_ns));
  ns = std::max(ns, as_double(c.warp_instructions) / (used * issued * clocks_per_ns));
  // A single warp is taken for a chain of dependent 8-byte loads.
  if (blocks * warps == 1) ns = std::max(ns, as_double(c.global_load_bytes) / (8 * 32) * load_latency_ns);
  return ns + fixed_ns;
}

}  // namespace gpu_model::runtime
