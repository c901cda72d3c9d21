// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Pairs of ranks as machines would measure them whose links are known, and whom the findings name.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "bench/support/fabric.hpp"
#include "harness/judge/ranks/communication.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kSizes[] = {8, 64 << 10, 1 << 20, 32 << 20, 64 << 20};

/// The links of a machine: a rank uses port (local rank modulo ports) of its host.
struct Machine {
  std::vector<int> ranks_by_host;
  int ports = 1;
  double port = 25e9, inside = 200e9;                   ///< bytes per second
  double port_latency = 5e-6, inside_latency = 8e-6;    ///< seconds
  double socket = 0;                                    ///< between two halves of a host's ranks; 0: no such link
  bool in_turn = false;                                 ///< rank r is on host r modulo hosts
  double spread = 0;                                    ///< of the ways between ranks, lasting
  std::map<std::pair<int, int>, double> way_left = {};  ///< between two hosts
  bool circle = false;                                  ///< the rounds of a tournament, as in older results
  bool by_receiver = false;                             ///< data leaves by the port of the receiver's local rank (NCCL's PXN)
  std::map<int, double> left = {};                      ///< of a rank's own links: the share of their rate that is left
  double noise = 0.01, interval = 0.005;
};

std::vector<RankInfo> members_of(const Machine& machine) {
  std::vector<RankInfo> all;
  for (std::size_t host = 0; host < machine.ranks_by_host.size(); ++host) {
    const int count = machine.ranks_by_host[host];
    for (int local = 0; local < count; ++local) {
      RankInfo& member = all.emplace_back();
      member.local_rank = local;
      member.host = "node" + std::to_string(host);
      if (machine.socket > 0) member.numa_node = 2 * local / count;
    }
  }
  if (machine.in_turn) {
    std::stable_sort(all.begin(), all.end(),
                     [](const RankInfo& one, const RankInfo& other) { return one.local_rank < other.local_rank; });
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].rank = static_cast<int>(i);
  return all;
}

std::vector<Record> measured(const Machine& machine, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> around(1, machine.noise), standard;
  const std::vector<RankInfo> members = members_of(machine);
  const auto at = [&](int rank) -> const RankInfo& { return members[static_cast<std::size_t>(rank)]; };
  const auto port_of = [&](int from, int to, int of) {
    const int local = machine.by_receiver ? at(to).local_rank : at(of).local_rank;
    return std::pair(at(of).host + (of == from ? " out" : " in"), local % machine.ports);
  };
  const auto left = [&](int rank) { return machine.left.contains(rank) ? machine.left.at(rank) : 1; };
  std::map<std::vector<int>, double> ways;
  std::vector<Record> records;
  const auto rounds = machine.circle ? rounds_of_pairs(static_cast<int>(members.size())) : rounds_of_pairs(members);
  for (const std::vector<int>& colours : rounds) {
    const std::vector<std::vector<int>> pairs = groups_of(colours);
    std::map<std::pair<std::string, int>, int> load;  // of the first of two ways; the other is like it
    int over_socket = 0;
    for (const std::vector<int>& pair : pairs) {
      if (at(pair[0]).host == at(pair[1]).host) {
        over_socket += at(pair[0]).numa_node != at(pair[1]).numa_node;
        continue;
      }
      for (const int end : pair) ++load[port_of(pair[0], pair[1], end)];
    }
    for (const std::size_t bytes : kSizes) {
      Record record = collective("ping_pong", bytes, static_cast<int>(members.size()), 1, 1);
      record.message->trips = 2;
      record.message->groups = pairs;
      record.measurement->ranks.resize(members.size());
      for (const std::vector<int>& pair : pairs) {
        const bool inside = at(pair[0]).host == at(pair[1]).host;
        double rate = inside ? machine.inside : machine.port;
        if (!inside) {
          rate /= std::max(load.at(port_of(pair[0], pair[1], pair[0])), load.at(port_of(pair[0], pair[1], pair[1])));
        }
        if (inside && at(pair[0]).numa_node != at(pair[1]).numa_node) rate = std::min(rate, machine.socket / over_socket);
        rate *= std::min(left(pair[0]), left(pair[1]));
        const auto number = [&](int rank) { return std::stoi(at(rank).host.substr(4)); };
        const auto way = machine.way_left.find(std::minmax(number(pair[0]), number(pair[1])));
        if (way != machine.way_left.end()) rate *= way->second;
        if (!ways.contains(pair)) ways[pair] = 1 + machine.spread * standard(generator);
        rate *= ways[pair];
        const double seconds = (inside ? machine.inside_latency : machine.port_latency) + static_cast<double>(bytes) / rate;
        const double twice = 2 * seconds * around(generator);
        for (const int rank : pair) {
          RankTimes times{twice, twice, {}, {}};
          times.interval_low = twice * (1 - machine.interval);
          times.interval_high = twice * (1 + machine.interval);
          record.measurement->ranks[static_cast<std::size_t>(rank)] = times;
        }
      }
      records.push_back(std::move(record));
    }
  }
  return records;
}

