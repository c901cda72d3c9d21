// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/ranks/communication.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {

using Pair = std::pair<int, int>;

/// Hosts below leaf switches. A pair has the lowest rate of what it passes, which pairs of a round share.
struct Network {
  std::vector<int> leaves = {8};     ///< hosts below each
  int ranks = 1;                     ///< per host
  std::map<int, int> ranks_of = {};  ///< of hosts that have another number
  bool rails = false;                ///< each local rank has leaf switches of its own
  double latency = 12e-6, rate = 50e9, inside = 400e9;
  double across_latency = 0, across = 1;  ///< between leaves: added, and the share of the rate that is left
  double uplinks = 0;                     ///< of a leaf, per port below it; 0: never too few
  int paths = 0;                          ///< between leaves, one of which a pair takes by chance; 0: never one alone
  int spines = 0;                         ///< each with an uplink of every leaf; a pair takes one by chance; 0: never one alone
  std::map<int, double> left = {};        ///< of a rank's port: the share of its rate
  std::map<int, double> left_of_leaf = {};            ///< of the uplinks of all
  std::map<Pair, double> left_of_pair = {};           ///< of the way between two ranks
  std::function<void(RankInfo&)> change = {};         ///< of a member
  std::function<double(int, int)> times_within = {};  ///< of two ranks of a host: how much longer than the fastest
  std::vector<std::size_t> sizes = {8, 64 << 10, 1 << 20, 32 << 20, 64 << 20};
  double noise = 0.01;
};

class Simulation {
 public:
  Simulation(const Network& network, unsigned seed) : network_(network), generator_(seed) {
    const int hosts = std::accumulate(network.leaves.begin(), network.leaves.end(), 0);
    for (int host = 0; host < hosts; ++host) {
      const auto other = network.ranks_of.find(host);
      const int ranks = other == network.ranks_of.end() ? network.ranks : other->second;
      for (int local_rank = 0; local_rank < ranks; ++local_rank) {
        RankInfo& member = members_.emplace_back();
        member.rank = static_cast<int>(host_.size());
        member.local_rank = local_rank;
        member.host = fmt::format("node{:02}", host);
        if (network.change) network.change(member);
        host_.push_back(host);
      }
    }
    for (std::size_t leaf = 0; leaf < network.leaves.size(); ++leaf) {
      leaf_.insert(leaf_.end(), static_cast<std::size_t>(network.leaves[leaf]), static_cast<int>(leaf));
    }
  }

  Communication found() { return analyze_communication(records(), members_); }

 private:
  /// Of a rank; with rails, each has its own.
  Pair leaf_of(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return {leaf_[static_cast<std::size_t>(host_[at])], network_.rails ? members_[at].local_rank : 0};
  }

  static double left(const auto& shares, const auto& key) { return shares.contains(key) ? shares.at(key) : 1; }

  /// The rate of each pair of a round.
  std::map<Pair, double> rates(const std::vector<int>& colours) {
    std::map<int, std::vector<int>> groups;
    for (std::size_t rank = 0; rank < colours.size(); ++rank) {
      if (colours[rank] >= 0) groups[colours[rank]].push_back(static_cast<int>(rank));
    }
    std::map<Pair, double> load;  // of a leaf's uplinks, in ports
    std::map<int, int> path, load_of_path, spine;
    std::map<std::pair<Pair, int>, int> load_of_uplink;  // by leaf and spine
    const auto port = [&](const std::vector<int>& pair) {
      return std::min(left(network_.left, pair[0]), left(network_.left, pair[1]));
    };
    for (const auto& [colour, ranks] : groups) {
      if (leaf_of(ranks[0]) == leaf_of(ranks[1])) continue;
      for (const int rank : ranks) load[leaf_of(rank)] += port(ranks);
      if (network_.spines > 0) {
        spine[colour] = std::uniform_int_distribution(1, network_.spines)(generator_);
        for (const int rank : ranks) ++load_of_uplink[{leaf_of(rank), spine[colour]}];
      }
      if (network_.paths == 0) continue;
      path[colour] = std::uniform_int_distribution(1, network_.paths)(generator_);
      ++load_of_path[path[colour]];
    }
    std::map<Pair, double> found;
    for (const auto& [colour, ranks] : groups) {
      double share = port(ranks);
      if (path.contains(colour)) share = std::min(share, 1.0 / load_of_path.at(path.at(colour)));
      for (const int rank : ranks) {
        const Pair leaf = leaf_of(rank);
        if (!load.contains(leaf) || leaf_of(ranks[0]) == leaf_of(ranks[1])) continue;
        share = std::min({share, network_.across, left(network_.left_of_leaf, leaf.first)});
        if (network_.spines > 0) share = std::min(share, 1.0 / load_of_uplink.at({leaf, spine.at(colour)}));
        const int ports = network_.leaves[static_cast<std::size_t>(leaf.first)] * (network_.rails ? 1 : network_.ranks);
        const double uplinks = network_.uplinks * ports * left(network_.left_of_leaf, leaf.first);
        if (uplinks > 0) share = std::min(share, port(ranks) * uplinks / load.at(leaf));
      }
      found[{ranks[0], ranks[1]}] = network_.rate * share;
    }
    return found;
  }

