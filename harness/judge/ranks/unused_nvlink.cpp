// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/unused_nvlink.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/transports.hpp"

namespace roofmark {

namespace {

bool belongs_on_nvlink(const Record& record) { return record.work.total(resource::nvlink) > 0 && !record.transports.empty(); }

bool has_network(const Record& record) {
  return record.work.total(resource::network) > 0 || record.work.total(resource::network_of_rank) > 0;
}

/// The ranks that go another way, and what they go by.
struct Astray {
  std::set<int> ranks;
  std::set<std::string> ways;
};

/// "node1 and 3 more"
std::string first_of(const std::set<std::string>& names) {
  return names.size() > 1 ? fmt::format("{} and {} more", *names.begin(), names.size() - 1) : *names.begin();
}

Finding finding_of(const Astray& astray, const std::vector<RankInfo>& members, bool between_hosts) {
  std::set<std::string> hosts, domains;
  std::vector<int> ranks;
  for (const RankInfo& member : members) {
    if (!astray.ranks.contains(member.rank)) continue;
    ranks.push_back(member.rank);
    hosts.insert(member.host);
    domains.insert(member.nvlink_domain);
  }
  const std::string where = hosts.empty()   ? "GPUs"
                            : between_hosts ? fmt::format("GPUs of NVLink domain {}", first_of(domains))
                                            : fmt::format("GPUs of {}", first_of(hosts));
  const std::string brief = fmt::format("{} reach {} by {}, not by NVLink", where, between_hosts ? "other hosts" : "each other",
                                        fmt::join(astray.ways, ", "));
  return {
      FindingKind::nvlink_unused, brief + ", which connects them", {}, static_cast<double>(astray.ranks.size()), brief, ranks};
}

}  // namespace

bool tells_nvlink(const std::vector<Record>& records) { return std::any_of(records.begin(), records.end(), belongs_on_nvlink); }

std::vector<Finding> find_unused_nvlink(const std::vector<Record>& records, const std::vector<RankInfo>& members) {
  const Places places(members);
  Astray within, between;
  for (const Record& record : records) {
    if (!belongs_on_nvlink(record)) continue;
    const std::set<int> over_hosts = ranks_between_hosts(record, places);
    for (const auto& [transport, ranks] : record.transports) {
      const bool by_network = is_network(transport) && !has_network(record);
      if (!by_network && !is_host_memory(transport)) continue;
      for (const int rank : ranks) {
        Astray& astray = by_network && over_hosts.contains(rank) ? between : within;
        astray.ranks.insert(rank);
        astray.ways.insert(transport);
      }
    }
  }
  std::vector<Finding> findings;
  if (!within.ranks.empty()) findings.push_back(finding_of(within, members, false));
  if (!between.ranks.empty()) findings.push_back(finding_of(between, members, true));
  return findings;
}

}  // namespace roofmark
