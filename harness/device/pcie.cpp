// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/pcie.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

#include "harness/machine/pci.hpp"

namespace roofmark {
namespace {

struct PcieGeneration {
  double transfers_per_second;  ///< a lane; a bit each
  double carried;               ///< the share of data
  const char* encoding;
};

/// Null for a generation that is not known.
const PcieGeneration* pcie_generation(int generation) {
  static constexpr PcieGeneration kGenerations[] = {
      {2.5e9, 8.0 / 10, "8b/10b"},      {5e9, 8.0 / 10, "8b/10b"},        {8e9, 128.0 / 130, "128b/130b"},
      {16e9, 128.0 / 130, "128b/130b"}, {32e9, 128.0 / 130, "128b/130b"}, {64e9, 242.0 / 256, "242 of 256 bytes per flit"}};
  return generation < 1 || generation > static_cast<int>(std::size(kGenerations)) ? nullptr : &kGenerations[generation - 1];
}

/// The links between a GPU and the host, other than its own. The ports of a virtual machine may state less than the links
/// reach: then those above say nothing either.
std::vector<PciLink> known_links_to_root(const GpuFacts& gpu, const std::filesystem::path& device) {
  const PciLinkMaximum slot = slot_link_maximum(device);
  const bool is_true = slot.generation.value_or(0) >= gpu.pcie_generation_max.value_or(0) &&
                       slot.lanes.value_or(0) >= gpu.pcie_width.value_or(0);
  return is_true ? links_to_root(device) : std::vector<PciLink>();
}

}  // namespace

std::optional<double> pcie_bytes_per_second(int generation, int lanes) {
  const PcieGeneration* const link = pcie_generation(generation);
  if (!link || lanes <= 0) return std::nullopt;  // some virtual machines say 0 lanes
  return link->transfers_per_second * lanes / 8 * link->carried;
}

LinkRate pcie_rate(std::optional<int> generation, std::optional<int> lanes) {
  const auto rate = pcie_bytes_per_second(generation.value_or(0), lanes.value_or(0));
  if (!rate) return {};
  const PcieGeneration& link = *pcie_generation(*generation);
  return {rate, fmt::format("PCIe {} x{}: {} lanes x {:g} GT/s, {} (PCI Express Base Specification)", *generation, *lanes,
                            *lanes, link.transfers_per_second / 1e9, link.encoding)};
}

LinkRate way_to_host(const GpuFacts& gpu, const std::filesystem::path& device) {
  LinkRate narrowest = gpu.pcie;
  if (!narrowest.bytes_per_second) return narrowest;
  for (const PciLink& link : known_links_to_root(gpu, device)) {
    LinkRate rate = pcie_rate(link.maximum.generation, link.maximum.lanes);
    if (!rate.bytes_per_second || *rate.bytes_per_second >= *narrowest.bytes_per_second) continue;
    rate.source += fmt::format(", of the link between {} and {}: the narrowest between GPU and host", link.below, link.above);
    narrowest = std::move(rate);
  }
  return narrowest;
}

std::optional<double> root_port_bytes_per_second(const GpuFacts& gpu, const std::filesystem::path& device) {
  const std::vector<PciLink> links = known_links_to_root(gpu, device);
  if (links.empty()) return std::nullopt;
  const PciLinkMaximum& last = links.back().maximum;
  return pcie_bytes_per_second(last.generation.value_or(0), last.lanes.value_or(0));
}

}  // namespace roofmark
