// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/rank_info.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/machine/facts.hpp"
#include "harness/machine/host.hpp"
#include "harness/machine/numa.hpp"
#include "harness/machine/pci.hpp"
#include "harness/model/units.hpp"
#include "harness/team/healthy_links.hpp"
#include "harness/team/variables.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

std::string describe(const RankInfo& member) { return fmt::format("rank {} ({})", member.rank, member.host); }

/// In the order of their lowest rank.
template <class Key>
std::vector<std::vector<int>> grouped(const std::vector<RankInfo>& members, const Key& key_of) {
  std::map<std::string, std::vector<int>> by_key;
  for (const RankInfo& member : members) by_key[key_of(member)].push_back(member.rank);
  std::vector<std::vector<int>> groups;
  for (auto& [key, ranks] : by_key) {
    std::sort(ranks.begin(), ranks.end());
    groups.push_back(std::move(ranks));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

/// In an order of their own.
const RankInfo& member_of(const std::vector<RankInfo>& members, int rank) {
  return *std::find_if(members.begin(), members.end(), [&](const RankInfo& member) { return member.rank == rank; });
}

/// Of two ranks of one domain.
bool have_nvlink(const RankInfo& a, const RankInfo& b) {
  if (!has_nvlink(a) || !has_nvlink(b)) return false;
  if (a.nvlink_peers.empty() && b.nvlink_peers.empty()) return true;
  const auto leads = [](const RankInfo& from, const RankInfo& to) {
    return std::find(from.nvlink_peers.begin(), from.nvlink_peers.end(), to.pci_bus_id) != from.nvlink_peers.end();
  };
  return a.host == b.host && (leads(a, b) || leads(b, a));
}

std::optional<double> lowest_of(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
}

/// Among which the links of one rank are divided: its NVLinks, where they lead to GPUs and not to switches.
double neighbours_of(const RankInfo& member, const Resource& resource) {
  const bool divided = resource == resource::nvlink && !member.nvlink_peers.empty();
  return divided ? static_cast<double>(member.nvlink_peers.size()) : 1;
}

struct NetworkRate {
  double bytes_per_second = 0;
  std::string source;
  std::optional<double> of_used_ports = {};  ///< that NCCL uses for sure; absent where their rate may be another
};

NetworkRate slower(const std::optional<NetworkRate>& known, const NetworkRate& other) {
  if (!known) return other;
  NetworkRate slow = known->bytes_per_second <= other.bytes_per_second ? *known : other;
  slow.of_used_ports = lowest_of(known->of_used_ports, other.of_used_ports);
  return slow;
}

/// One per GPU, the nearest. Without RDMA the rate is that of the CPUs, other RDMA than InfiniBand and RoCE depends on a
/// plugin, a virtual machine may get less than its port of RoCE states, and between CPUs MPI chooses ports.
std::optional<double> rate_of_used_ports(const PortChoice& ports, std::size_t gpus, bool virtual_machine) {
  double least = *ports.counted.front().bytes_per_second;
  for (const Nic& port : ports.counted) {
    if (port.kind != "InfiniBand" && (port.kind != "RoCE" || virtual_machine)) return std::nullopt;
    least = std::min(least, *port.bytes_per_second);
  }
  return gpus > 0 ? std::optional(static_cast<double>(std::min(gpus, ports.counted.size())) * least) : std::nullopt;
}

/// What these ranks of a host have of the network: its ports, or less where their GPUs exchange less with NICs. A GPU counts
/// once. Absent if the rate of a port is unknown.
std::optional<NetworkRate> network_rate(const std::vector<const RankInfo*>& ranks) {
  const RankInfo& first = *ranks.front();
  const PortChoice ports = ports_of_collectives(first.nics, first.nccl_ib_hca);
  if (ports.counted.empty()) return std::nullopt;
  double sum = 0;
  for (const Nic& nic : ports.counted) {
    if (!nic.bytes_per_second) return std::nullopt;
    sum += *nic.bytes_per_second;
  }
  NetworkRate of_ports{sum, fmt::format("{}, {} (the kernel's tables)", in_words(ports, first.nccl_ib_hca), first.host)};
  if (first.port_faults && !first.port_faults->empty()) of_ports.source += ", where " + in_words(*first.port_faults);
  std::map<std::string, const RankInfo*> gpus;
  for (const RankInfo* rank : ranks) {
    if (!rank->uuid.empty()) gpus.emplace(rank->uuid, rank);
  }
  of_ports.of_used_ports = rate_of_used_ports(ports, gpus.size(), first.virtual_machine);
  double way = 0;
  for (const RankInfo* rank : ranks) {
    if (rank->uuid.empty() || !rank->nic_way_bytes_per_second) return of_ports;
  }
  for (const auto& [uuid, rank] : gpus) way += *rank->nic_way_bytes_per_second;
  if (way >= sum) return of_ports;
  return NetworkRate{way,
                     fmt::format("{} GPU{} by {}, less than {}", gpus.size(), gpus.size() == 1 ? "" : "s", first.nic_way_source,
                                 of_ports.source),
                     lowest_of(of_ports.of_used_ports, way)};
}

}  // namespace

RankInfo describe_rank(const DeviceInfo& device, const std::map<std::string, std::string>& started_with, const fs::path& root) {
  RankInfo member;
  member.variables = communication_variables(device.backend, started_with, root);
  const auto variable = [&](const char* name) {
    const auto found = member.variables.find(name);
    return found == member.variables.end() ? std::string() : found->second;
  };
  member.host = host_name();
  member.nccl_host_id = variable("NCCL_HOSTID");
  member.may_share_gpu = variable("NCCL_MULTI_RANK_GPU_ENABLE") == "1";
  member.pid = static_cast<int>(::getpid());
  member.device_id = device.id;
  member.device_name = device.name;
  HostNetwork network = describe_network(started_with, root);
  member.nics = std::move(network.nics);
  member.network_hung = network.hung;
  member.virtual_machine = is_virtual_machine(root);
  if (!network.ports.empty()) member.port_faults = std::move(network.faults);
  member.cores = allowed_cpus();
  member.host_cores = static_cast<int>(online_cpus(root).size());
  if (device.backend == Backend::cpu) {
    member.numa_node = numa_node_of(member.cores, root);
    return member;
  }
  member.nccl_ib_hca = variable("NCCL_IB_HCA");
  const GpuFacts& gpu = device.gpu;
  member.uuid = gpu.uuid;
  member.pci_bus_id = gpu.pci_bus_id;
  member.serial = gpu.serial;
  member.ecc = gpu.ecc;
  member.mig = is_mig(gpu);
  member.persistence_mode = gpu.persistence_mode;
  member.power_limit_watts = gpu.power_limit_watts;
  for (const auto& [name, version] : {std::pair("driver", gpu.driver_version), std::pair("vbios", gpu.vbios)}) {
    if (!version.empty()) member.versions.emplace_back(name, version);
  }
  member.numa_node = device.near_node;
  if (gpu.mig_uuid.empty()) {  // a MIG instance has no access to other GPUs, whose NVLinks are up all the same
    member.nvlink_domain = gpu.nvlink_domain;
    member.nvlink_peers = gpu.nvlink_peers;
    member.nvlinks = gpu.nvlink_links.value_or(0);
    member.nvlink_bytes_per_second = gpu.nvlink.bytes_per_second;
    member.nvlink_source = gpu.nvlink.source;
  }
  member.pcie_bytes_per_second = gpu.pcie.bytes_per_second;
  member.pcie_source = gpu.pcie.source;
  const LinkRate& nic_way = reaches_host_by_c2c(gpu) ? gpu.c2c : gpu.pcie;
  member.nic_way_bytes_per_second = nic_way.bytes_per_second;
  member.nic_way_source = nic_way.source;
  member.host_bytes_per_second = gpu.way_to_host.bytes_per_second;
  member.root_port = gpu.root_port;
  if (!gpu.pci_bus_id.empty()) member.near_nics = rdma_devices_beside(pci_folder(gpu.pci_bus_id, root), root);
  member.root_port_bytes_per_second = gpu.root_port_bytes_per_second;
  return member;
}

std::vector<std::vector<int>> ranks_by_host(const std::vector<RankInfo>& members) {
  return grouped(members, [](const RankInfo& member) { return member.host; });
}

std::vector<std::vector<int>> ranks_by_domain(const std::vector<RankInfo>& members) {
  std::map<std::string, std::set<std::string>> domains;  // by host
  for (const RankInfo& member : members) domains[member.host].insert(member.nvlink_domain);
  return grouped(members, [&](const RankInfo& member) {
    const bool whole = !member.nvlink_domain.empty() && domains.at(member.host).size() == 1;
    return whole ? "domain " + member.nvlink_domain : "host " + member.host;
  });
}

NvlinkMap::NvlinkMap(const std::vector<RankInfo>& members) {
  for (const RankInfo& member : members) places_[member.rank].member = &member;
  const std::vector<std::vector<int>> domains = ranks_by_domain(members);
  for (std::size_t domain = 0; domain < domains.size(); ++domain) {
    for (const int rank : domains[domain]) places_[rank].domain = domain;
  }
}

std::vector<std::vector<int>> NvlinkMap::groups_of(const std::vector<int>& ranks) const {
  std::map<std::size_t, std::vector<int>> left;  // by domain
  for (const int rank : ranks) left[places_.at(rank).domain].push_back(rank);
  std::vector<std::vector<int>> groups;
  for (auto& [domain, others] : left) {
    while (!others.empty()) {
      std::vector<int> group = {others.back()};
      others.pop_back();
      for (std::size_t i = 0; i < group.size(); ++i) {
        const RankInfo& reached = *places_.at(group[i]).member;
        const auto linked = std::partition(others.begin(), others.end(),
                                           [&](int rank) { return !have_nvlink(reached, *places_.at(rank).member); });
        group.insert(group.end(), linked, others.end());
        others.erase(linked, others.end());
      }
      std::sort(group.begin(), group.end());
      groups.push_back(std::move(group));
    }
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

bool NvlinkMap::connects(const std::vector<int>& ranks) const {
  std::set<std::size_t> domains;
  for (const int rank : ranks) {
    const auto& [member, domain] = places_.at(rank);
    if (!has_nvlink(*member)) return false;
    domains.insert(domain);
  }
  return groups_of(ranks).size() == domains.size();
}

int ranks_on_gpu(const std::vector<RankInfo>& members, int rank) {
  const auto own = std::find_if(members.begin(), members.end(), [&](const RankInfo& member) { return member.rank == rank; });
  if (own == members.end() || own->uuid.empty()) return 1;
  return static_cast<int>(
      std::count_if(members.begin(), members.end(), [&](const RankInfo& member) { return member.uuid == own->uuid; }));
}

bool share_gpu(const std::vector<RankInfo>& members) {
  std::set<std::string> seen;
  return std::any_of(members.begin(), members.end(),
                     [&](const RankInfo& member) { return !member.uuid.empty() && !seen.insert(member.uuid).second; });
}

Roofline theoretical_links(const std::vector<RankInfo>& members) {
  Roofline roofline;
  // The slowest rank's, if every rank's is known.
  const auto add = [&](const Resource& resource, const std::vector<int>& ranks, std::optional<double> RankInfo::*figure,
                       std::string RankInfo::*source, double healthy_share) {
    const RankInfo* slowest = nullptr;
    double to_neighbour = 0;
    for (const int rank : ranks) {
      const RankInfo& member = member_of(members, rank);
      if (!(member.*figure)) return;
      const double own = *(member.*figure) / neighbours_of(member, resource);
      if (!slowest || *(member.*figure) < *(slowest->*figure)) slowest = &member;
      to_neighbour = to_neighbour > 0 ? std::min(to_neighbour, own) : own;
    }
    if (!slowest) return;
    Ceiling& ceiling = roofline.at(resource);
    ceiling.theoretical = slowest->*figure;
    ceiling.theoretical_source = slowest->*source + ", " + describe(*slowest);
    ceiling.healthy_at_least = healthy_share * to_neighbour;
  };
  if (!share_gpu(members)) {
    std::vector<int> all, by_nvlink;
    for (const RankInfo& member : members) all.push_back(member.rank);
    const NvlinkMap nvlink(members);
    for (const std::vector<int>& group : nvlink.groups_of(all)) {
      if (group.size() > 1) by_nvlink.insert(by_nvlink.end(), group.begin(), group.end());
    }
    const bool is_all_nvlink = nvlink.connects(all);
    add(resource::nvlink, is_all_nvlink ? all : by_nvlink, &RankInfo::nvlink_bytes_per_second, &RankInfo::nvlink_source,
        kHealthyNvlink);
    if (!is_all_nvlink) {
      add(resource::pcie, all, &RankInfo::pcie_bytes_per_second, &RankInfo::pcie_source, kHealthyPcie);
    }
  }

  if (ranks_by_domain(members).size() < 2) return roofline;
  const std::vector<std::vector<int>> hosts = ranks_by_host(members);
  std::optional<NetworkRate> all, one;
  for (const std::vector<int>& ranks : hosts) {
    std::vector<const RankInfo*> of_host;
    for (const int rank : ranks) of_host.push_back(&member_of(members, rank));
    const std::optional<NetworkRate> together = network_rate(of_host);
    if (!together) return roofline;
    all = slower(all, *together);
    for (const RankInfo* member : of_host) one = slower(one, *network_rate({member}));
  }
  const auto set = [&](const Resource& resource, const NetworkRate& rate) {
    roofline.at(resource).theoretical = rate.bytes_per_second;
    roofline.at(resource).theoretical_source = rate.source;
    if (rate.of_used_ports) roofline.at(resource).healthy_at_least = kHealthyNetwork * *rate.of_used_ports;
  };
  set(resource::network, *all);
  if (hosts.size() < members.size()) set(resource::network_of_rank, *one);
  return roofline;
}

std::string mismatch(const std::vector<RankInfo>& members) {
  std::vector<std::string> reasons;
  // NCCL identifies a GPU by its host, or NCCL_HOSTID instead, and its bus address.
  std::map<std::tuple<bool, std::string, std::string>, const RankInfo*> owners;
  for (const RankInfo& member : members) {
    if (member.uuid.empty()) continue;
    const bool given = !member.nccl_host_id.empty();
    const auto [found, first] = owners.try_emplace({given, given ? member.nccl_host_id : member.host, member.uuid}, &member);
    if (first || (member.may_share_gpu && found->second->may_share_gpu)) continue;
    reasons.push_back(
        fmt::format("{} and {} use the same GPU ({}), which NCCL does not allow: start one rank per GPU (NCCL 2.30 and newer "
                    "allow more with NCCL_MULTI_RANK_GPU_ENABLE=1)",
                    describe(*found->second), describe(member), member.uuid));
    break;
  }
  const auto version_of = [](const RankInfo& member, const std::string& name) -> std::string {
    for (const auto& [its, version] : member.versions) {
      if (its == name) return version;
    }
    return "no " + name;
  };
  std::set<std::string> names;
  for (const RankInfo& member : members) {
    for (const auto& entry : member.versions) {
      if (entry.first != "driver" && entry.first != "vbios") names.insert(entry.first);
    }
  }
  for (const std::string& name : names) {
    for (const RankInfo& member : members) {
      const std::string here = version_of(members.front(), name), there = version_of(member, name);
      if (here == there) continue;
      reasons.push_back(fmt::format("versions of {} differ: {} has {}, {} has {}", name, describe(members.front()), here,
                                    describe(member), there));
      break;
    }
  }
  for (const DifferingVariable& variable : differing_variables(members)) {
    if (!variable.breaks) continue;
    reasons.push_back(fmt::format("NCCL needs the same {} on all ranks that communicate: {}", variable.name, variable.values));
  }
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

}  // namespace roofmark
