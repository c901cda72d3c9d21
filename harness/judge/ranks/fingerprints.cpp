// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/fingerprints.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>

namespace roofmark {

std::vector<Finding> differing_fingerprints(const std::vector<Record>& records, const Places& places) {
  std::vector<Finding> findings;
  constexpr std::size_t shown = 3;
  std::map<int, std::vector<std::string>> cases;
  int compared = 0;
  bool majority = true;
  for (const Record& record : records) {
    if (!record.fingerprint) continue;
    const std::vector<int>& differing = record.fingerprint->differing_ranks;
    if (record.fingerprint->deterministic || !differing.empty()) ++compared;
    majority = majority && 2 * differing.size() < places.ranks();
    for (const int rank : differing) cases[rank].push_back(record.name());
  }
  for (const auto& [rank, names] : cases) {
    const std::size_t listed = std::min(names.size(), shown);
    const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(listed));
    findings.push_back({FindingKind::fingerprint,
                        fmt::format("{}: bits differ from {} in {} of {} cases, which points to silent data corruption: {}{}",
                                    places.describe(rank), majority ? "most ranks" : "other ranks (any may be wrong)",
                                    names.size(), compared, fmt::join(first, ", "), names.size() > listed ? ", ..." : ""),
                        {},
                        static_cast<double>(names.size()),
                        fmt::format("the bits of {} differ in {} of {} cases", places.describe(rank), names.size(), compared),
                        {rank}});
  }
  return findings;
}

}  // namespace roofmark
