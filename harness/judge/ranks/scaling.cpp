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

/// A row, and the bytes of a rank's part.
struct Measured {
  ScalingRow row;
  double part = 0;
};

std::vector<ScalingRow> rows_of(const CaseName& series, const std::vector<const Record*>& records) {
  std::vector<Measured> all;
  int smallest = std::numeric_limits<int>::max();
  std::set<int> teams;
  bool of_parts = false;
  for (const Record* record : records) {
    const BusBandwidth bandwidth = *bus_bandwidth(*record);
    const Message& message = *record->message;
    const auto part = static_cast<double>(message.count * size_of(record->type));
    all.push_back({{series, message.ranks, message.bytes, bandwidth.seconds, bandwidth.busbw, {}, {}}, part});
    teams.insert(message.ranks);
    if (message.ranks > 1) smallest = std::min(smallest, message.ranks);
    of_parts |= part < (1 - kSameSize) * static_cast<double>(message.bytes);
  }
  if (teams.size() < 2) return {};
  std::stable_sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) {
    return std::pair(a.row.ranks, a.row.bytes) < std::pair(b.row.ranks, b.row.bytes);
  });
  const auto efficiency = [&](const ScalingRow& row, double amount, const auto& amount_of) -> std::optional<double> {
    const Measured* nearest = nullptr;
    const auto distance = [&](const Measured& other) { return std::abs(amount_of(other) - amount); };
    for (const Measured& other : all) {
      if (other.row.ranks == smallest && (!nearest || distance(other) < distance(*nearest))) nearest = &other;
    }
    if (!nearest || distance(*nearest) > kSameSize * amount || !row.busbw || !(nearest->row.busbw > 0.0)) return std::nullopt;
    return *row.busbw / *nearest->row.busbw;
  };
  const auto size = [](const Measured& one) { return static_cast<double>(one.row.bytes); };
  const auto part = [](const Measured& one) { return one.part; };
  std::vector<ScalingRow> rows;
  for (const Measured& one : all) {
    ScalingRow& row = rows.emplace_back(one.row);
    if (row.ranks < smallest) continue;
    if (of_parts) row.strong_efficiency = efficiency(row, size(one), size);
    row.weak_efficiency = efficiency(row, one.part, part);
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
