// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/findings_of_ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace roofmark {

std::vector<Finding> join_findings(const std::vector<FindingsOfRank>& by_rank) {
  std::vector<std::pair<Finding, std::vector<const RankInfo*>>> found;
  std::set<std::string> hosts;
  for (const auto& [rank, findings] : by_rank) {
    hosts.insert(rank->host);
    for (const Finding& finding : findings) {
      const auto same = [&](const auto& one) {
        return std::tie(one.first.kind, one.first.text, one.first.case_name) ==
               std::tie(finding.kind, finding.text, finding.case_name);
      };
      auto place = std::find_if(found.begin(), found.end(), same);
      if (place == found.end()) place = found.insert(found.end(), {finding, {}});
      if (place->second.empty() || place->second.back() != rank) place->second.push_back(rank);
    }
  }
  std::vector<Finding> all;
  for (auto& [finding, ranks] : found) {
    if (ranks.size() != by_rank.size()) {
      std::vector<std::string> names;
      for (const RankInfo* rank : ranks) {
        names.push_back(hosts.size() > 1 ? fmt::format("{} of {}", rank->device_id, rank->host) : rank->device_id);
        finding.ranks.push_back(rank->rank);
      }
      for (std::string* text : {&finding.text, &finding.brief}) {
        if (!text->empty()) *text = fmt::format("{}: {}", fmt::join(names, ", "), *text);
      }
    }
    all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace roofmark
