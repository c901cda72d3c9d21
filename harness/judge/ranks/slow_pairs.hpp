// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/deviation.hpp"

namespace roofmark {

/// Thresholds: for an end, in times the median; for a pair, in times what is expected of it.
inline constexpr double kSlow = 1.1, kSlowPair = 1.2;
/// Above how many times the scatter of the measurements, where that is known.
inline constexpr double kScatters = 3;
/// Where it is known, above how many times the median an end is slow, and a pair above what is expected of it. Healthy ways
/// differ by some percent at all sizes, which the scatter does not show, and few ends do not show how much; of three, the two
/// of the best pair agree exactly.
inline double least_slow(std::size_t ends, double of_many) {
  return ends <= kLeastCompared ? kSlowOfFew : ends < kMany ? kSlowPair : of_many;
}
inline constexpr double kSlowPairOfMany = 1.15;
/// Above how many standard deviations beyond the upper quartile a pair is slow: 4.7 above the median of normally distributed
/// ones.
inline constexpr double kAboveQuartile = 4;

/// The time of a pair over the typical one of its kind, with its 95 % interval; where that is unknown, `low` and `high` are the
/// time itself. `round`: of the pairs that were measured at the same time; -1: alone.
struct RelativeTime {
  double times = 1, low = 1, high = 1;
  int round = -1;

  friend bool operator<(const RelativeTime& a, const RelativeTime& b) { return a.times < b.times; }
};

template <class Key>
using PairsOf = std::map<std::pair<Key, Key>, RelativeTime>;

/// Of an even number the faster of the two in the middle.
template <class Value>
Value lower_median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The first or third, of the values themselves.
inline double quartile(std::vector<double> values, std::size_t which) {
  const auto quarter = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * which / 4);
  std::nth_element(values.begin(), quarter, values.end());
  return *quarter;
}

/// Of each end, the time of its best pair and the lower median of its pairs.
struct EndTimes {
  RelativeTime best, typical;
};
template <class Key>
std::map<Key, EndTimes> times_of_ends(const PairsOf<Key>& pairs) {
  std::map<Key, std::vector<RelativeTime>> all;
  for (const auto& [pair, time] : pairs) {
    all[pair.first].push_back(time);
    if (pair.first < pair.second || pair.second < pair.first) all[pair.second].push_back(time);
  }
  std::map<Key, EndTimes> ends;
  for (const auto& [end, times] : all) ends[end] = {*std::min_element(times.begin(), times.end()), lower_median(times)};
  return ends;
}

/// The two largest sizes: only there may a link's rate matter. One alone may have been disturbed all through its measurement,
/// which its interval does not show.
inline constexpr int kLargeSizes = 2;

/// At how many sizes an end or a pair was slow. `clearly`: at how many large ones its interval shows that it is not chance.
struct SlowAtSizes : Outlier {
  int clearly = 0;

  bool is_slow(int least_sizes) const { return clearly >= kLargeSizes || times >= least_sizes; }
};

/// The scatter of measurements: by how much the same pair differs between two sizes whose times are relative, or half of an
/// interval if that is more. Absent without intervals, or with too few pairs.
template <class Key>
std::optional<double> scatter_between(const PairsOf<Key>& one, const PairsOf<Key>& other) {
  std::vector<double> changes, intervals;
  for (const auto& [pair, time] : one) {
    const auto same = other.find(pair);
    if (same == other.end() || !(time.high > time.low)) continue;
    changes.push_back(std::log(time.times / same->second.times));
    intervals.push_back((time.high - time.low) / time.times / 2);
  }
  if (changes.size() < kLeastCompared) return std::nullopt;
  return std::max(scaled_median_absolute_deviation(changes) / std::sqrt(2), median(intervals));
}

/// Adds the ends whose best pair stands out, with its whole interval above the median of all, and of which most pairs are slow.
/// `scatter` of a large size: then few ends need not differ by more than kScatters times that, and one whose whole interval is
/// above those of half of the ends is clearly slow.
template <class Key>
void note_slow_ends(const std::map<Key, EndTimes>& ends, std::optional<double> scatter, const std::string& where,
                    std::map<Key, SlowAtSizes>& slow) {
  std::vector<double> all, highs, typical;
  for (const auto& [end, times] : ends) {
    all.push_back(times.best.times);
    highs.push_back(times.best.high);
    typical.push_back(times.typical.times);
  }
  for (const auto& [end, times] : ends) {
    const RelativeTime& best = times.best;
    const auto found = scatter ? deviates(best.times, all, std::max(least_slow(ends.size(), kSlow), 1 + kScatters * *scatter))
                               : stands_out(best.times, all, kSlow);
    if (!found || !(best.low > median(all)) || !(times.typical.times > kSlow * median(typical))) continue;
    slow[end].add(*found, where);
    slow[end].clearly += scatter && best.high > best.low && best.low > median(highs);
  }
}

