// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/rings.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/judge/ranks/fits.hpp"
#include "harness/judge/ranks/series.hpp"

namespace roofmark {

namespace {

using Groups = std::vector<std::vector<int>>;

/// Latency and rate of the links that rings cross.
class Links {
 public:
  Links(const std::vector<Record>& records, const PairTimes& times) : times_(times) {
    for (const auto& [name, series] : series_of(records, {"bytes"})) {
      // A ceiling's probe has large sizes only, which tell no latency.
      if (series.front()->message->pattern != Pattern::neighbours || series.front()->sets_ceiling) continue;
      if (auto made = fit(name.name(), series); made && made->bytes_per_second) neighbours_.emplace_back(series.front(), *made);
    }
  }

  /// Of the rings that a record's ranks make.
  std::optional<LatencyFit> of(const Record& record) {
    const Message& message = *record.message;
    const LatencyFit* best = nullptr;
    std::ptrdiff_t most_alike = -1;
    for (const auto& [source, made] : neighbours_) {
      if (value_of(source->shape, "impl") != value_of(record.shape, "impl")) continue;
      if (source->message->ranks != message.ranks || source->message->groups != message.groups) continue;
      // Several series qualify: the one with the most settings in common.
      const auto alike = (source->type == record.type) +
                         std::count_if(record.shape.begin(), record.shape.end(), [&, from = source](const auto& entry) {
                           return std::find(from->shape.begin(), from->shape.end(), entry) != from->shape.end();
                         });
      if (alike > most_alike) {
        most_alike = alike;
        best = &made;
      }
    }
    // A step of a ring is not predicted from itself.
    if (best) return message.pattern == Pattern::neighbours ? std::nullopt : std::optional(*best);
    Groups groups = message.groups;
    if (groups.empty()) {
      groups.emplace_back();
      for (int rank = 0; rank < message.ranks; ++rank) groups.back().push_back(rank);
    }
    const auto [known, added] = by_pairs_.try_emplace(groups);
    if (added) known->second = slowest_pairs(groups);
    return known->second;
  }

 private:
  std::optional<LatencyFit> slowest_pairs(const Groups& groups) const {
    std::map<std::size_t, double> slowest;
    for (const auto& [bytes, pairs] : times_) {
      double seconds = 0;
      bool complete = true;
      for (const std::vector<int>& ring : groups) {
        for (std::size_t i = 0; i < ring.size() && ring.size() > 1; ++i) {
          const auto pair = std::minmax(ring[i], ring[(i + 1) % ring.size()]);
          const auto found = pairs.find({pair.first, pair.second});
          complete = complete && found != pairs.end();
          if (found != pairs.end()) seconds = std::max(seconds, found->second);
        }
      }
      if (complete && seconds > 0) slowest[bytes] = seconds;
    }
    auto made = fit({}, slowest, 1);
    return made && made->bytes_per_second ? made : std::nullopt;
  }

  const PairTimes& times_;
  std::vector<std::pair<const Record*, LatencyFit>> neighbours_;
  std::map<Groups, std::optional<LatencyFit>> by_pairs_;
};

}  // namespace

std::vector<RingPrediction> rings_of(const std::vector<Record>& records, const PairTimes& times) {
  std::vector<RingPrediction> rings;
  Links links(records, times);
  for (const Record& record : records) {
    if (!is_collective(record) || record.sets_ceiling || record.message->ranks < 2 || record.message->ring_steps == 0) continue;
    const Message& message = *record.message;
    const auto link = links.of(record);
    if (!link) continue;
    RingPrediction ring{record.name(), 0, 0};
    ring.seconds = message.ring_steps * link->latency_seconds.value_or(0) +
                   static_cast<double>(message.bytes) * message.bus_factor / *link->bytes_per_second;
    if (!(ring.seconds > 0)) continue;
    ring.ratio = ring.seconds / bus_bandwidth(record)->seconds;
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace roofmark
