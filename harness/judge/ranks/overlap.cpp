// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/overlap.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/model/statistics.hpp"

namespace roofmark {

std::vector<Overlap> overlaps_of(const std::vector<Record>& records) {
  using Role = OverlapRole;
  std::vector<CaseName> order;
  std::map<CaseName, std::map<Role, const Summary*>> found;
  for (const Record& record : records) {
    if (!record.overlap || record.status != Status::ok) continue;
    const CaseName series = overlap_series(record);
    if (!found.contains(series)) order.push_back(series);
    found[series][*record.overlap] = &record.measurement->summary;
  }
  std::vector<Overlap> overlaps;
  for (const CaseName& series : order) {
    const auto& parts = found[series];
    if (parts.size() < 3) continue;
    Overlap overlap;
    overlap.series = series;
    overlap.work_seconds = parts.at(Role::work)->median;
    overlap.communication_seconds = parts.at(Role::communication)->median;
    overlap.together_seconds = parts.at(Role::together)->median;
    const bool work_is_longer = overlap.work_seconds >= overlap.communication_seconds;
    const double shorter = std::min(overlap.work_seconds, overlap.communication_seconds);
    overlap.hidden = (overlap.work_seconds + overlap.communication_seconds - overlap.together_seconds) / shorter;
    overlap.covered = shorter / overlap.communication_seconds;
    double square = 0;
    bool known = true;
    for (const auto& [role, summary] : parts) {
      const auto relative = relative_half_width(*summary);
      known = known && relative;
      if (!known) break;
      double half = *relative * summary->median;
      if (role == (work_is_longer ? Role::communication : Role::work)) half *= 1 - overlap.hidden;  // it is the divisor too
      square += half * half;
    }
    if (known) overlap.hidden_half_width = std::sqrt(square) / shorter;
    if (work_is_longer) overlap.slow_down = overlap.together_seconds / overlap.work_seconds - 1;
    overlaps.push_back(std::move(overlap));
  }
  return overlaps;
}

}  // namespace roofmark
