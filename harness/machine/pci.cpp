// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/pci.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
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

enum class Redirect { off, on, unread };

/// P2P Request Redirect in the ACS control register: PCI Express Base Specification, "ACS Extended Capability".
Redirect redirect_of(const fs::path& bridge) {
  constexpr std::size_t kFirst = 0x100, kMost = 0x1000;  // extended capabilities
  constexpr std::uint32_t kAcs = 0x000d, kRequestRedirect = 0x04;
  constexpr std::size_t kControl = 6;
  constexpr std::uint32_t kNoAnswer = 0xffffffff;  // as of a port that sleeps
  std::ifstream file(bridge / "config", std::ios::binary);
  const std::string space{std::istreambuf_iterator<char>(file), {}};
  if (space.size() <= kFirst) return Redirect::unread;  // 64 bytes are shown to all, 256 where the rest cannot be reached
  const auto read = [&](std::size_t at, std::size_t bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes && at + i < space.size(); ++i) {
      value |= std::uint32_t{static_cast<unsigned char>(space[at + i])} << (8 * i);
    }
    return value;
  };
  std::size_t at = kFirst;
  for (std::size_t seen = kFirst; at >= kFirst && seen < kMost; seen += sizeof(std::uint32_t)) {
    const std::uint32_t header = read(at, 4);
    if (header == kNoAnswer) return Redirect::unread;
    if ((header & 0xffff) == kAcs) return read(at + kControl, 2) & kRequestRedirect ? Redirect::on : Redirect::off;
    at = header >> 20;
  }
  return Redirect::off;
}

bool is_nic(const fs::path& device) { return first_line(device / "class").value_or("").starts_with("0x02"); }

/// The bridges above a device, that on the root bus first.
std::vector<fs::path> from_the_root(const fs::path& device) {
  std::vector<fs::path> bridges = bridges_above(device);
  std::reverse(bridges.begin(), bridges.end());
  return bridges;
}

/// The ports between a device and others below the same switch.
std::optional<SwitchPorts> ports_between(const fs::path& device, const fs::path& root, bool (*is_other)(const fs::path&)) {
  const std::vector<fs::path> own = from_the_root(device);
  std::set<fs::path> ports;
  for (const fs::path& other : entries(root / "sys/bus/pci/devices")) {
    if (other.filename() == device.filename() || !is_other(other)) continue;
    const std::vector<fs::path> its = from_the_root(other);
    const auto [parted, its_parted] = std::mismatch(own.begin(), own.end(), its.begin(), its.end());
    if (parted == own.begin()) continue;  // they meet in the host
    ports.insert(parted, own.end());
    ports.insert(its_parted, its.end());
  }
  if (ports.empty()) return std::nullopt;
  SwitchPorts found;
  for (const fs::path& port : ports) {
    const Redirect redirect = redirect_of(port);
    if (redirect == Redirect::on) found.redirecting.push_back(port.filename().string());
    found.direct += redirect == Redirect::off;
    found.unread += redirect == Redirect::unread;
  }
  return found;
}

/// `when`: "current" or "max".
PciLinkMaximum pci_link(const fs::path& device, const std::string& when) {
  constexpr double kGigatransfers[] = {2.5, 5, 8, 16, 32, 64};
  constexpr double kMostLanes = 32;  // the kernel writes 255 where it does not know
  PciLinkMaximum link;
  const auto rate = number_in(device / (when + "_link_speed")), lanes = number_in(device / (when + "_link_width"));
  for (int i = 0; i < static_cast<int>(std::size(kGigatransfers)); ++i) {
    if (rate == kGigatransfers[i]) link.generation = i + 1;
  }
  if (lanes && *lanes > 0 && *lanes <= kMostLanes) link.lanes = static_cast<int>(*lanes);
  return link;
}

/// The last line of such a file: "TOTAL_ERR_COR 2".
std::optional<double> total_in(const fs::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("TOTAL_ERR_")) return number(line.substr(std::min(line.find(' '), line.size())));
  }
  return std::nullopt;
}

}  // namespace

