// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/device_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/model/units.hpp"

namespace roofmark {

namespace {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

void add_value(NamedValues& pairs, const char* what, const std::string& value) {
  if (!value.empty()) pairs.emplace_back(what, value);
}

std::string size_text(std::optional<std::size_t> bytes) {
  return bytes.value_or(0) > 0 ? format_bytes(static_cast<double>(*bytes)) : "";
}

std::string clock_text(std::optional<double> hz) { return hz ? format_clock(*hz) : ""; }

std::string link_text(const LinkRate& rate) {
  return rate.bytes_per_second
             ? fmt::format("{} per direction ({})", format_rate(*rate.bytes_per_second, Unit::byte), rate.source)
             : "";
}

void add_gpu(NamedValues& pairs, const DeviceInfo& info) {
  const GpuFacts& gpu = info.gpu;
  add_value(pairs, "UUID", gpu.uuid);
  add_value(pairs, "serial number", gpu.serial);
  add_value(pairs, "PCI address", gpu.pci_bus_id);
  add_value(pairs, "VBIOS", gpu.vbios);
  add_value(pairs, "driver", gpu.driver_version);
  add_value(pairs, "CUDA of the driver", gpu.cuda_driver_version);
  add_value(pairs, "CUDA runtime", gpu.cuda_runtime_version);
  add_value(pairs, "shared memory per SM", size_text(gpu.shared_memory_per_multiprocessor_bytes));
  if (gpu.registers_per_multiprocessor)
    add_value(pairs, "32-bit registers per SM", std::to_string(*gpu.registers_per_multiprocessor));
  add_value(pairs, "highest SM clock (NVML)", clock_text(gpu.sm_clock_max_hz));
  add_value(pairs, "highest memory clock (NVML)", clock_text(gpu.memory_clock_max_hz));
  add_value(pairs, "PCIe", link_text(gpu.pcie));
  if (gpu.way_to_host.source != gpu.pcie.source) add_value(pairs, "PCIe to the host", link_text(gpu.way_to_host));
  add_value(pairs, "NVLink-C2C", link_text(gpu.c2c));
  if (gpu.nvlink_links) {
    const std::string rate = link_text(gpu.nvlink);
    add_value(pairs, "NVLinks that are up", fmt::format("{}{}{}", *gpu.nvlink_links, rate.empty() ? "" : ": ", rate));
  }
  add_value(pairs, "NVLink domain", gpu.nvlink_domain);
  if (info.near_node) add_value(pairs, "nearest NUMA node", std::to_string(*info.near_node));
  add_value(pairs, "last-level cache of the host", size_text(info.host_cache_bytes));
  add_value(pairs, "managed memory",
            info.managed_on_demand ? "pages migrate while kernels run" : "all of it migrates before a kernel");
  if (gpu.host_page_tables) add_value(pairs, "page tables", *gpu.host_page_tables ? "the host's" : "the GPU's own");
}

void add_cpu(NamedValues& pairs, const DeviceInfo& info) {
  const CpuFacts& cpu = *info.cpu;
  for (const auto& [key, value] : cpu.cpuinfo) add_value(pairs, key.c_str(), value);
  if (cpu.packages) add_value(pairs, "sockets", std::to_string(*cpu.packages));
  add_value(pairs, "vector extensions", fmt::format("{}", fmt::join(cpu.isa, ", ")));
  add_value(
      pairs, "OpenMP threads",
      fmt::format("{}, placed by {}", info.openmp_threads, info.places_threads ? "roofmark, one per core" : "the environment"));
}

}  // namespace

NamedValues device_in_words(const DeviceInfo& info, bool known) {
  const bool gpu = info.backend == Backend::cuda;
  NamedValues pairs = {{"name", fmt::format("{} ({}){}", info.name, info.id, known ? "" : ", not in the table of known GPUs")},
                       {gpu ? "SMs" : "cores", std::to_string(info.multiprocessors)}};
  if (info.compute_capability > 0) {
    add_value(pairs, "compute capability", fmt::format("{}.{}", info.compute_capability / 10, info.compute_capability % 10));
  }
  add_value(pairs, "rated clock", clock_text(info.rated_clock_hz));
  add_value(pairs, "highest clock", clock_text(info.highest_clock_hz));
  add_value(pairs, "memory clock", clock_text(info.memory_clock_hz));
  if (info.memory_bus_bits) add_value(pairs, "memory bus", fmt::format("{} bit", *info.memory_bus_bits));
  add_value(pairs, "memory",
            fmt::format("{}, {} free", format_bytes(double(info.memory_bytes)), format_bytes(double(info.free_bytes))));
  for (const CacheLevel& level : info.caches) {
    std::string text = format_bytes(double(level.total_bytes));
    if (level.instance_bytes != level.total_bytes) text += ", " + format_bytes(double(level.instance_bytes)) + " each";
    pairs.emplace_back("L" + level.name.substr(1) + " cache", text);
  }
  return pairs;
}

NamedValues attributes_in_words(const DeviceInfo& info) {
  NamedValues pairs;
  if (info.backend == Backend::cuda) add_gpu(pairs, info);
  if (info.cpu) add_cpu(pairs, info);
  return pairs;
}

}  // namespace roofmark