  std::vector<Record> records() {
    const auto all = rounds_of_pairs(members_);
    std::vector<std::vector<int>> sample;
    std::map<Pair, double> rate;
    for (const std::size_t round : sample_of_rounds(members_, 64)) {
      sample.push_back(all[round]);
      rate.merge(rates(all[round]));
    }
    std::normal_distribution<double> around(1, network_.noise);
    auto records = ping_pong(sample, network_.sizes, [&](int a, int b, std::size_t bytes) {
      const bool within = host_[static_cast<std::size_t>(a)] == host_[static_cast<std::size_t>(b)];
      const double latency = network_.latency + (within || leaf_of(a) == leaf_of(b) ? 0 : network_.across_latency);
      const double times = within && network_.times_within ? network_.times_within(a, b) : 1;
      const double at = (within ? network_.inside : rate.at({a, b})) * left(network_.left_of_pair, Pair(a, b)) / times;
      return (latency + static_cast<double>(bytes) / at) * around(generator_);
    });
    for (Record& record : records) {
      for (auto& rank : record.measurement->ranks) {
        if (!rank) continue;
        rank->interval_low = rank->median * (1 - network_.noise);
        rank->interval_high = rank->median * (1 + network_.noise);
      }
    }
    return records;
  }

  Network network_;
  std::mt19937 generator_;
  std::vector<RankInfo> members_;
  std::vector<int> host_;  ///< of each rank
  std::vector<int> leaf_;  ///< of each host
};

/// Of several measurements of it, those that are found in any.
inline std::vector<Finding> findings(Network network) {
  std::vector<Finding> all;
  for (const double noise : {0.005, 0.03}) {
    network.noise = noise;
    for (unsigned seed = 1; seed <= 2; ++seed) {
      for (const Finding& finding : Simulation(network, seed).found().findings) {
        const auto same = [&](const Finding& one) { return one.kind == finding.kind && one.ranks == finding.ranks; };
        if (std::none_of(all.begin(), all.end(), same)) all.push_back(finding);
      }
    }
  }
  return all;
}

inline std::string in_words(const Network& network) {
  return fmt::format("{} hosts with {} ranks{} (but {}), {} across, {} uplinks, {} spines",
                     testing::PrintToString(network.leaves), network.ranks, network.rails ? " on rails" : "",
                     testing::PrintToString(network.ranks_of), network.across, network.uplinks, network.spines);
}

/// With every seed and scatter: the share of runs, in percent, that find just this part.
inline int found_alone(Network network, FindingKind kind, const std::vector<int>& ranks) {
  int runs = 0, found = 0;
  for (network.noise = 0.01; network.noise < 0.04; network.noise += 0.02) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const std::vector<Finding> all = Simulation(network, seed).found().findings;
      ++runs;
      found += all.size() == 1 && all[0].kind == kind && all[0].ranks == ranks;
    }
  }
  return 100 * found / runs;
}

}  // namespace roofmark
