// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/overlap.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "harness/model/statistics.hpp"

namespace roofmark {

std::vector<Overlap> overlaps_of(const std::vector<Record>& records) {
  using Role = OverlapRole;
  std::vector<CaseName> order;
  std::map<CaseName, std::map<Role, const Measurement*>> found;
  for (const Record& record : records) {
    if (!record.overlap || record.status != Status::ok) continue;
    const CaseName series = overlap_series(record);
    if (!found.contains(series)) order.push_back(series);
    found[series][*record.overlap] = &*record.measurement;
  }
  std::vector<Overlap> overlaps;
  for (const CaseName& series : order) {
    const auto& parts = found[series];
    if (parts.size() < 3) continue;
    Overlap overlap;
    overlap.series = series;
    const auto& work = *parts.at(Role::work);
    const auto& communication = *parts.at(Role::communication);
    const auto& together = *parts.at(Role::together);
    overlap.work_seconds = work.summary.median;
    overlap.communication_seconds = communication.summary.median;
    overlap.together_seconds = together.summary.median;
    const bool work_is_longer = overlap.work_seconds >= overlap.communication_seconds;
    const auto hidden = [&](const std::vector<double>& seconds) {
      return (seconds[0] + seconds[1] - seconds[2]) / seconds[work_is_longer ? 1 : 0];
    };
    const std::vector<double> medians = {overlap.work_seconds, overlap.communication_seconds, overlap.together_seconds};
    const double shorter = medians[work_is_longer ? 1 : 0];
    overlap.hidden = hidden(medians);
    overlap.covered = shorter / overlap.communication_seconds;
    // The blocks of different devices are no pairs.
    if (work.of_rank == communication.of_rank && work.of_rank == together.of_rank) {
      const std::vector<double> by_blocks = by_block({&work.samples, &communication.samples, &together.samples}, hidden);
      if (by_blocks.size() >= 2) {
        overlap.hidden = std::accumulate(by_blocks.begin(), by_blocks.end(), 0.0) / static_cast<double>(by_blocks.size());
        double steps = 0;
        for (const Measurement* part : {&work, &communication, &together}) {
          const bool divides = part == (work_is_longer ? &communication : &work);
          steps += half_step(part->samples) * part->summary.median / shorter * (divides ? std::abs(1 - overlap.hidden) : 1);
        }
        overlap.hidden_half_width = std::max(half_interval(by_blocks), steps);
      }
    }
    if (work_is_longer) overlap.slow_down = overlap.together_seconds / overlap.work_seconds - 1;
    overlaps.push_back(std::move(overlap));
  }
  return overlaps;
}

}  // namespace roofmark
