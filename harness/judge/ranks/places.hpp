// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
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
  /// The two ranks communicate without the network: they are on one host, or in one NVLink domain.
  bool linked(const std::pair<int, int>& pair) const;
  /// "within a host", "between hosts"; with NVLink domains if one spans several hosts.
  std::string kind(bool linked) const;
  /// "rank 3 (node1)"
  std::string describe(int rank) const;

 private:
  struct Place {
    std::string host;
    std::size_t domain = 0;
  };
  std::map<int, Place> ranks_;
  std::map<std::string, int> on_host_;
  bool domains_span_hosts_ = false;
};

}  // namespace roofmark
