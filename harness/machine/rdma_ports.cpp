// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/rdma_ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "harness/machine/facts.hpp"
#include "harness/machine/files.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTables = "sys/class/infiniband";
constexpr const char* kInterfaces = "sys/class/net";

/// "200 Gb/sec (4X HDR)". DDR and QDR are line rates with 8b/10b encoding, FDR with 64b/66b; the others, and all Ethernet
/// rates, are data rates (InfiniBand Architecture Specification, volume 2). Absent for SDR (which older kernels do not name):
/// the kernel says so of every speed that it does not know, as of XDR before it had a name for that.
std::optional<double> port_rate(const fs::path& port, bool infiniband) {
  const auto text = first_line(port / "rate");
  const auto gigabits = number(text);
  if (!gigabits || *gigabits <= 0) return std::nullopt;
  const auto is = [&](const char* name) { return text->ends_with(name); };
  if (is("X)") || is(" SDR)")) return std::nullopt;
  const double carried = !infiniband ? 1 : is(" DDR)") || is(" QDR)") ? 8.0 / 10 : is(" FDR)") ? 64.0 / 66 : 1;
  return *gigabits * carried * 1e9 / 8;
}

/// Amazon's EFA driver said 100 Gb/s of every device before its release 2.13.0.
bool is_said_of_any(double bytes_per_second, const fs::path& pci) {
  return bytes_per_second == 100e9 / 8 && first_line(pci / "vendor") == "0x1d0f";
}

/// "ACTIVE" of "4: ACTIVE".
std::string word_in(const fs::path& file) {
  const std::string line = first_line(file).value_or("");
  const auto colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

/// Whether an interface is of a PCI function, itself or as a bond or VLAN above one that is.
bool is_of(const fs::path& interface, const fs::path& pci) {
  std::error_code unreadable;
  if (fs::equivalent(interface / "device", pci, unreadable)) return true;
  const std::vector<fs::path> lower = entries(interface, "lower_");
  return std::any_of(lower.begin(), lower.end(), [&](const fs::path& below) { return is_of(below, pci); });
}

/// That of the port's first address; a port that is down may have none, but its device one interface. The kernel names the
/// first whatever network namespace it is in: in a container the name may be another interface's, or none's.
std::string interface_of(const fs::path& device, const fs::path& port, const fs::path& interfaces) {
  const auto first = first_line(port / "gid_attrs/ndevs/0");
  if (first && is_of(interfaces / *first, device / "device")) return *first;
  const std::vector<fs::path> own = entries(device / "device/net");
  const bool is_its = own.size() == 1 && entries(device / "ports").size() == 1;
  return is_its ? own.front().filename().string() : std::string();
}

/// Linux's word of the interface's flags: bit 0 is what an administrator sets (IFF_UP), whatever the link does.
std::optional<bool> is_switched_off(const fs::path& interface) {
  const auto flags = first_line(interface / "flags");
  if (!flags) return std::nullopt;
  return (std::strtoul(flags->c_str(), nullptr, 16) & 1) == 0;
}

std::string model_of(const fs::path& device) {
  const auto vendor = first_line(device / "device/vendor"), chip = first_line(device / "device/device");
  if (!vendor || !chip) return {};  // not on PCI, as of software
  std::string model = *vendor + ":" + *chip;
  for (const char* file : {"device/subsystem_vendor", "device/subsystem_device", "board_id"}) {
    if (const auto id = first_line(device / file)) model += " " + *id;
  }
  return model;
}

std::string bus_id_of(const fs::path& pci) {
  std::error_code unreadable;
  const std::string name = fs::canonical(pci, unreadable).filename().string();
  return !unreadable && std::count(name.begin(), name.end(), ':') == 2 ? name : std::string();
}

/// The lower of two that are known.
std::optional<int> least(std::optional<int> a, std::optional<int> b) {
  return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
}

RdmaPort read_port(const fs::path& device, const fs::path& folder, const fs::path& root) {
  RdmaPort port;
  const std::string number = folder.filename().string();
  port.name = fmt::format("{}:{}", device.filename().string(), number);
  const auto layer = first_line(folder / "link_layer");
  port.kind = layer == "InfiniBand" ? "InfiniBand" : layer == "Ethernet" ? "RoCE" : "RDMA";
  port.state = word_in(folder / "state");
  port.physical_state = word_in(folder / "phys_state");
  // `rate` knows InfiniBand's steps only.
  if (port.kind == "RoCE") {
    port.interface = interface_of(device, folder, root / kInterfaces);
    if (!port.interface.empty()) {
      const fs::path interface = root / kInterfaces / port.interface;
      port.bytes_per_second = interface_rate(interface);
      port.switched_off = is_switched_off(interface);
      port.settings.mtu = interface_mtu(interface);
    }
  } else if (!port.physical_state.empty()) {
    port.switched_off = port.physical_state == "Disabled";
  }
  const fs::path pci = device / "device";
  if (!port.bytes_per_second) port.bytes_per_second = port_rate(folder, port.kind == "InfiniBand");
  if (port.bytes_per_second && is_said_of_any(*port.bytes_per_second, pci)) port.bytes_per_second.reset();
  port.settings.firmware = first_line(device / "fw_ver").value_or("");
  if (port.kind == "InfiniBand") port.settings.partition_key = first_line(folder / "pkeys/0").value_or("");
  port.numa_node = numa_node(pci);
  port.model = model_of(device);
  port.pci_bus_id = bus_id_of(pci);
  const auto function = port.pci_bus_id.rfind('.');
  port.position = fmt::format("{}.{}", function == std::string::npos ? "" : port.pci_bus_id.substr(function + 1), number);
  std::error_code unreadable;
  port.is_virtual_function = fs::exists(pci / "physfn", unreadable);
  if (const std::string physical = physical_device(pci, "infiniband"); !physical.empty()) {
    port.part_of = fmt::format("{}:{}", physical, number);
  }
  port.pcie = pci_link_now(pci);
  const PciLinkMaximum card = pci_link_maximum(pci), slot = slot_link_maximum(pci);
  port.pcie_at_most = {least(card.generation, slot.generation), least(card.lanes, slot.lanes)};
  return port;
}

/// By id, the files in a port's folder.
constexpr std::pair<const char*, const char*> kInfiniBandCounters[] = {
    {"network_link_downs", "counters/link_downed"},
    {"network_link_recoveries", "counters/link_error_recovery"},
    {"network_symbol_errors", "counters/symbol_error"},
    {"network_link_integrity_errors", "counters/local_link_integrity_errors"},
};
/// Those of mlx5, of both kinds of links.
constexpr std::pair<const char*, const char*> kTransportCounters[] = {
    {"network_congestion_notifications", "hw_counters/rp_cnp_handled"},
    {"network_sequence_errors", "hw_counters/packet_seq_err"},
    {"network_timeouts", "hw_counters/local_ack_timeout_err"},
};

PortReading read_counters(const RdmaPort& port, const fs::path& root) {
  PortReading reading{{"network_ports", port.is_up() ? 1 : 0}};
  if (port.is_up() && port.bytes_per_second) reading["network_rate"] = *port.bytes_per_second * 8 / 1e9;
  if (port.kind == "RoCE" && !port.interface.empty()) {
    // The folders of RoCE ports have these counters too, but drivers leave them 0.
    const auto downs = number_in(root / kInterfaces / port.interface / "carrier_down_count");
    if (downs) reading["network_carrier_downs"] = *downs;
  }
  const auto colon = port.name.rfind(':');
  const fs::path folder = root / kTables / port.name.substr(0, colon) / "ports" / port.name.substr(colon + 1);
  const auto read = [&](const auto& counters) {
    for (const auto& [id, file] : counters) {
      if (const auto value = number_in(folder / file)) reading[id] = *value;
    }
  };
  read(kTransportCounters);
  if (port.kind == "InfiniBand") read(kInfiniBandCounters);
  return reading;
}

}  // namespace

