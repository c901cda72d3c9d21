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

/// What a team knows of one rank.
struct RankInfo {
  int rank = 0;
  int local_rank = 0;  ///< among the ranks of its host
  std::string host;
  std::string nccl_host_id;    ///< NCCL_HOSTID, which NCCL takes for the host
  bool may_share_gpu = false;  ///< NCCL_MULTI_RANK_GPU_ENABLE=1
  int pid = 0;
  std::string device_id, device_name;
  std::string uuid, pci_bus_id, serial;  ///< of a GPU
  std::optional<bool> ecc;
  std::optional<double> power_limit_watts;
  std::optional<int> numa_node;  ///< of the device, or of all cores that the process may use
  std::vector<int> cores;        ///< of a CPU: those that the process may use
  /// "CLUSTER_UUID/CLIQUE" of the NVLink domain that the GPU shares with other hosts; empty: none.
  std::string nvlink_domain;
  std::vector<Nic> nics;  ///< of its host
  /// Of this rank's GPU, in one direction: links x rate, and generation x width, with their sources.
  std::optional<double> nvlink_bytes_per_second, pcie_bytes_per_second;
  std::string nvlink_source, pcie_source;
  /// Versions by name: `driver` and `vbios` of its GPU; those of software (roofmark, NCCL, MPI) must be the same on all ranks
  /// that communicate.
  std::vector<std::pair<std::string, std::string>> versions;
};

/// This process on its host; the caller sets `rank` and `local_rank` and adds to `versions`.
RankInfo describe_rank(const DeviceInfo& device, const std::filesystem::path& root = "/");

/// Groups of ranks by host, hosts in the order of their lowest rank.
std::vector<std::vector<int>> ranks_by_host(const std::vector<RankInfo>& members);
/// Groups of ranks without a network between them, in the same order: an NVLink domain, which may span hosts, or a host whose
/// ranks are not all in one domain.
std::vector<std::vector<int>> ranks_by_domain(const std::vector<RankInfo>& members);
/// Number of ranks on this rank's GPU, including itself; 1 without a GPU.
int ranks_on_gpu(const std::vector<RankInfo>& members, int rank);
/// Two ranks have the same GPU: their exchange crosses neither NVLink nor PCIe, and the others wait for them.
bool share_gpu(const std::vector<RankInfo>& members);

/// Theoretical ceilings of a team's links: NVLink of the slowest rank, PCIe where not all ranks have NVLink, neither where
/// ranks share a GPU; between NVLink domains or hosts, the sum of the slowest host's network ports. A rank or port of unknown
/// rate leaves its ceiling unknown.
Roofline theoretical_links(const std::vector<RankInfo>& members);

/// Why these ranks cannot measure together, with host and rank: two on one GPU where NCCL refuses that, different versions.
/// Empty when they can.
std::string mismatch(const std::vector<RankInfo>& members);

}  // namespace roofmark
