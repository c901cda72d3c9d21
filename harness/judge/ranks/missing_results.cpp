// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/missing_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace roofmark {

namespace {

/// Every rank ran it for itself: of what ranks do together, some have no times.
bool side_by_side(const Record& record) {
  return record.status == Status::ok && !record.message && !record.overlap && record.measurement->ranks.size() > 1;
}

}  // namespace

bool lacks_result(const Record& record, std::size_t rank) {
  return side_by_side(record) && rank < record.measurement->ranks.size() && !record.measurement->ranks[rank];
}

std::string note_of_rank(int rank) { return fmt::format("rank {}", rank); }

std::vector<Finding> missing_results(const std::vector<Record>& records, const Places& places) {
  std::map<int, std::vector<const Record*>> lacking;
  int cases = 0;
  for (const Record& record : records) {
    if (!side_by_side(record)) continue;
    ++cases;
    for (std::size_t rank = 0; rank < record.measurement->ranks.size(); ++rank) {
      if (lacks_result(record, rank)) lacking[static_cast<int>(rank)].push_back(&record);
    }
  }
  std::vector<Finding> findings;
  for (const auto& [rank, lacks] : lacking) {
    const Record& first = *lacks.front();
    const auto why = std::find_if(first.notes.begin(), first.notes.end(),
                                  [&, key = note_of_rank(rank)](const auto& note) { return note.first == key; });
    findings.push_back(
        {FindingKind::missing_result,
         fmt::format("{}: no result in {} of {} cases that other ranks measured: {}{}{}", places.describe(rank), lacks.size(),
                     cases, first.name(), why == first.notes.end() ? "" : fmt::format(" ({})", why->second),
                     lacks.size() > 1 ? ", ..." : ""),
         {},
         static_cast<double>(lacks.size()),
         fmt::format("{} has no result in {} of {} cases", places.describe(rank), lacks.size(), cases),
         {rank}});
  }
  return findings;
}

}  // namespace roofmark
