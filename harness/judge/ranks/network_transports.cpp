// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/network_transports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/transports.hpp"

namespace roofmark {

namespace {

/// "eth0" of "NET/Socket (eth0)/Shared"; empty where the log has not named it.
std::string interface_of(std::string_view transport) {
  const std::size_t open = transport.find('('), close = transport.find(')');
  return close == std::string_view::npos ? std::string() : std::string(transport.substr(open + 1, close - open - 1));
}

/// What each rank reached other hosts by, in all records.
std::map<int, std::set<std::string>> networks(const std::vector<Record>& records, const Places& places) {
  std::map<int, std::set<std::string>> by_rank;
  if (places.hosts() < 2) return by_rank;
  for (const Record& record : records) {
    if (record.transports.empty()) continue;
    const std::set<int> crossing = ranks_between_hosts(record, places);
    for (const auto& [transport, ranks] : record.transports) {
      if (!is_network(transport)) continue;
      for (const int rank : ranks) {
        if (crossing.contains(rank)) by_rank[rank].insert(transport);
      }
    }
  }
  return by_rank;
}

/// Those that NCCL may use.
std::vector<Nic> rdma_ports(const RankInfo& member) {
  std::vector<Nic> ports = ports_of_collectives(member.nics, member.nccl_ib_hca).counted;
  std::erase_if(ports, [](const Nic& port) { return !port.is_rdma(); });
  return ports;
}

/// One whose NIC is below a PCIe switch with the rank's GPU; empty without one.
std::string near_port(const RankInfo& member) {
  for (const Nic& port : rdma_ports(member)) {
    const auto& near = member.near_nics;
    if (std::find(near.begin(), near.end(), port.name.substr(0, port.name.find(':'))) != near.end()) return port.name;
  }
  return {};
}

/// The ranks that one finding is about, and of the first what is said.
struct Seen {
  std::vector<int> ranks;
  std::string how, of_first;
};

}  // namespace

bool tells_network(const std::vector<Record>& records, const std::vector<RankInfo>& members) {
  return !networks(records, Places(members)).empty();
}

std::vector<Finding> network_transports(const std::vector<Record>& records, const std::vector<RankInfo>& members) {
  const Places places(members);
  std::map<FindingKind, Seen> found;
  const std::map<int, std::set<std::string>> by_rank = networks(records, places);
  const auto add = [&](FindingKind kind, int rank, const std::string& how, const std::string& says) {
    Seen& seen = found[kind];
    if (seen.ranks.empty()) seen.how = how, seen.of_first = says;
    seen.ranks.push_back(rank);
  };
  for (const RankInfo& member : members) {
    const auto networks_of = by_rank.find(member.rank);
    if (networks_of == by_rank.end()) continue;
    std::set<std::string> interfaces, others;
    bool sockets = false, direct = false;
    for (const std::string& transport : networks_of->second) {
      if (is_sockets(transport)) {
        sockets = true;
        if (const std::string name = interface_of(transport); !name.empty()) interfaces.insert(name);
        continue;
      }
      direct |= is_gpudirect(transport);
      others.insert(transport);
    }
    if (sockets) {
      std::vector<std::string> ports;
      for (const Nic& port : rdma_ports(member)) ports.push_back(fmt::format("{} ({})", port.name, port.kind));
      const std::string by = interfaces.empty() ? "IP sockets" : fmt::format("IP sockets ({})", fmt::join(interfaces, ", "));
      if (ports.empty()) {
        add(FindingKind::sockets, member.rank, by, "its host has no active RDMA port that NCCL may use");
      } else {
        add(FindingKind::rdma_unused, member.rank, by,
            fmt::format("active RDMA ports of its host: {}", fmt::join(ports, ", ")));
      }
    }
    if (!others.empty() && !direct) {
      const std::string by = fmt::format("{} without GPUDirect RDMA", fmt::join(others, ", "));
      if (const std::string port = near_port(member); port.empty()) {
        add(FindingKind::no_gpudirect, member.rank, by, "the kernel shows no RDMA port below a PCIe switch with its GPU");
      } else {
        add(FindingKind::gpudirect_unused, member.rank, by, fmt::format("{} is below a PCIe switch with its GPU", port));
      }
    }
  }
  std::vector<Finding> findings;
  for (auto& [kind, seen] : found) {
    const std::string brief =
        fmt::format("{} of {} ranks reach other hosts by {}", seen.ranks.size(), members.size(), seen.how);
    findings.push_back({kind,
                        fmt::format("{}; {}: {}", brief, places.describe(seen.ranks.front()), seen.of_first),
                        {},
                        static_cast<double>(seen.ranks.size()),
                        brief,
                        seen.ranks});
  }
  return findings;
}

}  // namespace roofmark