std::vector<std::string> named(const Machine& machine, unsigned seed = 1) {
  std::vector<std::string> all;
  for (const Finding& finding : analyze_communication(measured(machine, seed), members_of(machine)).findings) {
    all.push_back(finding.brief);
  }
  return all;
}

TEST(SlowRanks, NobodyOfAHealthyClusterHoweverItsRanksShareItsPorts) {
  const std::vector<std::vector<int>> clusters = {
      {4, 4}, {8, 8}, {4, 4, 4}, {8, 8, 8}, {8, 8, 8, 8}, {3, 5}, {8, 7}, {2, 2, 2, 2}, {8, 8, 8, 8, 8, 8, 8, 8}};
  for (const std::vector<int>& cluster : clusters) {
    for (const int ports : {1, 2, 4, 8}) {
      for (const bool by_receiver : {false, true}) {
        for (unsigned seed = 1; seed <= 3; ++seed) {
          EXPECT_THAT(named({.ranks_by_host = cluster, .ports = ports, .by_receiver = by_receiver}, seed), IsEmpty())
              << testing::PrintToString(cluster) << ", " << ports << " ports" << (by_receiver ? ", by the receiver's" : "");
        }
      }
    }
  }
}

// Pairs across the sockets share a link; all GPUs are below ports of their own.
TEST(SlowRanks, NobodyOfAMachineOfTwoSockets) {
  for (const double socket : {20e9, 40e9, 60e9, 80e9}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      EXPECT_THAT(named({.ranks_by_host = {8}, .inside = 25e9, .socket = socket}, seed), IsEmpty()) << socket;
      EXPECT_THAT(named({.ranks_by_host = {8, 8}, .ports = 2, .inside = 25e9, .socket = socket}, seed), IsEmpty()) << socket;
    }
  }
}

TEST(SlowRanks, NobodyOfAHealthyClusterWhoseRanksAreOnItsHostsInTurn) {
  for (const std::vector<int>& cluster : std::vector<std::vector<int>>{{4, 4}, {4, 4, 4}, {8, 8, 8, 8}}) {
    for (const int ports : {2, 4, 8}) {
      EXPECT_THAT(named({.ranks_by_host = cluster, .ports = ports, .in_turn = true}), IsEmpty()) << ports;
    }
  }
}

// Of their pairs, those are left out or compared apart that others beside them slowed.
TEST(SlowRanks, NobodyOfOlderResultsWhoseRoundsLoadLinksUnevenly) {
  for (const double socket : {20e9, 40e9, 60e9}) {
    EXPECT_THAT(named({.ranks_by_host = {8}, .inside = 25e9, .socket = socket, .circle = true}), IsEmpty()) << socket;
  }
  for (const std::vector<int>& cluster : std::vector<std::vector<int>>{{8, 8}, {4, 4, 4}, {8, 8, 8, 8}, {3, 5}}) {
    for (const int ports : {1, 4, 8}) {
      EXPECT_THAT(named({.ranks_by_host = cluster, .ports = ports, .circle = true}), IsEmpty())
          << testing::PrintToString(cluster) << ", " << ports << " ports";
    }
  }
}

// Intervals tell noise from time to time, and not that one way is longer than another.
TEST(SlowRanks, SeldomAnybodyOfFewHealthyOnesWhoseWaysDiffer) {
  for (const std::size_t hosts : {3, 4, 5, 6, 7, 8, 16, 32}) {
    int wrong = 0;
    for (unsigned seed = 1; seed <= 100; ++seed) {
      wrong += !named({.ranks_by_host = std::vector<int>(hosts, 1), .spread = 0.05}, seed).empty();
    }
    EXPECT_LE(wrong, 2) << hosts << " hosts";
  }
}

