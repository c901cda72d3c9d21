// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/pairs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/model/case_name.hpp"

namespace roofmark {

namespace {

struct MeasuredPair : TripTime {
  std::pair<int, int> pair;  ///< a < b
};

bool is_alone(const Record& record) { return !value_of(record.shape, "from").empty(); }

std::vector<MeasuredPair> measured_pairs(const Record& record) {
  if (!bus_bandwidth(record) || record.message->pattern != Pattern::pairs) return {};
  const Message& message = *record.message;
  const std::vector<std::optional<RankTimes>>& ranks = record.measurement->ranks;
  std::vector<MeasuredPair> found;
  for (const std::vector<int>& pair : message.groups.all()) {
    if (pair.size() != 2) continue;
    const auto [a, b] = std::minmax(pair[0], pair[1]);
    if (a < 0 || static_cast<std::size_t>(b) >= ranks.size()) continue;
    const auto &one = ranks[static_cast<std::size_t>(a)], &other = ranks[static_cast<std::size_t>(b)];
    if (!one || !other) continue;
    const RankTimes& slower = one->median > other->median ? *one : *other;
    if (!(slower.median > 0)) continue;
    const double trips = message.trips;
    found.push_back({{slower.median / trips, slower.interval_low.value_or(slower.median) / trips,
                      slower.interval_high.value_or(slower.median) / trips},
                     {a, b}});
  }
  return found;
}

/// Of a pair that is there already, the better of two ways.
void add_faster(const Record& record, PairTimes& times) {
  for (const MeasuredPair& measured : measured_pairs(record)) {
    const auto [place, added] = times[record.message->bytes].emplace(measured.pair, measured.seconds);
    if (!added) place->second = std::min(place->second, measured.seconds);
  }
}

/// How many pairs of a round a way carries beside a pair: a port of a host or a NUMA node those that leave it, a network those
/// that leave either host.
class Crowds {
 public:
  Crowds(const std::vector<std::vector<int>>& groups, const Places& places) : places_(places) {
    for (const std::vector<int>& group : groups) {
      if (group.size() != 2) continue;
      for (const std::string& gate : gates({group[0], group[1]})) ++pairs_[gate];
      const std::string one = places.host(group[0]), other = places.host(group[1]);
      if (one == other) continue;
      met_[one].insert(other);
      met_[other].insert(one);
    }
  }
  /// The most of either end.
  int around(const std::pair<int, int>& pair) const {
    int most = 0;
    for (const std::string& gate : gates(pair)) most = std::max(most, pairs_.at(gate));
    return most;
  }
  /// With whom it is compared.
  ComparedPairs compared(const std::pair<int, int>& pair) const {
    if (places_.linked(pair)) return {true, 0, true};
    const auto takes_part = [&](int rank) {
      const std::string host = places_.host(rank);
      return pairs_.at(host) == places_.ranks_on(host) && met_.at(host).size() == 1 && places_.has_as_many_as_most(host);
    };
    return {false, around(pair), takes_part(pair.first) && takes_part(pair.second)};
  }

 private:
  std::vector<std::string> gates(const std::pair<int, int>& pair) const {
    if (!places_.linked(pair)) return {places_.host(pair.first), places_.host(pair.second)};
    const Places::Way way = places_.way(pair);
    std::vector<std::string> passed;
    for (const int rank : {pair.first, pair.second}) {
      if (way == Places::Way::numa_node || way == Places::Way::host) passed.push_back(places_.port(rank));
      if (way == Places::Way::host) passed.push_back(places_.node(rank));
    }
    std::erase(passed, "");
    return passed;
  }

  const Places& places_;
  std::map<std::string, int> pairs_;
  std::map<std::string, std::set<std::string>> met_;  ///< hosts
};

}  // namespace

CaseName like_round(CaseName round, const std::pair<int, int>& pair) {
  const auto at = std::find_if(round.shape.begin(), round.shape.end(), [](const auto& key) { return key.first == "round"; });
  if (at == round.shape.end()) return round;
  *at = {"from", std::to_string(pair.first)};
  round.shape.emplace(at + 1, "to", std::to_string(pair.second));
  return round;
}

TimesAlone times_alone(const std::vector<Record>& records) {
  TimesAlone found;
  for (const Record& record : records) {
    if (!record.message || record.message->pattern != Pattern::pairs) continue;
    if (!is_alone(record)) {
      found.rounds.emplace(record.message->bytes, record);
      continue;
    }
    TripTime& time = found.times[record.name()];
    for (const MeasuredPair& measured : measured_pairs(record)) time = {measured.seconds, measured.low, measured.high};
  }
  return found;
}

PairTimes pair_times(const std::vector<Record>& records) {
  PairTimes times;
  for (const Record& record : records) {
    if (!is_alone(record)) add_faster(record, times);
  }
  PairTimes alone;
  for (const Record& record : records) {
    if (is_alone(record)) add_faster(record, alone);
  }
  for (auto& [bytes, pairs] : alone) times[bytes].merge(pairs);
  return times;
}

RelativePairTimes relative_pair_times(const std::vector<Record>& records, const Places& places) {
  using Kind = std::tuple<ComparedPairs, std::size_t, Places::Way, int>;
  struct OfRound : MeasuredPair {
    int round;
  };
  std::map<Kind, std::vector<OfRound>> by_kind;
  int round = 0;
  for (const Record& record : records) {
    if (is_alone(record)) continue;
    const std::vector<MeasuredPair> pairs = measured_pairs(record);
    if (pairs.empty()) continue;
    const Crowds crowds(record.message->groups.all(), places);
    // Pairs of one host share nothing with those of another.
    std::map<std::string, int> rounds;
    for (const MeasuredPair& measured : pairs) {
      const auto& [a, b] = measured.pair;
      const auto [own, added] = rounds.emplace(places.host(a) == places.host(b) ? places.host(a) : "", round);
      round += added;
      by_kind[{crowds.compared(measured.pair), record.message->bytes, places.way(measured.pair), crowds.around(measured.pair)}]
          .push_back({measured, own->second});
    }
  }
  RelativePairTimes relative;
  for (const auto& [kind, pairs] : by_kind) {
    std::vector<double> seconds;
    for (const OfRound& measured : pairs) seconds.push_back(measured.seconds);
    const double typical = quartile(std::move(seconds), 1);
    for (const OfRound& measured : pairs) {
      const RelativeTime time = {measured.seconds / typical, measured.low / typical, measured.high / typical, measured.round};
      const auto [place, added] = relative[std::get<0>(kind)][std::get<1>(kind)].emplace(measured.pair, time);
      if (!added) place->second = std::min(place->second, time);
    }
  }
  return relative;
}

std::vector<PairTime> pairs_of(const PairTimes& times) {
  std::vector<PairTime> all;
  for (const auto& [bytes, pairs] : times) {
    for (const auto& [pair, seconds] : pairs) all.push_back({pair.first, pair.second, bytes, seconds});
  }
  return all;
}

}  // namespace roofmark
