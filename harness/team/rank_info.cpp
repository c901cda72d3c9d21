// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/rank_info.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "harness/machine/facts.hpp"
#include "harness/machine/host.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string describe(const RankInfo& member) { return fmt::format("rank {} ({})", member.rank, member.host); }

std::string rate(const Nic& nic) { return nic.bytes_per_second ? format_link_rate(*nic.bytes_per_second) : "unknown rate"; }

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

}  // namespace

RankInfo describe_rank(const DeviceInfo& device, const fs::path& root) {
  RankInfo member;
  member.host = host_name();
  member.nccl_host_id = variable("NCCL_HOSTID");
  member.may_share_gpu = variable("NCCL_MULTI_RANK_GPU_ENABLE") == "1";
  member.pid = static_cast<int>(::getpid());
  member.device_id = device.id;
  member.device_name = device.name;
  member.nics = read_nics(root);
  if (device.backend == Backend::cpu) {
    member.cores = allowed_cpus();
    member.numa_node = numa_node_of(member.cores, root);
    return member;
  }
  const GpuFacts& gpu = device.gpu;
  member.uuid = gpu.uuid;
  member.pci_bus_id = gpu.pci_bus_id;
  member.serial = gpu.serial;
  member.ecc = gpu.ecc;
  member.power_limit_watts = gpu.power_limit_watts;
  for (const auto& [name, version] : {std::pair("driver", gpu.driver_version), std::pair("vbios", gpu.vbios)}) {
    if (!version.empty()) member.versions.emplace_back(name, version);
  }
  member.numa_node = device.near_node;
  member.nvlink_domain = gpu.nvlink_domain;
  member.nvlink_bytes_per_second = gpu.nvlink.bytes_per_second;
  member.nvlink_source = gpu.nvlink.source;
  member.pcie_bytes_per_second = gpu.pcie.bytes_per_second;
  member.pcie_source = gpu.pcie.source;
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
  const auto add = [&](const Resource& resource, std::optional<double> RankInfo::*figure, std::string RankInfo::*source) {
    const RankInfo* slowest = nullptr;
    for (const RankInfo& member : members) {
      if (!(member.*figure)) return false;
      if (!slowest || *(member.*figure) < *(slowest->*figure)) slowest = &member;
    }
    if (!slowest) return false;
    Ceiling& ceiling = roofline.at(resource);
    ceiling.theoretical = slowest->*figure;
    ceiling.theoretical_source = slowest->*source + ", " + describe(*slowest);
    return true;
  };
  if (!share_gpu(members) && !add(resource::nvlink, &RankInfo::nvlink_bytes_per_second, &RankInfo::nvlink_source)) {
    add(resource::pcie, &RankInfo::pcie_bytes_per_second, &RankInfo::pcie_source);
  }

  const std::vector<std::vector<int>> hosts = ranks_by_host(members);
  std::optional<double> least;
  std::string source;
  for (const std::vector<int>& ranks : hosts) {
    const auto member =
        std::find_if(members.begin(), members.end(), [&](const RankInfo& one) { return one.rank == ranks.front(); });
    double sum = 0;
    std::string names;
    for (const Nic& nic : member->nics) {
      if (!nic.bytes_per_second) return roofline;
      sum += *nic.bytes_per_second;
      names += fmt::format("{}{} {}", names.empty() ? "" : " + ", nic.name, rate(nic));
    }
    if (member->nics.empty()) return roofline;
    if (least && sum >= *least) continue;
    least = sum;
    source = fmt::format("{}, {} (the kernel's tables)", names, member->host);
  }
  if (ranks_by_domain(members).size() > 1) {
    roofline.at(resource::network).theoretical = least;
    roofline.at(resource::network).theoretical_source = source;
  }
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
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

}  // namespace roofmark
