// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/team/rank_info.hpp"
#include "harness/team/rounds.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {

/// An ok record of a collective; `more` stands at the end of its shape.
inline Record collective(const std::string& family, std::size_t bytes, int ranks, double bus_factor, double seconds,
                         const std::string& impl = "mpi", const std::string& place = "out", const Shape& more = {}) {
  Record record = ok_record(family, "", {{{{resource::interprocess, double(bytes)}}}}, seconds);
  record.shape = {
      {"bytes", std::to_string(bytes)}, {"ranks", std::to_string(ranks)}, {"op", "sum"}, {"place", place}, {"impl", impl}};
  record.shape.insert(record.shape.end(), more.begin(), more.end());
  record.message = Message{};
  if (family == "send_recv") record.message->pattern = Pattern::neighbours;
  if (family == "ping_pong") record.message->pattern = Pattern::pairs;
  record.message->ranks = ranks;
  record.message->bytes = bytes;
  record.message->count = bytes / 4;
  record.message->bus_factor = bus_factor;
  record.message->reduction = "sum";
  record.message->place = place;
  return record;
}

/// A product and an all-reduce alone, and both together.
inline std::vector<Record> overlap_records(double work_seconds, double communication_seconds, double together_seconds) {
  std::vector<Record> records = {ok_record("overlap", "gemm", {}, work_seconds),
                                 ok_record("overlap", "all_reduce", {}, communication_seconds),
                                 ok_record("overlap", "both", {}, together_seconds)};
  records[0].overlap = OverlapRole::work;
  records[1].overlap = OverlapRole::communication;
  records[2].overlap = OverlapRole::together;
  return records;
}

/// Ranks 0, 1, 2, ... on these hosts.
inline std::vector<RankInfo> members(const std::vector<std::string>& hosts) {
  std::vector<RankInfo> all(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    all[i].rank = static_cast<int>(i);
    all[i].host = hosts[i];
  }
  return all;
}

/// Every pair, in these rounds; `seconds(a, b, bytes)` of one way, a < b.
inline std::vector<Record> ping_pong(const std::vector<std::vector<int>>& colours, const std::vector<std::size_t>& sizes,
                                     const std::function<double(int, int, std::size_t)>& seconds) {
  std::vector<Record> rounds;
  for (std::size_t round = 0; round < colours.size(); ++round) {
    const auto ranks = static_cast<int>(colours[round].size());
    std::map<int, std::vector<int>> pairs;
    for (int rank = 0; rank < ranks; ++rank) {
      const int colour = colours[round][static_cast<std::size_t>(rank)];
      if (colour >= 0) pairs[colour].push_back(rank);
    }
    for (const std::size_t bytes : sizes) {
      Record record = collective("ping_pong", bytes, ranks, 1, 1);
      record.shape = {{"bytes", std::to_string(bytes)},
                      {"ranks", std::to_string(ranks)},
                      {"round", std::to_string(round)},
                      {"impl", "mpi"}};
      record.message->trips = 2;
      record.measurement->ranks.resize(static_cast<std::size_t>(ranks));
      double slowest = 0;
      RankGroups::Groups groups;
      for (const auto& [colour, pair] : pairs) {
        const double once = seconds(pair.front(), pair.back(), bytes);
        slowest = std::max(slowest, once);
        record.measurement->ranks[std::size_t(pair.front())] = {2 * once, 2 * once, {}, {}};
        record.measurement->ranks[std::size_t(pair.back())] = {1.9 * once, 1.9 * once, {}, {}};  // the slower of the two counts
        groups.push_back(pair);
      }
      record.message->groups = std::move(groups);
      record.measurement->summary.median = 2 * slowest;
      rounds.push_back(record);
    }
  }
  return rounds;
}
inline std::vector<Record> ping_pong(const std::vector<RankInfo>& members, const std::vector<std::size_t>& sizes,
                                     const std::function<double(int, int, std::size_t)>& seconds) {
  return ping_pong(rounds_of_pairs(members), sizes, seconds);
}
inline std::vector<Record> ping_pong(int ranks, const std::vector<std::size_t>& sizes,
                                     const std::function<double(int, int, std::size_t)>& seconds) {
  return ping_pong(rounds_of_pairs(ranks), sizes, seconds);
}

/// As --case 'ping_pong/int8/bytes:B/from:A/to:B' measures them.
inline std::vector<Record> pairs_alone(const std::vector<std::pair<int, int>>& pairs, int ranks,
                                       const std::vector<std::size_t>& sizes,
                                       const std::function<double(int, int, std::size_t)>& seconds) {
  std::vector<Record> all;
  for (const auto& [one, other] : pairs) {
    std::vector<int> colours(static_cast<std::size_t>(ranks), -1);
    for (const int rank : {one, other}) colours[static_cast<std::size_t>(rank)] = 0;
    for (Record& record : ping_pong(std::vector<std::vector<int>>{colours}, sizes, seconds)) {
      const auto round =
          std::find_if(record.shape.begin(), record.shape.end(), [](const auto& key) { return key.first == "round"; });
      *round = {"from", std::to_string(one)};
      record.shape.insert(std::next(round), {"to", std::to_string(other)});
      all.push_back(record);
    }
  }
  return all;
}

}  // namespace roofmark
