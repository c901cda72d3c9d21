// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ladder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "harness/judge/sm_latency.hpp"
#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

/// No plateau is flatter: the share of hits in the level below changes with the size.
constexpr double kLeastError = 0.04;
/// One late block makes an interval of the blocks' medians as wide as it likes, and the median of the samples stays where it
/// is.
constexpr double kMostError = 0.2;
// Two points are a level where they differ by up to 2.2 errors (9 %); of three or more each may differ by more.
constexpr double kLevel = 20, kBetween = 11.25;
constexpr double kLeastRise = 1.1;
/// So much flatter than the rise to the points beside it: parts of a ramp are no plateaus.
constexpr double kFlatter = 2;

struct Range {
  std::size_t first, last;
};

/// The points of a range as one level.
struct Plateau {
  double cost = std::numeric_limits<double>::infinity();
  double centre = 0;  ///< log of its latency
};

/// The change of the logarithms from one point to the next, between the medians of the range's halves.
double slope_of(const std::vector<double>& logs) {
  const auto half = static_cast<std::ptrdiff_t>(logs.size() / 2);
  const double lower = median({logs.begin(), logs.begin() + half}), upper = median({logs.end() - half, logs.end()});
  const std::size_t apart = logs.size() - logs.size() / 2;
  return std::abs(upper - lower) / static_cast<double>(apart);
}

/// It rises by less than levels differ, and is flatter than the rises to the points beside it.
bool is_flat(const std::vector<LadderPoint>& points, Range range, double slope) {
  if (slope * static_cast<double>(range.last - range.first) >= std::log(kLeastRise)) return false;
  const auto rise = [&](std::size_t below) { return std::abs(std::log(points[below + 1].seconds / points[below].seconds)); };
  const bool above = range.last + 1 >= points.size() || rise(range.last) >= kFlatter * slope;
  return above && (range.first == 0 || rise(range.first - 1) >= kFlatter * slope);
}

Plateau plateau_of(const std::vector<LadderPoint>& points, Range range) {
  std::vector<double> logs;
  for (std::size_t i = range.first; i <= range.last; ++i) logs.push_back(std::log(points[i].seconds));
  Plateau made{kLevel, median(logs)};
  std::size_t outliers = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double deviation =
        (logs[i] - made.centre) / std::clamp(points[range.first + i].relative_error, kLeastError, kMostError);
    const bool outlier = deviation * deviation >= kBetween;
    // A level that could end in outliers would have no end.
    if (outlier && (i == 0 || i + 1 == logs.size())) return {};
    outliers += outlier;
    made.cost += std::min(deviation * deviation, kBetween);
  }
  return 2 * outliers < logs.size() && is_flat(points, range, slope_of(logs)) ? made : Plateau{};
}

/// The cheapest partition by dynamic programming: best[last][first] is the least cost of the points up to `last` where
/// [first, last] is a level.
std::vector<Range> cheapest_levels(const std::vector<LadderPoint>& points) {
  struct Best {
    Plateau plateau;
    double cost = std::numeric_limits<double>::infinity();
    std::optional<Range> before;
  };
  const std::size_t n = points.size();
  std::vector<std::vector<Best>> best(n);
  double least = kBetween * static_cast<double>(n);
  std::optional<Range> end;
  for (std::size_t last = 1; last < n; ++last) {
    best[last].resize(last);
    for (std::size_t first = 0; first < last; ++first) {
      Best& made = best[last][first];
      made.plateau = plateau_of(points, {first, last});
      made.cost = made.plateau.cost + kBetween * static_cast<double>(first);
      for (std::size_t l = 1; l < first; ++l) {
        const double rest = kBetween * static_cast<double>(first - l - 1) + made.plateau.cost;
        for (std::size_t f = 0; f < l; ++f) {
          const Best& before = best[l][f];
          if (before.cost + rest >= made.cost || made.plateau.centre - before.plateau.centre < std::log(kLeastRise)) continue;
          made.cost = before.cost + rest;
          made.before = Range{f, l};
        }
      }
      const double all = made.cost + kBetween * static_cast<double>(n - 1 - last);
      if (all < least) {
        least = all;
        end = Range{first, last};
      }
    }
  }
  std::vector<Range> ranges;
  for (; end; end = best[end->last][end->first].before) ranges.push_back(*end);
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

LadderLevel level_of(const std::vector<LadderPoint>& points, Range range) {
  LadderLevel level;
  std::vector<double> seconds, cycles;
  for (std::size_t i = range.first; i <= range.last; ++i) {
    const LadderPoint& point = points[i];
    seconds.push_back(point.seconds);
    if (point.clock_hz) cycles.push_back(*point.cycles());
  }
  level.resource = points[range.last].resource;
  level.smallest_bytes = points[range.first].bytes;
  level.largest_bytes = points[range.last].bytes;
  if (range.last + 1 < points.size()) level.beyond_bytes = points[range.last + 1].bytes;
  level.points = static_cast<int>(seconds.size());
  level.seconds = median(std::move(seconds));
  if (!cycles.empty()) level.cycles = median(std::move(cycles));
  return level;
}

std::optional<LadderPoint> point_of(const Record& record) {
  const std::optional<AccessLatency> latency = access_latency(record);
  const std::string bytes = value_of(record.shape, "bytes");
  if (!latency || bytes.empty() || !value_of(record.shape, kSmKey).empty() || record.measurement->background) return {};
  LadderPoint point{*latency, std::stoull(bytes), 0};
  if (const auto half_width = relative_half_width(record.measurement->summary)) {
    const auto blocks = static_cast<int>(record.measurement->blocks.size());
    point.relative_error = *half_width / (blocks > 1 ? student_t(blocks - 1) : 2);
  }
  return point;
}

}  // namespace

std::vector<LadderLevel> levels_of(const std::vector<LadderPoint>& points) {
  std::vector<LadderLevel> levels;
  std::map<std::string, int> steps;
  const std::vector<Range> ranges = points.size() == 1 ? std::vector<Range>{{0, 0}} : cheapest_levels(points);
  for (const Range& range : ranges) {
    levels.push_back(level_of(points, range));
    levels.back().step = ++steps[levels.back().resource];
  }
  return levels;
}

std::vector<Ladder> ladders_of(const std::vector<Record>& records) {
  std::vector<Ladder> ladders;
  for (const Record& record : records) {
    const std::optional<LadderPoint> point = point_of(record);
    if (!point) continue;
    const CaseName series = name_without(record, {"bytes", "stride"});
    auto ladder = std::find_if(ladders.begin(), ladders.end(), [&](const Ladder& other) { return other.series == series; });
    if (ladder == ladders.end()) ladder = ladders.insert(ladders.end(), {series, {}, {}});
    ladder->points.push_back(*point);
  }
  for (Ladder& ladder : ladders) {
    std::stable_sort(ladder.points.begin(), ladder.points.end(),
                     [](const LadderPoint& a, const LadderPoint& b) { return a.bytes < b.bytes; });
  }
  // Strides of one size are no ladder.
  std::erase_if(ladders, [](const Ladder& ladder) {
    const auto same = [](const LadderPoint& a, const LadderPoint& b) { return a.bytes == b.bytes; };
    return std::adjacent_find(ladder.points.begin(), ladder.points.end(), same) != ladder.points.end();
  });
  for (Ladder& ladder : ladders) {
    ladder.levels = levels_of(ladder.points);
  }
  return ladders;
}

}  // namespace roofmark
