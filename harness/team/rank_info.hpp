// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/machine/host.hpp"
#include "harness/model/roofline.hpp"
#include "harness/team/host_network.hpp"

namespace roofmark {

/// What a team knows of one rank.
struct RankInfo {
  int rank = 0;
  int local_rank = 0;          ///< among the ranks of its host
  std::string host;            ///< one name per machine (distinct_names)
  std::string nccl_host_id;    ///< NCCL_HOSTID, which NCCL takes for the host
  bool may_share_gpu = false;  ///< NCCL_MULTI_RANK_GPU_ENABLE=1
  int pid = 0;
  std::string device_id, device_name;
  std::string uuid, pci_bus_id, serial;  ///< of a GPU
  std::optional<bool> ecc, mig, persistence_mode;
  std::optional<double> power_limit_watts;
  std::optional<int> numa_node;  ///< of the device, or of all cores that the process may use
  std::vector<int> cores;        ///< that the process may use
  int host_cores = 0;            ///< of its host, logical CPUs; 0: unknown
  /// "CLUSTER_UUID/CLIQUE" of the NVLink domain that the GPU shares with other hosts; empty: none.
  std::string nvlink_domain;
  /// PCI bus ids of the GPUs that its GPU's NVLinks lead to; empty: they lead to switches, or it is unknown.
  std::vector<std::string> nvlink_peers;
  std::vector<Nic> nics;  ///< of its host that are up
  /// The RDMA devices below a PCIe switch with its GPU: "mlx5_0".
  std::vector<std::string> near_nics;
  /// Of its host's RDMA ports; absent where it has none, or they were not read.
  std::optional<std::vector<PortFault>> port_faults;
  bool network_hung = false;     ///< the kernel did not answer in time about its host's ports
  bool virtual_machine = false;  ///< its host is one
  std::string nccl_ib_hca;       ///< NCCL_IB_HCA of its process, or of NCCL's configuration files
  /// Of its process (communication_variables).
  std::map<std::string, std::string> variables;
  int nvlinks = 0;  ///< of its GPU that are up
  /// Of its GPU, in one direction: links x rate, and generation x width, with their sources; absent if unknown.
  std::optional<double> nvlink_bytes_per_second, pcie_bytes_per_second;
  std::string nvlink_source, pcie_source;
  /// Of its GPU's own link towards the NICs, in one direction: PCIe, or NVLink-C2C where that is the way to the host.
  std::optional<double> nic_way_bytes_per_second;
  std::string nic_way_source;
  /// Of the narrowest PCIe link between GPU and host; and, where a switch is between, the port of the host below which it is,
  /// and that port's link.
  std::optional<double> host_bytes_per_second, root_port_bytes_per_second;
  std::string root_port;
  /// Versions by name: `driver` and `vbios` of its GPU; those of software (roofmark, NCCL, MPI) must be the same on all ranks
  /// that communicate.
  std::vector<std::pair<std::string, std::string>> versions;
};

/// Also one whose rate no table has.
inline bool has_nvlink(const RankInfo& member) { return member.nvlinks > 0 || member.nvlink_bytes_per_second; }

/// This process on its host, with the variables that it was started with; the caller sets `rank` and `local_rank`, `host` where
/// other machines have the same name, and adds to `versions`.
RankInfo describe_rank(const DeviceInfo& device, const std::map<std::string, std::string>& started_with = rate_environment(),
                       const std::filesystem::path& root = "/");

/// Groups of ranks by host, hosts in the order of their lowest rank.
std::vector<std::vector<int>> ranks_by_host(const std::vector<RankInfo>& members);
/// Groups of ranks without a network between them, in the same order: an NVLink domain, which may span hosts, or a host whose
/// ranks are not all in one domain.
std::vector<std::vector<int>> ranks_by_domain(const std::vector<RankInfo>& members);
/// Which ranks NVLink connects, of members that outlive this.
class NvlinkMap {
 public:
  explicit NvlinkMap(const std::vector<RankInfo>& members);

  /// Of these ranks, groups within which every GPU reaches every other over NVLink, if need be by way of a third; a rank
  /// without NVLink to another is alone. Each lies in one domain; in the order of their lowest rank.
  std::vector<std::vector<int>> groups_of(const std::vector<int>& ranks) const;
  /// NVLink connects all of these ranks that are in one domain.
  bool connects(const std::vector<int>& ranks) const;

 private:
  struct Place {
    const RankInfo* member = nullptr;
    std::size_t domain = 0;
  };
  std::map<int, Place> places_;  ///< by rank
};
/// Number of ranks on this rank's GPU, including itself; 1 without a GPU.
int ranks_on_gpu(const std::vector<RankInfo>& members, int rank);
/// Two ranks have the same GPU: their exchange crosses neither NVLink nor PCIe, and the others wait for them.
bool share_gpu(const std::vector<RankInfo>& members);

/// Theoretical ceilings of a team's links: NVLink of the slowest rank that it connects with another; PCIe where it does not
/// connect all ranks of a domain, as between GPUs that are bridged in pairs; neither where ranks share a GPU; between NVLink
/// domains or hosts, the sum of the network ports of the slowest host that collectives use (ports_of_collectives), but no more
/// than its ranks' GPUs exchange with NICs; and that of one rank per host, where a host has several. A rank or port of unknown
/// rate leaves its ceiling unknown; a GPU's way to the NICs of unknown rate does not bound it. With what healthy machines reach
/// at least (healthy_links.hpp); for the network only of GPUs whose ports are InfiniBand or, not in a virtual machine, RoCE.
Roofline theoretical_links(const std::vector<RankInfo>& members);

/// Why these ranks cannot measure together, with host and rank: two on one GPU where NCCL refuses that, different versions, or
/// different values of a variable that NCCL needs to be the same. Empty when they can.
std::string mismatch(const std::vector<RankInfo>& members);

}  // namespace roofmark
