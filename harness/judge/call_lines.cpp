// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/call_lines.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

constexpr std::size_t kLeastPoints = 3;

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

struct Series {
  CaseName name;
  std::string key;
  std::map<double, double> seconds;  ///< by the key's value
};

bool is_straight(const CallLine& line) { return line.r2.value_or(1) >= kLeastR2; }

/// The two lines on which the cases of a comparison lie, for the same count; null where there are none.
std::pair<CallLine*, CallLine*> compared(std::vector<CallLine>& lines, const std::vector<Record>& records,
                                         const Comparison& comparison) {
  const auto record_of = [&](const CaseName& name) {
    return std::find_if(records.begin(), records.end(), [&](const Record& record) { return same_case(record, name); });
  };
  const auto one = record_of(comparison.numerator), other = record_of(comparison.denominator);
  if (one == records.end() || other == records.end()) return {};
  const auto line_of = [&](const Record& record, const std::string& key) {
    const CaseName name = name_without(record, {key});
    const auto found =
        std::find_if(lines.begin(), lines.end(), [&](const CallLine& line) { return line.series == name && line.key == key; });
    return found == lines.end() ? nullptr : &*found;
  };
  for (const auto& [key, value] : one->shape) {
    CallLine* const first = line_of(*one, key);
    CallLine* const second = line_of(*other, key);
    if (first && second && first != second) return {first, second};
  }
  return {};
}

}  // namespace

std::vector<CallLine> call_lines(const std::vector<Record>& records, const std::vector<Comparison>& comparisons) {
  std::vector<Series> all;
  for (const Record& record : records) {
    // Collectives have fits of their own; of one rank, or of ranks on one GPU, they have no work.
    if (record.status != Status::ok || record.message) continue;
    // What the device does by itself has work, except where it only costs.
    if (record.measurement->timed == Timed::device && !record.work.phases.empty()) continue;
    for (const auto& [key, value] : record.shape) {
      if (!is_number(value)) continue;
      const CaseName name = name_without(record, {key});
      const auto same = [&, &key = key](const Series& series) { return series.name == name && series.key == key; };
      auto place = std::find_if(all.begin(), all.end(), same);
      if (place == all.end()) place = all.insert(all.end(), {name, key, {}});
      place->seconds[std::stod(value)] = record.measurement->summary.median;
    }
  }
  std::vector<CallLine> lines;
  for (const Series& series : all) {
    if (series.seconds.size() < kLeastPoints) continue;
    std::vector<double> x, y;
    for (const auto& [count, seconds] : series.seconds) {
      x.push_back(count);
      y.push_back(seconds);
    }
    const auto line = fit_line_relative(x, y, 0);  // no call takes less than none
    if (!line) continue;
    CallLine made{series.name, series.key, line->intercept, line->slope, line->r2, static_cast<int>(x.size())};
    made.least = x.front();
    made.most = x.back();
    lines.push_back(std::move(made));
  }
  for (const Comparison& comparison : comparisons) {
    auto [steep, flat] = compared(lines, records, comparison);
    if (!steep || !is_straight(*steep) || !is_straight(*flat)) continue;
    if (steep->each_seconds < flat->each_seconds) std::swap(steep, flat);
    // Slopes of lines through a few points are not known better.
    constexpr double kUnlike = 1.02;
    if (!(steep->each_seconds > kUnlike * flat->each_seconds) || flat->faster_from) continue;
    const double crossing = (flat->fixed_seconds - steep->fixed_seconds) / (steep->each_seconds - flat->each_seconds);
    if (crossing > std::min(steep->most, flat->most)) continue;
    flat->than = steep->series;
    // Below the least count that was measured nothing is known of the crossing, but that it lies there.
    flat->faster_from = crossing > 0 ? std::max(crossing, std::max(steep->least, flat->least)) : 0;
  }
  return lines;
}

}  // namespace roofmark
