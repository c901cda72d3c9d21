// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace roofmark {

// What the kernel says of a PCI device, by the device's folder. What cannot be read is absent.

/// The folder of a PCI device, by its bus id in upper or lower case: "0000:3B:00.0". `root` is "/", or a copy in tests.
std::filesystem::path pci_folder(std::string bus_id, const std::filesystem::path& root);

/// The highest PCIe generation and the most lanes that a device supports, whatever its slot, as the kernel read them from it.
struct PciLinkMaximum {
  std::optional<int> generation, lanes;

  friend bool operator==(const PciLinkMaximum&, const PciLinkMaximum&) = default;
};
PciLinkMaximum pci_link_maximum(const std::filesystem::path& device);
/// The same of its link as it is.
PciLinkMaximum pci_link_now(const std::filesystem::path& device);
/// The same of the port above the device, which is its slot.
PciLinkMaximum slot_link_maximum(const std::filesystem::path& device);

/// Errors that a device or a port has reported since the host was booted (AER): each end of a link sees its own.
struct PcieErrors {
  std::optional<double> correctable, nonfatal, fatal;
};
PcieErrors pcie_errors(const std::filesystem::path& end);
/// The other end of a device's link; absent on the root bus.
std::optional<std::filesystem::path> port_above(const std::filesystem::path& device);

bool is_nvidia_gpu(const std::filesystem::path& device);
/// The NVIDIA GPUs of a host that are there to compute: those that its NVIDIA driver has, and those without an output for a
/// display (PCI class 0x0302), whatever else has become of them, but for those that a virtual machine is given.
int gpus_to_compute_with(const std::filesystem::path& root);

/// A link between a PCIe switch and the port above it, by their bus ids.
struct PciLink {
  std::string below, above;
  PciLinkMaximum maximum;  ///< of both ends
};
/// From the switch that the device is behind up to the port of the host, nearest first; empty without a switch.
std::vector<PciLink> links_to_root(const std::filesystem::path& device);
/// The bus id of that port; empty without a switch. GPUs with the same one share its link.
std::string shared_root_port(const std::filesystem::path& device);

/// How the IOMMU treats the device's accesses to memory: "off", or the type of its group ("identity": they pass through; "DMA",
/// "DMA-FQ": they are translated).
std::optional<std::string> iommu_of(const std::filesystem::path& device, const std::filesystem::path& root);

/// The ports of PCIe switches between a GPU and other devices below the same switch. Access control (ACS) of a port can send
/// their requests to one another up to the host instead.
struct SwitchPorts {
  std::vector<std::string> redirecting;  ///< bus ids of those that do
  int direct = 0;                        ///< those that do not
  int unread = 0;                        ///< those whose registers the kernel does not show: only root may read them

  friend bool operator==(const SwitchPorts&, const SwitchPorts&) = default;
};
/// Absent if no other NVIDIA GPU is below a switch with this one.
std::optional<SwitchPorts> ports_to_peers(const std::filesystem::path& device, const std::filesystem::path& root);
/// The same between a GPU and network cards (NICs).
std::optional<SwitchPorts> ports_to_nics(const std::filesystem::path& device, const std::filesystem::path& root);
/// The RDMA devices (/sys/class/infiniband: "mlx5_0") below the same switch as a GPU, sorted by name.
std::vector<std::string> rdma_devices_beside(const std::filesystem::path& device, const std::filesystem::path& root);

}  // namespace roofmark
