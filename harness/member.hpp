// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/device.hpp"
#include "harness/json.hpp"
#include "harness/roofline.hpp"

namespace roofmark {

/// A network port that is up; rates in one direction.
struct Nic {
  std::string name;  ///< mlx5_0:1, eth0
  std::string kind;  ///< InfiniBand, RoCE, Ethernet
  std::optional<double> bytes_per_second;
  std::optional<int> numa_node;
};

/// The ports that are up under a root folder ("/"), from the kernel's tables: /sys/class/infiniband where it has any, else the
/// interfaces of /sys/class/net but for loopback and bridges. In the order of their names.
std::vector<Nic> read_nics(const std::string& root);

/// One rank of a team, as the others know it.
struct Member {
  int rank = 0;
  int local_rank = 0;  ///< among the ranks of its host
  std::string host;
  int pid = 0;
  std::string device_id, device_name;
  std::string uuid, pci_bus_id;  ///< of a GPU
  std::optional<int> numa_node;  ///< of the device, or of the cores that the process may use where they are of one
  std::vector<int> cores;        ///< that the process may use, where the CPU is the device
  std::vector<Nic> nics;         ///< of its host
  /// Of this rank's GPU, in one direction: links x rate, and generation x width.
  std::optional<double> nvlink_bytes_per_second, pcie_bytes_per_second;
  /// Whatever has to be the same on all ranks, by name: roofmark, NCCL, MPI.
  std::vector<std::pair<std::string, std::string>> versions;
};

/// This process on its host; `rank`, `local_rank` and `versions` are left for the caller.
Member describe_member(const DeviceInfo& device);

Json to_json(const Member& member);
Member member_from_json(const Json& json);

/// Groups of ranks by host, hosts in the order of their lowest rank.
std::vector<std::vector<int>> ranks_by_host(const std::vector<Member>& members);

/// The table that is printed first: rank, host, local rank, device, UUID, NUMA node, NIC.
std::string members_table(const std::vector<Member>& members);

/// What the links of a team allow in theory: NVLink (or PCIe where there is none) of the slowest rank, the network ports of the
/// slowest node together. Without a source a ceiling is left unknown.
Roofline theoretical_links(const std::vector<Member>& members);

/// Why these ranks cannot measure together, naming host and rank: two on one GPU where NCCL refuses that, another version.
/// Empty when they can.
std::string mismatch(const std::vector<Member>& members);

}  // namespace roofmark
