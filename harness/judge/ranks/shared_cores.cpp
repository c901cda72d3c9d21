// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/shared_cores.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <string>

namespace roofmark {

std::vector<Finding> shared_cores(const std::vector<RankInfo>& members) {
  std::map<std::string, std::map<int, std::set<int>>> ranks_by_core;
  for (const RankInfo& member : members) {
    for (const int core : member.cores) ranks_by_core[member.host][core].insert(member.rank);
  }
  std::vector<Finding> findings;
  for (const auto& [host, by_core] : ranks_by_core) {
    std::set<int> ranks, cores;
    for (const auto& [core, users] : by_core) {
      if (users.size() < 2) continue;
      cores.insert(core);
      ranks.insert(users.begin(), users.end());
    }
    if (ranks.empty()) continue;
    const std::string brief =
        fmt::format("{} ranks share {} core{} of {}", ranks.size(), cores.size(), cores.size() == 1 ? "" : "s", host);
    findings.push_back(
        {FindingKind::shared_cores,
         fmt::format("{}: ranks {} may run on the same cores, {}", brief, fmt::join(ranks, ", "), fmt::join(cores, ", ")),
         {},
         static_cast<double>(ranks.size()) / static_cast<double>(cores.size()),
         brief,
         {ranks.begin(), ranks.end()}});
  }
  return findings;
}

}  // namespace roofmark
