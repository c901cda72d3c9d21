// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/judge/ranks/series.hpp"

namespace roofmark {

namespace {

constexpr double kSameSize = 0.02;

std::vector<ScalingRow> rows_of(const CaseName& series, const std::vector<const Record*>& records) {
  std::vector<ScalingRow> rows;
  int smallest = std::numeric_limits<int>::max();
  std::set<int> teams;
  for (const Record* record : records) {
    const BusBandwidth bandwidth = *bus_bandwidth(*record);
    rows.push_back({series, record->message->ranks, record->message->bytes, bandwidth.seconds, bandwidth.busbw, {}, {}});
    teams.insert(rows.back().ranks);
    if (rows.back().ranks > 1) smallest = std::min(smallest, rows.back().ranks);
  }
  if (teams.size() < 2) return {};
  std::stable_sort(rows.begin(), rows.end(), [](const ScalingRow& a, const ScalingRow& b) {
    return std::pair(a.ranks, a.bytes) < std::pair(b.ranks, b.bytes);
  });
  const auto efficiency = [&](const ScalingRow& row, double bytes) -> std::optional<double> {
    const ScalingRow* nearest = nullptr;
    const auto distance = [&](const ScalingRow& other) { return std::abs(static_cast<double>(other.bytes) - bytes); };
    for (const ScalingRow& other : rows) {
      if (other.ranks == smallest && (!nearest || distance(other) < distance(*nearest))) nearest = &other;
    }
    if (!nearest || distance(*nearest) > kSameSize * bytes || !row.busbw || !(nearest->busbw > 0.0)) return std::nullopt;
    return *row.busbw / *nearest->busbw;
  };
  for (ScalingRow& row : rows) {
    if (row.ranks < smallest) continue;
    const auto bytes = static_cast<double>(row.bytes);
    row.strong_efficiency = efficiency(row, bytes);
    row.weak_efficiency = efficiency(row, bytes * smallest / row.ranks);
  }
  return rows;
}

}  // namespace

std::vector<ScalingRow> scaling_of(const std::vector<Record>& records) {
  std::vector<ScalingRow> all;
  for (const auto& [name, series] : series_of(records, {"bytes", "ranks"})) {
    for (ScalingRow& row : rows_of(name, series)) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace roofmark
