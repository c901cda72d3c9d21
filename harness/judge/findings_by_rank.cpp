// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/findings_by_rank.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace roofmark {

void FindingsByRank::add(std::optional<int> rank, const Finding& one, const std::string& reason, double share) {
  const auto same = [&](const Found& other) { return other.finding.kind == one.kind && other.reason == reason; };
  auto place = std::find_if(found_.begin(), found_.end(), same);
  const bool is_new = place == found_.end();
  if (is_new) place = found_.insert(found_.end(), {{one.kind, {}, case_name_}, reason, share});
  Finding& worst = place->finding;
  if (rank) worst.ranks.push_back(*rank);
  if (!is_new && std::pair(one.size, share) <= std::pair(worst.size, place->share)) return;
  place->share = share;
  const std::string whose = rank ? fmt::format("rank {}: ", *rank) : "";
  worst.size = one.size;
  worst.text = whose + one.text;
  worst.brief = one.brief.empty() ? "" : whose + one.brief;
}

void FindingsByRank::move_to(std::vector<Finding>& findings) {
  constexpr std::size_t kNamed = 16;
  for (auto& [finding, reason, share] : found_) {
    const std::vector<int>& ranks = finding.ranks;
    if (ranks.size() > kNamed) {
      finding.text += fmt::format("; it is the worst of {} ranks", ranks.size());
    } else if (ranks.size() > 1) {
      finding.text += fmt::format("; it is the worst of ranks {}", fmt::join(ranks, ", "));
    }
    findings.push_back(std::move(finding));
  }
  found_.clear();
}

}  // namespace roofmark
