// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roofmark {

// What the kernel says of a PCI device, by the device's folder. What cannot be read is absent.

/// The folder of a PCI device, by its bus id in upper or lower case: "0000:3B:00.0". `root` is "/", or a copy in tests.
std::filesystem::path pci_folder(std::string bus_id, const std::filesystem::path& root);

/// The fastest and the widest that a PCI device can be linked, in whatever slot it is, as the kernel read it from the device.
struct PciLinkMaximum {
  std::optional<int> generation, lanes;
};
PciLinkMaximum pci_link_maximum(const std::filesystem::path& device);
/// The same of the port above the device, which is its slot.
PciLinkMaximum slot_link_maximum(const std::filesystem::path& device);

}  // namespace roofmark