TEST(SlowRanks, OneBadCableBetweenTwoHostsIsOneFinding) {
  const auto found = named({.ranks_by_host = {8, 8, 8, 8}, .ports = 8, .way_left = {{{0, 1}, 0.3}}});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], HasSubstr("the way between node0 and node1 (3.3"));
}

TEST(SlowRanks, ARankThatHasLostAFifthOfItsNvlink) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const auto found = named({.ranks_by_host = {8}, .inside = 400e9, .left = {{5, 0.8}}}, seed);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0], HasSubstr("rank 5 (node0) (1.2"));
  }
}

TEST(SlowRanks, OneOfFourThatHasLostHalfOfItsNvlink) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const auto found = named({.ranks_by_host = {4}, .inside = 400e9, .inside_latency = 12e-6, .left = {{2, 0.5}}}, seed);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0], HasSubstr("rank 2 (node0) (1."));
  }
}

TEST(SlowRanks, NobodyWhereTheIntervalsDoNotTellThemApart) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    EXPECT_THAT(named({.ranks_by_host = {8}, .inside = 400e9, .left = {{5, 0.8}}, .interval = 0.25}, seed), IsEmpty());
    EXPECT_THAT(named({.ranks_by_host = {4}, .inside = 400e9, .left = {{2, 0.8}}, .interval = 0.25}, seed), IsEmpty());
  }
}

TEST(SlowRanks, OneWhoseOwnPortIsSlow) {
  for (const int ports : {4, 8}) {
    const auto found = named({.ranks_by_host = {8, 8, 8, 8}, .ports = ports, .left = {{11, 0.5}}});
    ASSERT_FALSE(found.empty());
    for (const std::string& who : found) EXPECT_THAT(who, HasSubstr("rank 11 (node1)"));
  }
}

TEST(SlowRanks, AHostWhosePortsAreSlow) {
  Machine machine = {.ranks_by_host = {8, 8, 8, 8, 8, 8, 8, 8}, .ports = 8};
  for (int rank = 16; rank < 24; ++rank) machine.left[rank] = 0.7;
  machine.inside = 1e15;  // the rate of the ports alone is lower
  const auto found = named(machine);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], HasSubstr("node2 (1.4"));
}

TEST(SlowRanks, HostsWithDifferentNumbersOfRanksAreNotCompared) {
  const Machine machine = {.ranks_by_host = {3, 5}, .ports = 2};
  EXPECT_THAT(analyze_communication(measured(machine, 1), members_of(machine)).slow,
              HasSubstr("nobody stands out, but 15 pairs between hosts cannot be compared"));
  // Within a host, and between hosts that are alike, they are.
  EXPECT_THAT(named({.ranks_by_host = {3, 5}, .ports = 2, .left = {{6, 0.3}}}), SizeIs(1));
  const auto found = named({.ranks_by_host = {4, 4, 4, 4, 3}, .ports = 4, .left = {{6, 0.3}}});
  ASSERT_FALSE(found.empty());
  for (const std::string& who : found) EXPECT_THAT(who, HasSubstr("rank 6 (node1)"));
}

TEST(SlowRanks, CannotBeToldWhereRanksShareCores) {
  const Machine machine = {.ranks_by_host = {4}, .left = {{2, 0.2}}};
  std::vector<RankInfo> members = members_of(machine);
  EXPECT_THAT(analyze_communication(measured(machine, 1), members).slow, HasSubstr("slow: rank 2"));
  for (RankInfo& member : members) member.cores = {0, 1};
  const Communication found = analyze_communication(measured(machine, 1), members);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::shared_cores);
  EXPECT_THAT(found.slow, HasSubstr("cannot be told: ranks share CPU cores"));
}

TEST(SlowRanks, TheVerdictNamesTheWorstOfMany) {
  Machine machine = {.ranks_by_host = std::vector<int>(32, 1)};
  for (int rank = 0; rank < 9; ++rank) machine.left[rank] = 0.5 - 0.04 * rank;
  const Communication found = analyze_communication(measured(machine, 1), members_of(machine));
  EXPECT_THAT(found.findings, SizeIs(9));
  EXPECT_THAT(found.slow, testing::StartsWith("slow: rank 8 (node8)"));
  EXPECT_THAT(found.slow, testing::EndsWith(", and 4 more"));
}

}  // namespace
}  // namespace roofmark
