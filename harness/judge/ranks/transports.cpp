// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/transports.hpp"

#include <algorithm>
#include <vector>

namespace roofmark {

bool is_host_memory(std::string_view transport) { return transport.starts_with("SHM/"); }

bool is_network(std::string_view transport) { return transport.starts_with("NET/") || transport.starts_with("COLLNET/"); }

bool is_sockets(std::string_view transport) {
  constexpr std::string_view kSockets = "NET/Socket";
  if (!transport.starts_with(kSockets)) return false;
  return transport.size() == kSockets.size() || transport[kSockets.size()] == ' ' || transport[kSockets.size()] == '/';
}

bool is_gpudirect(std::string_view transport) { return transport.find("/GDRDMA") != std::string_view::npos; }

std::set<int> ranks_between_hosts(const Record& record, const Places& places) {
  std::vector<std::vector<int>> groups = record.message ? record.message->groups.all() : std::vector<std::vector<int>>();
  if (groups.empty()) {
    std::vector<int>& all = groups.emplace_back();
    for (int rank = 0; rank < static_cast<int>(places.ranks()); ++rank) all.push_back(rank);
  }
  std::set<int> ranks;
  for (const std::vector<int>& group : groups) {
    const auto elsewhere = [&](int rank) { return places.host(rank) != places.host(group.front()); };
    if (std::any_of(group.begin(), group.end(), elsewhere)) ranks.insert(group.begin(), group.end());
  }
  return ranks;
}

}  // namespace roofmark
