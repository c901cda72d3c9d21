// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/nic.hpp"
#include "harness/machine/pci.hpp"

namespace roofmark {

/// A port of an RDMA device, up or not. What cannot be read is absent or empty.
struct RdmaPort {
  std::string name;            ///< mlx5_0:1
  std::string kind;            ///< InfiniBand, RoCE, RDMA (of another kind)
  std::string state;           ///< ACTIVE, ACTIVE_DEFER, DOWN, INIT, ...
  std::string physical_state;  ///< LinkUp, Polling, Disabled, ...
  std::string interface;       ///< of RoCE, the network interface
  /// An administrator took it down; absent if that cannot be told.
  std::optional<bool> switched_off;
  std::optional<double> bytes_per_second;  ///< in one direction, of data, without the line encoding's overhead
  std::optional<int> numa_node;
  /// PCI ids of chip and card, and the board's id where the driver has one: equal on cards of one product.
  std::string model;
  std::string position;  ///< on its card: "0.1" is port 1 of PCI function 0
  std::string pci_bus_id;
  bool is_virtual_function = false;  ///< the host's own view of a function for virtual machines
  std::string part_of;               ///< of a virtual function: the port of its device; empty: another machine's, or none
  PortSettings settings;
  PciLinkMaximum pcie;          ///< the link as it is
  PciLinkMaximum pcie_at_most;  ///< that card and slot both support

  bool is_up() const { return state.starts_with("ACTIVE"); }
  friend bool operator==(const RdmaPort&, const RdmaPort&) = default;
};

/// Sorted by name, from the kernel's tables (/sys/class/infiniband) under a root folder ("/").
std::vector<RdmaPort> read_rdma_ports(const std::filesystem::path& root);

/// Of data in one direction, of a network interface; some drivers give none, others -1.
std::optional<double> interface_rate(const std::filesystem::path& interface);
/// The largest packet of a network interface, in bytes.
std::optional<int> interface_mtu(const std::filesystem::path& interface);

/// The device whose virtual function a folder of PCI is, by its name in the tables of the kind ("infiniband", "net"); empty if
/// it is none, or its device is another machine's.
std::string physical_device(const std::filesystem::path& device, const char* kind);

/// What was read of a port, by the ids of kCounters.
using PortReading = std::map<std::string, double>;
/// By the ports' names. A port that has gone from the tables is not up; empty if there are no tables.
std::map<std::string, PortReading> read_port_counters(const std::vector<std::string>& names, const std::filesystem::path& root);

}  // namespace roofmark
