// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/team/rank_info.hpp"

namespace roofmark {

/// Host and NVLink domain of each rank. An unknown rank has no place.
class Places {
 public:
  explicit Places(const std::vector<RankInfo>& members);

  std::string host(int rank) const;
  bool host_has_several(const std::string& host) const;
  bool any_host_has_several() const;
  std::size_t ranks() const { return ranks_.size(); }
  std::size_t hosts() const { return on_host_.size(); }
  std::vector<int> ranks_of(const std::string& host) const;
  int ranks_on(const std::string& host) const;
  bool all_hosts_have(int ranks) const { return hosts_with_.size() == 1 && hosts_with_.contains(ranks); }
  /// At least half of the hosts have as many ranks as this one.
  bool has_as_many_as_most(const std::string& host) const;
  /// The two ranks communicate without the network: they are on one host, or in one NVLink domain.
  bool linked(const std::pair<int, int>& pair) const;
  /// What a pair communicates by. Pairs of one way, and of one number of pairs at once, can be compared.
  enum class Way { network, nvlink, pcie_port, numa_node, host };
  Way way(const std::pair<int, int>& pair) const;
  /// The port of the host below which a switch connects the rank's GPU; empty: none, or unknown.
  std::string port(int rank) const;
  /// The NUMA node that the rank is on; empty if unknown.
  std::string node(int rank) const;
  /// "within a host", "between hosts"; with NVLink domains if one spans several hosts. `which_hosts`: " with 4 ranks".
  std::string kind(bool linked, const std::string& which_hosts = {}) const;
  /// "rank 3 (node1)"
  std::string describe(int rank) const;

 private:
  struct Place {
    std::string host;
    std::size_t domain = 0;
    int nvlink_group = -1;  ///< of ranks that NVLink connects; -1: alone
    std::string port;
    std::optional<int> numa_node;
  };
  std::map<int, Place> ranks_;
  std::map<std::string, int> on_host_;
  std::map<int, std::size_t> hosts_with_;  ///< by number of ranks
  bool domains_span_hosts_ = false;
};

}  // namespace roofmark
