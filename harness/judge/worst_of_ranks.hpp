// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/finding.hpp"

namespace roofmark {

/// What was found of the ranks of a case: each kind once, of the rank where it is worst, with all ranks that have it.
template <class Kind>
class WorstOfRanks {
 public:
  void add(int rank, const Kind& kind, const Finding& found) {
    const auto [place, is_new] = worst_.try_emplace(kind, found);
    Finding& worst = place->second;
    std::vector<int> ranks = std::move(worst.ranks);
    ranks.push_back(rank);
    if (is_new || found.size > worst.size) {
      worst = found;
      worst.text = fmt::format("rank {}: {}", rank, found.text);
      worst.brief = fmt::format("rank {}: {}", rank, found.brief);
    }
    worst.ranks = std::move(ranks);
  }

  std::vector<Finding> findings(const std::string& case_name) const {
    std::vector<Finding> all;
    for (const auto& [kind, worst] : worst_) {
      Finding& finding = all.emplace_back(worst);
      finding.case_name = case_name;
      if (finding.ranks.size() > 1)
        finding.text += fmt::format("; it is the worst of ranks {}", fmt::join(finding.ranks, ", "));
    }
    return all;
  }

 private:
  std::map<Kind, Finding> worst_;
};

}  // namespace roofmark
