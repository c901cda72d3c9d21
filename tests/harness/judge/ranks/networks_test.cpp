// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Pairs of ranks as networks of real shapes would give them, healthy and with one fault.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "harness/judge/ranks/communication.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Pair = std::pair<int, int>;

/// Hosts below leaf switches. A pair has the lowest rate of what it passes, which pairs of a round share.
struct Network {
  std::vector<int> leaves = {8};  ///< hosts below each
  int ranks = 1;                  ///< per host
  bool rails = false;             ///< each local rank has leaf switches of its own
  double latency = 12e-6, rate = 50e9, inside = 400e9;
  double across_latency = 0, across = 1;       ///< between leaves: added, and the share of the rate that is left
  double uplinks = 0;                          ///< of a leaf, per port below it; 0: never too few
  int paths = 0;                               ///< between leaves, one of which a pair takes by chance; 0: never one alone
  std::map<int, double> left = {};             ///< of a rank's port: the share of its rate
  std::map<int, double> left_of_leaf = {};     ///< of the uplinks of all
  std::map<Pair, double> left_of_pair = {};    ///< of the way between two ranks
  std::function<void(RankInfo&)> change = {};  ///< of a member
  std::function<double(int, int)> times_within = {};  ///< of two ranks of a host: how much longer than the fastest
  std::vector<std::size_t> sizes = {8, 64 << 10, 1 << 20, 32 << 20, 64 << 20};
  double noise = 0.01;
};

class Simulation {
 public:
  Simulation(const Network& network, unsigned seed) : network_(network), generator_(seed) {
    const int hosts = std::accumulate(network.leaves.begin(), network.leaves.end(), 0);
    for (int rank = 0; rank < hosts * network.ranks; ++rank) {
      RankInfo& member = members_.emplace_back();
      member.rank = rank;
      member.local_rank = rank % network.ranks;
      member.host = fmt::format("node{:02}", rank / network.ranks);
      if (network.change) network.change(member);
    }
    for (std::size_t leaf = 0; leaf < network.leaves.size(); ++leaf) {
      leaf_.insert(leaf_.end(), static_cast<std::size_t>(network.leaves[leaf]), static_cast<int>(leaf));
    }
  }

  Communication found() { return analyze_communication(records(), members_); }

 private:
  /// Of a rank; with rails, each has its own.
  Pair leaf_of(int rank) const {
    return {leaf_[static_cast<std::size_t>(rank / network_.ranks)], network_.rails ? rank % network_.ranks : 0};
  }

  static double left(const auto& shares, const auto& key) { return shares.contains(key) ? shares.at(key) : 1; }