std::optional<double> interface_rate(const fs::path& interface) {
  const auto megabits = number_in(interface / "speed");
  return megabits && *megabits > 0 ? std::optional<double>(*megabits * 1e6 / 8) : std::nullopt;
}

std::optional<int> interface_mtu(const fs::path& interface) {
  const auto bytes = number_in(interface / "mtu");
  return bytes && *bytes > 0 ? std::optional(static_cast<int>(*bytes)) : std::nullopt;
}

std::string physical_device(const fs::path& device, const char* kind) {
  const std::vector<fs::path> names = entries(device / "physfn" / kind);
  return names.empty() ? std::string() : names.front().filename().string();
}

std::vector<RdmaPort> read_rdma_ports(const fs::path& root) {
  std::vector<RdmaPort> found;
  for (const fs::path& device : entries(root / kTables)) {
    for (const fs::path& port : entries(device / "ports")) found.push_back(read_port(device, port, root));
  }
  return found;
}

std::map<std::string, PortReading> read_port_counters(const std::vector<std::string>& names, const fs::path& root) {
  std::map<std::string, PortReading> found;
  std::error_code unreadable;
  if (!fs::is_directory(root / kTables, unreadable)) return found;
  for (const std::string& name : names) found[name] = {{"network_ports", 0}};
  for (const RdmaPort& port : read_rdma_ports(root)) {
    if (const auto asked = found.find(port.name); asked != found.end()) asked->second = read_counters(port, root);
  }
  return found;
}

}  // namespace roofmark
