// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/host_networks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/judge/network_health.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

/// The RDMA ports that a host should give its collectives.
struct Equipment {
  std::string kind;
  double bytes_per_second = 0;  ///< of each
  std::size_t ports = 0;

  double together() const { return bytes_per_second * static_cast<double>(ports); }
  std::string in_words() const {
    if (ports == 0) return "no RDMA port that is up";
    return fmt::format("{} port{} of {} {}", ports, ports == 1 ? "" : "s", format_link_rate(bytes_per_second), kind);
  }
  auto operator<=>(const Equipment&) const = default;
};

/// Absent of a host without RDMA ports, or whose ports are not all alike. None where none is up.
std::optional<Equipment> equipment_of(const RankInfo& member) {
  if (!member.port_faults) return std::nullopt;
  if (std::none_of(member.nics.begin(), member.nics.end(), [](const Nic& nic) { return nic.is_rdma(); })) return Equipment();
  const std::vector<Nic> counted = ports_of_collectives(member.nics, member.nccl_ib_hca).counted;
  if (counted.empty() || !counted.front().bytes_per_second) return std::nullopt;
  const Nic& first = counted.front();
  const bool alike = std::all_of(counted.begin(), counted.end(), [&](const Nic& nic) {
    return nic.kind == first.kind && nic.bytes_per_second == first.bytes_per_second;
  });
  if (!alike) return std::nullopt;
  const auto missing = std::count_if(member.port_faults->begin(), member.port_faults->end(), [&](const PortFault& fault) {
    return fault.kind == first.kind && fault.bytes_per_second == first.bytes_per_second;
  });
  return Equipment{first.kind, *first.bytes_per_second, counted.size() + static_cast<std::size_t>(missing)};
}

/// What at least half of them have; of as many, the more.
std::optional<Equipment> common_to(const std::vector<Equipment>& hosts) {
  std::map<Equipment, std::size_t> counts;
  for (const Equipment& one : hosts) ++counts[one];
  if (counts.empty()) return std::nullopt;
  const auto most = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first.together()) < std::pair(b.second, b.first.together());
  });
  return most->second * 2 >= hosts.size() ? std::optional(most->first) : std::nullopt;
}

Finding about(const std::string& host, const std::vector<int>& ranks, Finding finding) {
  finding.text = fmt::format("{}: {}", host, finding.text);
  finding.brief = fmt::format("{}: {}", host, finding.brief);
  finding.ranks = ranks;
  return finding;
}

const RankInfo& first_of(const std::vector<RankInfo>& members, const std::vector<int>& ranks) {
  return *std::find_if(members.begin(), members.end(), [&](const RankInfo& one) { return one.rank == ranks.front(); });
}

struct Setting {
  const char* what;
  const char* advice;
  std::string (*of)(const PortSettings& settings);
  bool by_series = false;  ///< comparable only where equal up to the first point: NVIDIA's firmware for ConnectX-7 is 28.x
};
constexpr Setting kSettings[] = {
    {"network firmware", "NICs of one run should have one firmware: update the older ones",
     [](const PortSettings& settings) { return settings.firmware; }, true},
    {"network partition key",
     "ports in different partitions of an InfiniBand fabric cannot reach each other, and a collective hangs",
     [](const PortSettings& settings) { return settings.partition_key; }},
    {"network MTU", "packets that are longer than the other end takes are cut or lost: set one MTU on all hosts and switches",
     [](const PortSettings& settings) { return settings.mtu ? fmt::format("{} bytes", *settings.mtu) : std::string(); }},
};

/// Of hosts whose ports differ in one, a row.
std::vector<Circumstance> differing_settings(const std::vector<RankInfo>& members) {
  std::vector<Circumstance> rows;
  for (const Setting& setting : kSettings) {
    using Alike = std::pair<std::string, std::string>;                          // kind and series
    std::map<Alike, std::map<std::string, std::vector<std::string>>> hosts_of;  // by the value
    for (const std::vector<int>& ranks : ranks_by_host(members)) {
      const RankInfo& first = first_of(members, ranks);
      std::set<std::pair<Alike, std::string>> own;
      for (const Nic& nic : ports_of_collectives(first.nics, first.nccl_ib_hca).counted) {
        const std::string value = setting.of(nic.settings);
        const std::string series = setting.by_series ? value.substr(0, value.find('.')) : "";
        if (!value.empty()) own.emplace(Alike(nic.kind, series), value);
      }
      for (const auto& [alike, value] : own) hosts_of[alike][value].push_back(first.host);
    }
    for (const auto& [alike, hosts] : hosts_of) {
      if (hosts.size() < 2) continue;
      std::vector<std::string> words;
      for (const auto& [value, names] : hosts) {
        const std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
        words.push_back(fmt::format("{} on {}{}", value, names.front(), more));
      }
      rows.push_back({setting.what, fmt::format("{}: {}", alike.first, fmt::join(words, ", ")), setting.advice});
    }
  }
  return rows;
}

}  // namespace

std::vector<Finding> find_network_faults(const std::vector<RankInfo>& members) {
  std::vector<Finding> findings;
  const std::vector<std::vector<int>> hosts = ranks_by_host(members);
  std::map<std::string, std::vector<Equipment>> by_model;
  for (const std::vector<int>& ranks : hosts) {
    const RankInfo& first = first_of(members, ranks);
    if (const auto own = equipment_of(first)) by_model[first.device_name].push_back(*own);
    for (Finding& finding : find_port_faults(first.port_faults.value_or(std::vector<PortFault>()))) {
      findings.push_back(about(first.host, ranks, std::move(finding)));
    }
  }
  for (const std::vector<int>& ranks : hosts) {
    const RankInfo& first = first_of(members, ranks);
    const std::optional<Equipment> own = equipment_of(first);
    if (!own) continue;
    const std::vector<Equipment>& alike = by_model[first.device_name];
    const std::optional<Equipment> common = common_to(alike);
    const bool is_comparable = common && (own->kind == common->kind || own->ports == 0);
    if (!is_comparable || own->together() >= common->together()) continue;
    const auto have = std::count(alike.begin(), alike.end(), *common);
    const std::string text = fmt::format("it has {}, {} other host{} of the run {} {}", own->in_words(), have,
                                         have == 1 ? "" : "s", have == 1 ? "has" : "have", common->in_words());
    findings.push_back(
        about(first.host, ranks, {FindingKind::network_ports, text, {}, 1 - own->together() / common->together(), text}));
  }
  return findings;
}

std::vector<Circumstance> networks_health(const std::vector<RankInfo>& members) {
  std::vector<Circumstance> rows;
  for (const std::vector<int>& ranks : ranks_by_host(members)) {
    const RankInfo& first = first_of(members, ranks);
    HostNetwork network;
    network.nics = first.nics;
    network.nccl_ib_hca = first.nccl_ib_hca;
    network.hung = first.network_hung;
    network.faults = first.port_faults.value_or(std::vector<PortFault>());
    auto row = network_health(network);
    if (!row || (first.rank != 0 && row->advice.empty())) continue;
    if (first.rank != 0) row->rank = first.rank;
    rows.push_back(*std::move(row));
  }
  for (Circumstance& row : differing_settings(members)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace roofmark
