// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Pairs of ranks as networks of real shapes would give them, healthy and with one fault.
#include "tests/harness/judge/ranks/networks.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <numeric>

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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

TEST(Networks, TheTextSaysHowToMeasureAPairAlone) {
  const auto found = findings({.left_of_pair = {{{2, 5}, 0.3}}});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].text, testing::EndsWith("; alone: --case 'ping_pong/fp32/bytes:67108864/ranks:8/from:2/to:5/impl:mpi'"));
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
  EXPECT_THAT(found[0].text,
              HasSubstr("if no other host of this run is below its leaf switch, the switch's uplinks may be slow"));
}

// Of the two hosts below the first leaf, one has lost a GPU.
TEST(Networks, TheTextSaysWhichHostsAreCompared) {
  Network network = {.leaves = {2, 6}, .ranks = 4, .ranks_of = {{0, 3}}, .across = 0.6};
  const auto text = [&] {
    const auto found = findings(network);
    return found.size() == 1 && found[0].kind == FindingKind::slow_host ? found[0].text
                                                                        : testing::PrintToString(texts(network));
  };
  EXPECT_THAT(text(),
              testing::AllOf(HasSubstr("node01: its best pair between hosts with 4 ranks takes"),
                             HasSubstr("if no other host with 4 ranks is below its leaf switch, the switch's uplinks")));
  network.inside = network.rate;  // as between the hosts of a domain
  network.change = [](RankInfo& member) {
    member.nvlinks = 18;
    if (member.rank >= 23) member.nvlink_domain = "rack/1";
  };
  EXPECT_THAT(text(), HasSubstr("node01: its best pair between NVLink domains, of hosts with 4 ranks, takes"));
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

// The ranks of a host have ways of their own, and other hosts' pairs are as slow.
TEST(Networks, NobodyWhereRanksCollideOnUplinks) {
  for (const std::vector<int>& leaves : std::vector<std::vector<int>>{{2, 2, 2, 2}, {4, 4, 4, 4}, {8, 8, 8}, {8, 6, 2}}) {
    for (const bool rails : {false, true}) {
      for (const int spines : {8, 16, 32}) {
        const Network network = {.leaves = leaves, .ranks = 4, .rails = rails, .spines = spines};
        EXPECT_THAT(texts(network), IsEmpty()) << testing::PrintToString(leaves) << (rails ? " on rails, " : ", ") << spines;
      }
    }
  }
}

// They share the network with those that are compared.
TEST(Networks, HostsWithAnotherNumberOfRanks) {
  for (const std::vector<int>& leaves : std::vector<std::vector<int>>{{4, 4}, {2, 2, 2, 2}}) {
    for (const auto& others : std::vector<std::map<int, int>>{{{7, 1}}, {{7, 3}}, {{0, 8}, {2, 8}, {7, 8}}}) {
      for (const bool rails : {false, true}) {
        const Network network = {.leaves = leaves, .ranks = 4, .ranks_of = others, .rails = rails};
        Network changed = network;
        changed.spines = 16;
        EXPECT_THAT(texts(changed), IsEmpty()) << in_words(changed);
        changed = network;
        changed.uplinks = 0.5;
        EXPECT_THAT(texts(changed), IsEmpty()) << in_words(changed);
        const int slow = others.contains(0) ? 8 : 0;  // of the second host, or of the first
        changed = network;
        changed.left[slow] = 0.3;
        EXPECT_THAT(findings(changed), ElementsAre(testing::Field(&Finding::ranks, ElementsAre(slow)))) << in_words(changed);
        changed = network;
        changed.left_of_pair[{slow, slow + 12}] = 0.4;
        EXPECT_THAT(findings(changed), ElementsAre(testing::Field(&Finding::ranks, ElementsAre(slow, slow + 12))))
            << in_words(changed);
      }
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

TEST(Networks, LeavesWithALongerWayToOthersAreListed) {
  EXPECT_THAT(Simulation({.leaves = {16}}, 1).found().groups, IsEmpty());
  const std::vector<RankGroup> groups =
      Simulation({.leaves = {4, 4, 4, 4}, .across = 0.7, .left_of_leaf = {{2, 0.3}}}, 1).found().groups;
  ASSERT_FALSE(groups.empty());
  EXPECT_EQ(groups.front().of, "pairs between hosts");
  EXPECT_THAT(groups.front().ranks, ElementsAre(8, 9, 10, 11));
  EXPECT_NEAR(groups.front().times_within, 3.3, 0.2);
}

TEST(Networks, ALeafWhoseUplinksAreSlowIsTheWorstOfThem) {
  const auto of_third_leaf = [](double across) {
    return slow({.leaves = {4, 4, 4, 4}, .across = across, .left_of_leaf = {{2, 0.3}}});
  };
  EXPECT_THAT(of_third_leaf(1), testing::EndsWith("ranks 8-11 (node08 ... node11) 3.31 times")) << "all others are one group";
  EXPECT_THAT(of_third_leaf(0.7), testing::ContainsRegex("than within: ranks 8-11 \\(node08 ... node11\\) 3.[234]. times, "
                                                         "ranks [0-9-]+ \\(node.. ... node..\\) 1.4. times"));
}

// Without knowing the leaves: pairs of the largest leaf that cross are not all slow, and those of the smallest are.
TEST(Networks, ASlowLinkOfAnUnevenNetworkWithFewUplinks) {
  for (const Pair& pair : {Pair(0, 14), Pair(3, 15), Pair(9, 15)}) {
    const Network network = {.leaves = {8, 6, 2}, .uplinks = 0.5, .left_of_pair = {{pair, 0.5}}};
    EXPECT_GE(found_alone(network, FindingKind::slow_link, {pair.first, pair.second}), 95) << pair.first << " " << pair.second;
  }
}

}  // namespace
}  // namespace roofmark
