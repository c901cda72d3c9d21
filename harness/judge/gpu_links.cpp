// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/gpu_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/judge/gpu_table.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

constexpr const char* kWiring = "check the connectors, cables, trays and switches, and the driver's log";

/// A generation that the slot lacks is that of the host, and healthy; one that both ends support and the link does not reach is
/// lost. Fewer lanes than the GPU's own are lost in whatever slot: both ends train to its maximum, and nothing else shows it.
std::optional<GpuLink> slot_of(const GpuFacts& gpu) {
  const auto generation = gpu.pcie_generation_max, lanes = gpu.pcie_width_max;
  const auto own_generation = gpu.pcie_generation_of_gpu, own_lanes = gpu.pcie_width_of_gpu;
  const bool knows_lanes = lanes.value_or(0) > 0 && own_lanes;  // some virtual machines say 0 lanes
  const bool knows_generation = generation.value_or(0) > 0 && own_generation;
  if (!knows_lanes && !knows_generation) return std::nullopt;
  // The port of a virtual machine may state less than the link reaches.
  const auto of_slot = gpu.pcie_generation_of_slot;
  const bool knows_slot = knows_generation && of_slot && *of_slot >= *generation;
  GpuLink link;
  link.what = "PCIe slot";
  if (knows_generation) {
    link.state = fmt::format("generation {}, the GPU has {}{}", *generation, *own_generation,
                             knows_slot ? fmt::format(", the slot {}", *of_slot) : "");
  }
  if (knows_lanes) {
    link.state += fmt::format("{}{} lanes, the GPU has {}", link.state.empty() ? "" : "; ", *lanes, *own_lanes);
  }
  double left = 1;
  if (knows_generation && *generation < *own_generation) {
    const int both = knows_slot ? std::min(*of_slot, *own_generation) : *generation;
    left *= std::exp2(*generation - both);  // each generation has twice the rate of the one before, nearly
    link.advice = both > *generation
                      ? fmt::format(
                            "the link reaches PCIe {}, the slot supports {} and the GPU {}: check the link speed that the BIOS "
                            "allows and the riser",
                            *generation, *of_slot, *own_generation)
                      : fmt::format(
                            "the slot gives PCIe {}, the GPU supports {}: an older machine has no better; otherwise check the "
                            "link speed that the BIOS allows and the riser",
                            *generation, *own_generation);
  }
  if (knows_lanes && *lanes < *own_lanes) {
    left *= static_cast<double>(*lanes) / *own_lanes;
    link.advice += fmt::format(
        "{}the slot gives {} lanes, the GPU has {}: it is in the wrong slot, or on the wrong riser: transfers get {} of its "
        "lanes",
        link.advice.empty() ? "" : "; ", *lanes, *own_lanes, format_share(static_cast<double>(*lanes) / *own_lanes));
  }
  link.lost = 1 - left;
  return link;
}

std::optional<GpuLink> nvlinks_of(const DeviceInfo& device) {
  const Sku* const sku = find_sku(device.name);
  const auto up = device.gpu.nvlink_links;
  if (!sku || !sku->nvlink_gigabytes_per_second || !up) return std::nullopt;
  const double all = sku->nvlink_gigabytes_per_second->value * 1e9;
  if (*up == 0) {
    GpuLink link{"NVLinks", fmt::format("none is up, the {} has {}", sku->name, format_rate(all, Unit::byte)), {}};
    if (!sku->nvlink_by_bridge) {
      link.advice = fmt::format("a GPU that a virtual machine has alone has none; otherwise {}", kWiring);
    }
    return link;
  }
  if (!device.gpu.nvlink.bytes_per_second) return std::nullopt;
  const double there = *device.gpu.nvlink.bytes_per_second;
  const auto expected = std::lround(all / (there / *up));
  GpuLink link{"NVLinks", fmt::format("{} of {} are up", *up, expected), {}};
  if (*up < expected) {
    link.lost = 1 - static_cast<double>(*up) / static_cast<double>(expected);
    link.advice = fmt::format("{} of {} NVLinks are down: {}", expected - *up, expected, kWiring);
  }
  return link;
}

std::optional<GpuLink> c2c_of(const GpuFacts& gpu) {
  if (!gpu.c2c_links || !gpu.c2c_links_up) return std::nullopt;
  GpuLink link{"NVLink-C2C", fmt::format("{} of {} links are up", *gpu.c2c_links_up, *gpu.c2c_links), {}};
  if (*gpu.c2c_links_up < *gpu.c2c_links) {
    link.lost = 1 - static_cast<double>(*gpu.c2c_links_up) / *gpu.c2c_links;
    link.advice = fmt::format(
        "{} of {} links to the CPU are down: reset the module, and see the driver's log; if they stay down, replace it",
        *gpu.c2c_links - *gpu.c2c_links_up, *gpu.c2c_links);
  }
  return link;
}

}  // namespace

std::vector<GpuLink> links_of(const DeviceInfo& gpu) {
  std::vector<GpuLink> links;
  const bool by_pcie = !reaches_host_by_c2c(gpu.gpu);
  for (auto& link : {by_pcie ? slot_of(gpu.gpu) : std::nullopt, nvlinks_of(gpu), c2c_of(gpu.gpu)}) {
    if (link) links.push_back(*link);
  }
  return links;
}

std::vector<Finding> find_missing_links(const DeviceInfo& gpu) {
  std::vector<Finding> findings;
  for (const GpuLink& link : links_of(gpu)) {
    if (!(link.lost > 0)) continue;
    findings.push_back({FindingKind::link_training,
                        link.advice,
                        {},
                        link.lost,
                        fmt::format("{}: {} of the rate is missing", link.what, format_share(link.lost))});
  }
  return findings;
}

}  // namespace roofmark
