// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/places.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofmark {

Places::Places(const std::vector<RankInfo>& members) {
  for (const RankInfo& member : members) {
    Place& place = ranks_[member.rank];
    place.host = member.host;
    place.port = member.root_port;
    place.numa_node = member.numa_node;
    ++on_host_[member.host];
  }
  for (const auto& [host, ranks] : on_host_) ++hosts_with_[ranks];
  const std::vector<std::vector<int>> domains = ranks_by_domain(members);
  for (std::size_t domain = 0; domain < domains.size(); ++domain) {
    for (const int rank : domains[domain]) ranks_[rank].domain = domain;
  }
  domains_span_hosts_ = domains.size() < on_host_.size();
  std::vector<int> all;
  for (const auto& [rank, place] : ranks_) all.push_back(rank);
  const std::vector<std::vector<int>> groups = NvlinkMap(members).groups_of(all);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (groups[group].size() < 2) continue;
    for (const int rank : groups[group]) ranks_[rank].nvlink_group = static_cast<int>(group);
  }
}

std::string Places::host(int rank) const {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? std::string() : found->second.host;
}

bool Places::host_has_several(const std::string& host) const { return ranks_on(host) > 1; }

bool Places::any_host_has_several() const {
  return std::any_of(on_host_.begin(), on_host_.end(), [](const auto& host) { return host.second > 1; });
}

std::vector<int> Places::ranks_of(const std::string& host) const {
  std::vector<int> ranks;
  for (const auto& [rank, place] : ranks_) {
    if (place.host == host) ranks.push_back(rank);
  }
  return ranks;
}

int Places::ranks_on(const std::string& host) const {
  const auto found = on_host_.find(host);
  return found == on_host_.end() ? 0 : found->second;
}

bool Places::has_as_many_as_most(const std::string& host) const {
  return 2 * hosts_with_.at(on_host_.at(host)) >= on_host_.size();
}

bool Places::linked(const std::pair<int, int>& pair) const {
  const auto a = ranks_.find(pair.first), b = ranks_.find(pair.second);
  if (a == ranks_.end() || b == ranks_.end()) return a == b;
  return a->second.domain == b->second.domain;
}

Places::Way Places::way(const std::pair<int, int>& pair) const {
  if (!linked(pair)) return Way::network;
  const auto a = ranks_.find(pair.first), b = ranks_.find(pair.second);
  if (a == ranks_.end() || b == ranks_.end()) return Way::host;
  const Place &one = a->second, &other = b->second;
  if (one.nvlink_group >= 0 && one.nvlink_group == other.nvlink_group) return Way::nvlink;
  if (one.host != other.host) return Way::host;
  if (!one.port.empty() && one.port == other.port) return Way::pcie_port;
  return one.numa_node && one.numa_node == other.numa_node ? Way::numa_node : Way::host;
}

std::string Places::port(int rank) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || found->second.port.empty()) return {};
  return found->second.host + " " + found->second.port;
}

std::string Places::node(int rank) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || !found->second.numa_node) return {};
  return fmt::format("{} node {}", found->second.host, *found->second.numa_node);
}

std::string Places::kind(bool linked, const std::string& which_hosts) const {
  if (!domains_span_hosts_) return linked ? "within a host" : "between hosts" + which_hosts;
  if (linked) return "within an NVLink domain";
  return which_hosts.empty() ? "between NVLink domains" : "between NVLink domains, of hosts" + which_hosts + ",";
}

std::string Places::describe(int rank) const {
  const std::string on = host(rank);
  return on.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, on);
}

}  // namespace roofmark
