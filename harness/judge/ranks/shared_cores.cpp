// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/shared_cores.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace roofmark {

namespace {

std::vector<Finding> shared_by_ranks(const std::vector<RankInfo>& members) {
  std::map<std::string, std::map<int, std::set<int>>> ranks_by_core;
  for (const RankInfo& member : members) {
    if (!member.uuid.empty()) continue;
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

/// Ranks of GPUs with too few cores for themselves and NCCL's threads.
std::vector<Finding> too_few(const std::vector<RankInfo>& members) {
  constexpr std::size_t kLeast = 3;
  if (ranks_by_host(members).size() < 2) return {};
  std::vector<const RankInfo*> few;
  for (const RankInfo& member : members) {
    const std::size_t least = std::min(kLeast, static_cast<std::size_t>(member.host_cores));
    if (!member.uuid.empty() && !member.cores.empty() && member.cores.size() < least) few.push_back(&member);
  }
  if (few.empty()) return {};
  const RankInfo& first = *few.front();
  const std::string brief =
      fmt::format("{} of {} ranks may use fewer than {} cores of their hosts", few.size(), members.size(), kLeast);
  std::vector<int> ranks;
  for (const RankInfo* member : few) ranks.push_back(member->rank);
  return {{FindingKind::shared_cores,
           fmt::format("{}: NCCL's threads share them with the rank's own; rank {} ({}) has core{} {} of {}", brief, first.rank,
                       first.host, first.cores.size() == 1 ? "" : "s", fmt::join(first.cores, ", "), first.host_cores),
           {},
           static_cast<double>(few.size()),
           brief,
           std::move(ranks)}};
}

}  // namespace

std::vector<Finding> shared_cores(const std::vector<RankInfo>& members) {
  std::vector<Finding> findings = shared_by_ranks(members);
  for (Finding& finding : too_few(members)) findings.push_back(std::move(finding));
  return findings;
}

bool ranks_take_turns(const std::vector<RankInfo>& members) { return !shared_by_ranks(members).empty(); }

}  // namespace roofmark