bool is_nvidia_gpu(const fs::path& device) {
  return first_line(device / "vendor") == "0x10de" && first_line(device / "class").value_or("").starts_with("0x03");
}

int gpus_to_compute_with(const fs::path& root) {
  int gpus = 0;
  for (const fs::path& device : entries(root / "sys/bus/pci/devices")) {
    if (!is_nvidia_gpu(device)) continue;
    std::error_code none;
    const std::string driver = fs::read_symlink(device / "driver", none).filename().string();
    const bool given_away = driver == "vfio-pci" || driver == "pci-stub";
    gpus += driver == "nvidia" || (first_line(device / "class").value_or("").starts_with("0x0302") && !given_away);
  }
  return gpus;
}

fs::path pci_folder(std::string bus_id, const fs::path& root) {
  std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(), [](unsigned char c) { return std::tolower(c); });
  return root / "sys/bus/pci/devices" / bus_id;
}

PciLinkMaximum pci_link_maximum(const fs::path& device) { return pci_link(device, "max"); }

PciLinkMaximum pci_link_now(const fs::path& device) { return pci_link(device, "current"); }

PciLinkMaximum slot_link_maximum(const fs::path& device) {
  const std::optional<fs::path> port = port_above(device);
  return port ? pci_link_maximum(*port) : PciLinkMaximum();
}

PcieErrors pcie_errors(const fs::path& end) {
  return {total_in(end / "aer_dev_correctable"), total_in(end / "aer_dev_nonfatal"), total_in(end / "aer_dev_fatal")};
}

std::optional<fs::path> port_above(const fs::path& device) {
  const std::vector<fs::path> bridges = bridges_above(device);
  return bridges.empty() ? std::nullopt : std::optional(bridges.front());
}

std::vector<PciLink> links_to_root(const fs::path& device) {
  // Two bridges are a switch: its port down to the device, and its port up.
  const std::vector<fs::path> bridges = bridges_above(device);
  std::vector<PciLink> links;
  if (bridges.size() % 2 == 0) return links;
  const auto least = [](std::optional<int> a, std::optional<int> b) {
    return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
  };
  for (std::size_t up = 1; up + 1 < bridges.size(); up += 2) {
    const PciLinkMaximum below = pci_link_maximum(bridges[up]), above = pci_link_maximum(bridges[up + 1]);
    links.push_back({bridges[up].filename().string(),
                     bridges[up + 1].filename().string(),
                     {least(below.generation, above.generation), least(below.lanes, above.lanes)}});
  }
  return links;
}

std::string shared_root_port(const fs::path& device) {
  const std::vector<fs::path> bridges = bridges_above(device);
  return bridges.size() > 1 ? bridges.back().filename().string() : std::string();
}

std::optional<std::string> iommu_of(const fs::path& device, const fs::path& root) {
  std::error_code unreadable;
  if (!fs::exists(device, unreadable)) return std::nullopt;
  if (fs::exists(device / "iommu_group", unreadable)) return first_line(device / "iommu_group" / "type");
  const fs::path units = root / "sys/class/iommu";
  const bool has_none = fs::is_directory(units, unreadable) && entries(units).empty();
  return has_none ? std::optional<std::string>("off") : std::nullopt;
}

std::optional<SwitchPorts> ports_to_peers(const fs::path& device, const fs::path& root) {
  return ports_between(device, root, is_nvidia_gpu);
}

std::optional<SwitchPorts> ports_to_nics(const fs::path& device, const fs::path& root) {
  return ports_between(device, root, is_nic);
}

std::vector<std::string> rdma_devices_beside(const fs::path& device, const fs::path& root) {
  const std::vector<fs::path> own = from_the_root(device);
  std::vector<std::string> names;
  for (const fs::path& other : entries(root / "sys/class/infiniband")) {
    const std::vector<fs::path> its = from_the_root(other / "device");
    if (!own.empty() && !its.empty() && own.front() == its.front()) names.push_back(other.filename().string());
  }
  return names;
}

}  // namespace roofmark