  /// The rate of each pair of a round.
  std::map<Pair, double> rates(const std::vector<int>& colours) {
    std::map<int, std::vector<int>> groups;
    for (std::size_t rank = 0; rank < colours.size(); ++rank) {
      if (colours[rank] >= 0) groups[colours[rank]].push_back(static_cast<int>(rank));
    }
    std::map<Pair, double> load;  // of a leaf's uplinks, in ports
    std::map<int, int> path, load_of_path;
    const auto port = [&](const std::vector<int>& pair) {
      return std::min(left(network_.left, pair[0]), left(network_.left, pair[1]));
    };
    for (const auto& [colour, ranks] : groups) {
      if (leaf_of(ranks[0]) == leaf_of(ranks[1])) continue;
      for (const int rank : ranks) load[leaf_of(rank)] += port(ranks);
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
        const int ports = network_.leaves[static_cast<std::size_t>(leaf.first)] * (network_.rails ? 1 : network_.ranks);
        if (network_.uplinks > 0) share = std::min(share, port(ranks) * network_.uplinks * ports / load.at(leaf));
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
      const bool within = a / network_.ranks == b / network_.ranks;
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
  std::vector<int> leaf_;  ///< of each host
};

/// Of several measurements of it, those that are found in any.
std::vector<Finding> findings(Network network) {
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

std::vector<std::string> texts(const Network& network) {
  std::vector<std::string> all;
  for (const Finding& finding : findings(network)) all.push_back(finding.text);
  return all;
}

/// Without a leaf of one host, which might as well be a slow host.
std::vector<Network> healthy_networks() {
  const std::vector<std::size_t> of_cpus = {8, 64 << 10, 1 << 20, 4 << 20};
  std::vector<Network> all;
  for (const auto& leaves :
       std::vector<std::vector<int>>{{2}, {3}, {8}, {2, 2}, {4, 4}, {6, 2}, {8, 8}, {12, 4}, {8, 6, 2}, {4, 4, 4, 4}}) {
    const int hosts = std::accumulate(leaves.begin(), leaves.end(), 0);
    for (const int ranks : {1, 4}) {
      if (hosts * ranks > 32) continue;
      for (const bool rails : {false, true}) {
        if (rails && ranks == 1) continue;
        const Network even = {.leaves = leaves, .ranks = ranks, .rails = rails};
        all.push_back(even);
        all.back().across_latency = 4e-6;
        all.push_back(all.back());
        all.back().across = 0.75;
        all.back().sizes = of_cpus;
        all.push_back(all.back());
        all.back().across = 0.5;
        for (const double uplinks : {0.5, 0.25}) {
          all.push_back(even);
          all.back().uplinks = uplinks;
        }
      }
    }
  }
  return all;
}

std::string in_words(const Network& network) {
  return fmt::format("{} hosts with {} ranks{}, {} across, {} uplinks", testing::PrintToString(network.leaves), network.ranks,
                     network.rails ? " on rails" : "", network.across, network.uplinks);
}

TEST(Networks, NobodyOfAHealthyOne) {
  for (const Network& network : healthy_networks()) EXPECT_THAT(texts(network), IsEmpty()) << in_words(network);
  const Network of_many = {.leaves = {48, 16}, .across = 0.7};
  EXPECT_THAT(texts(of_many), IsEmpty());
}

/// In every network that has at least three hosts: it is found, and nothing else.
void expect_found(FindingKind kind, const std::vector<int>& ranks, const std::function<bool(Network&)>& plant) {
  for (Network network : healthy_networks()) {
    const int hosts = std::accumulate(network.leaves.begin(), network.leaves.end(), 0);
    if (hosts < 3 || network.uplinks == 0.25 || !plant(network)) continue;
    const std::vector<Finding> found = findings(network);
    EXPECT_THAT(found, SizeIs(1)) << in_words(network) << ": " << testing::PrintToString(texts(network));
    if (found.size() != 1) continue;
    EXPECT_EQ(found[0].kind, kind) << in_words(network) << ": " << found[0].text;
    if (network.ranks == 1 || kind == FindingKind::slow_host) {
      EXPECT_EQ(found[0].ranks, ranks) << in_words(network) << ": " << found[0].text;
    }
  }
}

// Of two hosts below one leaf, and two below another, all but one pair of either host take the longer way.
TEST(Networks, ASlowPort) {
  expect_found(FindingKind::slow_rank, {0}, [](Network& network) {
    network.left[0] = 0.3;
    return network.leaves != std::vector<int>{2, 2} || (network.across == 1 && network.uplinks == 0);
  });
}

TEST(Networks, AHostWhosePortsAreAllSlow) {
  expect_found(FindingKind::slow_host, {0, 1, 2, 3}, [](Network& network) {
    for (int rank = 0; rank < network.ranks; ++rank) network.left[rank] = 0.3;
    return network.ranks > 1 && (network.leaves != std::vector<int>{2, 2} || (network.across == 1 && network.uplinks == 0));
  });
}

TEST(Networks, ASlowWayBetweenTwoRanks) {
  expect_found(FindingKind::slow_link, {0, 1}, [](Network& network) {
    network.left_of_pair[{0, network.ranks}] = 0.3;
    return network.uplinks == 0;
  });
}

TEST(Networks, ASlowWayBetweenTwoLeaves) {
  expect_found(FindingKind::slow_link, {0, 7}, [](Network& network) {
    network.left_of_pair[{0, 7 * network.ranks}] = 0.3;
    return network.uplinks == 0 && std::accumulate(network.leaves.begin(), network.leaves.end(), 0) >= 8;
  });
}

// In the same round, which has pairs of both hosts.
TEST(Networks, ASlowPairInEachOfTwoHosts) {
  Network network = {.leaves = {2}, .ranks = 8};
  network.left_of_pair = {{{1, 2}, 0.5}, {{9, 10}, 0.5}};
  const auto found = findings(network);
  ASSERT_THAT(found, SizeIs(2));
  for (const Finding& finding : found) EXPECT_EQ(finding.kind, FindingKind::slow_link) << finding.text;
}

// Nothing that is measured tells it from one whose ports are slow.
TEST(Networks, AHostAloneBelowItsLeafIsSlow) {
  const auto found = findings({.leaves = {15, 1}, .across = 0.7});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, FindingKind::slow_rank);
  EXPECT_THAT(found[0].ranks, ElementsAre(15));
}

TEST(Networks, PortsOfTwoGenerations) {
  Network network = {.leaves = {16}};
  for (int host = 8; host < 16; ++host) network.left[host] = 0.5;
  EXPECT_THAT(texts(network), IsEmpty());
  for (int host = 8; host < 12; ++host) network.left.erase(host);
  const auto found = findings(network);
  ASSERT_THAT(found, SizeIs(4));
  for (const Finding& finding : found) EXPECT_EQ(finding.kind, FindingKind::slow_rank);
}

TEST(Networks, GpusBelowTwoSockets) {
  for (const bool known : {false, true}) {
    for (const int first : {4, 6}) {
      const auto socket = [=](int rank) { return rank < first ? 0 : 1; };
      Network network = {.leaves = {1}, .ranks = 8, .inside = 25e9};
      network.times_within = [=](int a, int b) { return socket(a) == socket(b) ? 1 : 1.6; };
      if (known) network.change = [=](RankInfo& member) { member.numa_node = socket(member.rank); };
      EXPECT_THAT(texts(network), IsEmpty()) << known << " " << first;
      network.left_of_pair[{1, 7}] = 0.4;
      const auto found = findings(network);
      ASSERT_THAT(found, SizeIs(1)) << known << " " << first;
      EXPECT_EQ(found[0].kind, FindingKind::slow_link);
      EXPECT_THAT(found[0].ranks, ElementsAre(1, 7));
    }
  }
}

TEST(Networks, GpusThatAreBridgedInPairs) {
  Network network = {.leaves = {1}, .ranks = 8};
  network.times_within = [](int a, int b) { return a / 2 == b / 2 ? 1 : 16; };
  EXPECT_THAT(texts(network), IsEmpty()) << "as where NVML does not tell the peers";
  network.change = [](RankInfo& member) {
    member.nvlinks = 4;
    member.pci_bus_id = fmt::format("0000:{:02}:00.0", member.rank);
    member.nvlink_peers = {fmt::format("0000:{:02}:00.0", member.rank ^ 1)};
  };
  EXPECT_THAT(texts(network), IsEmpty());
}

TEST(Networks, NvlinkDomainsOfARack) {
  Network network = {.leaves = {6, 6}, .ranks = 4, .across = 0.7};
  network.change = [](RankInfo& member) {
    member.nvlinks = 18;
    member.nvlink_domain = member.rank < 24 ? "rack1/1" : "rack2/1";
  };
  EXPECT_THAT(texts(network), IsEmpty());
  network.left[5] = 0.4;
  const auto found = findings(network);
  ASSERT_FALSE(found.empty());
  for (const Finding& finding : found) EXPECT_THAT(finding.text, HasSubstr("rank 5 (node01)"));
}

// ECMP hashes pairs to paths, and the same path may come to two of a round.
TEST(Networks, NobodyWherePairsCollideOnAPath) {
  for (const std::vector<int>& leaves : std::vector<std::vector<int>>{{8, 8}, {12, 4}, {16, 16}, {8, 6, 2}}) {
    for (const int paths : {4, 8, 16, 64}) {
      EXPECT_THAT(texts({.leaves = leaves, .paths = paths}), IsEmpty()) << testing::PrintToString(leaves) << ", " << paths;
    }
  }
}

std::string slow(const Network& network) { return Simulation(network, 1).found().slow; }

TEST(Networks, LeavesWithALongerWayToOthersAreSaid) {
  EXPECT_THAT(slow({.leaves = {16}}), testing::Not(HasSubstr("groups")));
  EXPECT_THAT(slow({.leaves = {8, 8}, .across = 0.9}), testing::Not(HasSubstr("groups")));
  EXPECT_THAT(
      slow({.leaves = {12, 4}, .across = 0.5}),
      testing::MatchesRegex("no rank, host or pair stands out; pairs between hosts take longer with other groups of ranks "
                            "than within: ranks 0-11 \\(node00 ... node11\\) (1.9|2.0). times, ranks 12-15 "
                            "\\(node12 ... node15\\) (1.9|2.0). times"));
  EXPECT_THAT(slow({.leaves = {12, 4}, .across = 0.5, .left = {{3, 0.3}}}),
              testing::AllOf(HasSubstr("slow: rank 3 (node03)"), HasSubstr("; pairs between hosts take longer")));
}

TEST(Networks, ALeafWhoseUplinksAreSlowIsTheWorstOfThem) {
  const auto of_third_leaf = [](double across) {
    return slow({.leaves = {4, 4, 4, 4}, .across = across, .left_of_leaf = {{2, 0.3}}});
  };
  EXPECT_THAT(of_third_leaf(1), testing::EndsWith("ranks 8-11 (node08 ... node11) 3.31 times")) << "all others are one group";
  EXPECT_THAT(of_third_leaf(0.7), testing::ContainsRegex("than within: ranks 8-11 \\(node08 ... node11\\) 3.[234]. times, "
                                                         "ranks [0-9-]+ \\(node.. ... node..\\) 1.4. times"));
}

}  // namespace
}  // namespace roofmark
