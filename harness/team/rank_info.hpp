// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/machine/nic.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// One rank of a team, as the others know it.
struct RankInfo {
  int rank = 0;
  int local_rank = 0;  ///< among the ranks of its host
  std::string host;
  std::string nccl_host_id;    ///< NCCL_HOSTID: what NCCL then takes for the host
  bool may_share_gpu = false;  ///< NCCL_MULTI_RANK_GPU_ENABLE=1
  int pid = 0;
  std::string device_id, device_name;
  std::string uuid, pci_bus_id;  ///< of a GPU
  std::optional<int> numa_node;  ///< of the device, or of the cores that the process may use where they are of one
  std::vector<int> cores;        ///< that the process may use, where the CPU is the device
  std::vector<Nic> nics;         ///< of its host
  /// Of this rank's GPU, in one direction: links x rate, and generation x width, with where they come from.
  std::optional<double> nvlink_bytes_per_second, pcie_bytes_per_second;
  std::string nvlink_source, pcie_source;
  /// Whatever has to be the same on all ranks, by name: roofmark, NCCL, MPI.
  std::vector<std::pair<std::string, std::string>> versions;
};

/// This process on its host; `rank`, `local_rank` and `versions` are left for the caller.
RankInfo describe_rank(const DeviceInfo& device, const std::filesystem::path& root = "/");

/// Groups of ranks by host, hosts in the order of their lowest rank.
std::vector<std::vector<int>> ranks_by_host(const std::vector<RankInfo>& members);
/// How many of them have this rank's GPU, itself included; 1 where it has none.
int ranks_on_gpu(const std::vector<RankInfo>& members, int rank);
/// Two have the same GPU: what these exchange crosses neither NVLink nor PCIe, and the others wait for them.
bool share_gpu(const std::vector<RankInfo>& members);

/// What the links of a team allow in theory: NVLink of the slowest rank, or PCIe where not all have NVLink, or neither where
/// ranks share a GPU; of several hosts, the network ports of the slowest together. What is unknown of one rank or port leaves
/// its ceiling unknown.
Roofline theoretical_links(const std::vector<RankInfo>& members);

/// Why these ranks cannot measure together, naming host and rank: two on one GPU where NCCL refuses that, another version.
/// Empty when they can.
std::string mismatch(const std::vector<RankInfo>& members);

}  // namespace roofmark