/// What each pair had beside it: of the slowest pair at the same time, the time over that of the best pairs of its ends. Absent
/// or 0: nothing.
template <class Key>
using Beside = std::map<std::pair<Key, Key>, double>;

/// The slower one of the best pairs of two ends.
template <class Key>
RelativeTime best_of_ends(const std::pair<Key, Key>& pair, const std::map<Key, EndTimes>& ends) {
  return std::max(ends.at(pair.first).best, ends.at(pair.second).best);
}

/// A pair of ranks or, of `Group` hosts, one of the pairs of their ranks. `ratio`: its time over that of the best pairs of its
/// ends.
template <class Group>
struct InRound {
  std::pair<Group, Group> group;
  int round = 0;
  double ratio = 1;
};

/// What is beside a group is of another group.
template <class Group>
Beside<Group> slowest_beside(const std::vector<InRound<Group>>& pairs) {
  struct Slowest {
    std::pair<Group, Group> group = {};
    double ratio = 0, of_others = 0;
  };
  std::map<int, Slowest> rounds;
  for (const auto& [group, round, ratio] : pairs) {
    Slowest& slowest = rounds[round];
    if (group == slowest.group) {
      slowest.ratio = std::max(slowest.ratio, ratio);
    } else if (ratio > slowest.ratio) {
      slowest = {group, ratio, slowest.ratio};
    } else {
      slowest.of_others = std::max(slowest.of_others, ratio);
    }
  }
  Beside<Group> beside;
  for (const auto& [group, round, ratio] : pairs) {
    const Slowest& slowest = rounds.at(round);
    double& found = beside[group];
    found = std::max(found, group == slowest.group ? slowest.of_others : slowest.ratio);
  }
  return beside;
}

/// Adds the pairs that take more than kSlowPair times what is expected, if that ratio stands out among the pairs. Expected is
/// what most pairs of either end take or, relative to the best pairs of its ends, the slowest other pair of its round,
/// whichever is longer. With the `scatter` of a large size, a pair takes least_slow() times and kScatters longer than most
/// pairs of either end, and its ratio to what is expected is kSlow times the upper quartile of all, and kAboveQuartile beyond
/// it: healthy ways differ too. One whose whole interval is above what is expected is then clearly slow.
///
/// So no healthy network is at fault: where ways between groups of ends are longer, most pairs of the smaller group take them,
/// whatever the sizes of the groups; where pairs share a link that is too narrow for them, two of a round or more are slow.
template <class Key>
void note_slow_pairs(const PairsOf<Key>& pairs, const std::map<Key, EndTimes>& ends, const Beside<Key>& beside,
                     std::optional<double> scatter, const std::string& where,
                     std::map<std::pair<Key, Key>, SlowAtSizes>& slow) {
  struct Judged {
    std::pair<Key, Key> pair;
    RelativeTime time, typical;
    double expected = 0, highest = 0;
  };
  std::vector<Judged> judged;
  std::vector<double> all;
  for (const auto& [pair, time] : pairs) {
    const RelativeTime typical = std::max(ends.at(pair.first).typical, ends.at(pair.second).typical);
    const auto slowest = beside.find(pair);
    const double other = slowest == beside.end() ? 0 : slowest->second * best_of_ends(pair, ends).times;
    judged.push_back({pair, time, typical, std::max(typical.times, other), std::max(typical.high, other)});
    all.push_back(time.times / judged.back().expected);
  }
  const double limit = scatter ? std::max(least_slow(ends.size(), kSlowPairOfMany), 1 + kScatters * *scatter) : kSlowPair;
  const double upper = std::max(quartile(all, 3), 1.0);
  const double least = std::max(kSlow * upper, upper + kAboveQuartile * densest_deviation(all));
  for (const auto& [pair, time, typical, expected, highest] : judged) {
    const double excess = time.times / expected, times = time.times / typical.times;
    if (!(times > limit) || !(time.low > highest)) continue;
    const auto deviation = stands_out(excess, all, 1);
    if (scatter ? !(excess > least) : !deviation || !(excess > limit)) continue;
    slow[pair].add({times, {}}, where);
    slow[pair].clearly += scatter && time.high > time.low;
  }
}

/// The number of sizes at which a subject must be slow to be named: a third of them, at least two if there are two; half of
/// them with few ends. `judged`: number of compared ends.
inline int least_slow_sizes(std::size_t judged, int sizes) {
  constexpr int kSlowSizes = 2;
  return judged < kMany ? (sizes + 1) / 2 : std::min(sizes, std::max(kSlowSizes, (sizes + 2) / 3));
}

}  // namespace roofmark
