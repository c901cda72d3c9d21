// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/pci.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <system_error>
#include <vector>

#include "harness/machine/files.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

/// "0000:3b:00.0"; a host bridge is "pci0000:3a".
bool is_bus_id(const std::string& name) {
  return std::count(name.begin(), name.end(), ':') == 2 && std::count(name.begin(), name.end(), '.') == 1;
}

/// The folders of the bridges above a device, nearest first. The kernel's folder of a device lies in that of its bridge.
std::vector<fs::path> bridges_above(const fs::path& device) {
  std::error_code unreadable;
  std::vector<fs::path> bridges;
  const fs::path real = fs::canonical(device, unreadable);
  if (unreadable) return bridges;
  for (fs::path above = real.parent_path(); is_bus_id(above.filename().string()); above = above.parent_path()) {
    bridges.push_back(above);
  }
  return bridges;
}

}  // namespace

fs::path pci_folder(std::string bus_id, const fs::path& root) {
  std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(), [](unsigned char c) { return std::tolower(c); });
  return root / "sys/bus/pci/devices" / bus_id;
}

PciLinkMaximum pci_link_maximum(const fs::path& device) {
  constexpr double kGigatransfers[] = {2.5, 5, 8, 16, 32, 64};
  constexpr double kMostLanes = 32;  // the kernel writes 255 where it does not know
  PciLinkMaximum maximum;
  const auto rate = number_in(device / "max_link_speed"), lanes = number_in(device / "max_link_width");
  for (int i = 0; i < static_cast<int>(std::size(kGigatransfers)); ++i) {
    if (rate == kGigatransfers[i]) maximum.generation = i + 1;
  }
  if (lanes && *lanes > 0 && *lanes <= kMostLanes) maximum.lanes = static_cast<int>(*lanes);
  return maximum;
}

PciLinkMaximum slot_link_maximum(const fs::path& device) {
  const std::vector<fs::path> bridges = bridges_above(device);
  return bridges.empty() ? PciLinkMaximum() : pci_link_maximum(bridges.front());
}

}  // namespace roofmark
