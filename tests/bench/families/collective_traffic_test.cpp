// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collective_traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace roofmark::collectives {
namespace {

/// Two hosts of two ranks each: ranks 0, 1 and 2, 3.
const RankPlaces kHosts = {{0, 0, 1, 1}, {0, 0, 1, 1}};
const RankPlaces kOneHost = {{0, 0, 0, 0}, {0, 0, 0, 0}}, kOnePerHost = {{0, 1, 2, 3}, {0, 1, 2, 3}};
const std::vector<std::vector<int>> kAll = {{0, 1, 2, 3}};

void expect_traffic(const Traffic& got, double inside, double network) {
  EXPECT_DOUBLE_EQ(got.inside, inside);
  EXPECT_DOUBLE_EQ(got.network, network);
}

TEST(CollectiveTraffic, OfTwoHostsWithTwoRanksEach) {
  expect_traffic(traffic(Collective::all_reduce, 400, kAll, kHosts), 400, 400);  // 2 (2-1)/2 S inside and between
  expect_traffic(traffic(Collective::all_gather, 400, kAll, kHosts), 200, 200);
  expect_traffic(traffic(Collective::reduce_scatter, 400, kAll, kHosts), 200, 200);
  expect_traffic(traffic(Collective::broadcast, 400, kAll, kHosts), 400, 400);
  expect_traffic(traffic(Collective::reduce, 400, kAll, kHosts), 400, 400);
  expect_traffic(traffic(Collective::all_to_all, 400, kAll, kHosts), 100, 400 * 2 * 2 / 4.0);
  expect_traffic(traffic(Collective::gather, 400, kAll, kHosts), 100, 200);
  expect_traffic(traffic(Collective::scatter, 400, kAll, kHosts), 100, 200);
  // Three ranks on one host, the fourth alone: as the root it sends or receives three parts through its host's link.
  const RankPlaces alone = {{0, 0, 0, 1}, {0, 0, 0, 1}};
  expect_traffic(traffic(Collective::gather, 400, kAll, alone, 0), 200, 100);
  expect_traffic(traffic(Collective::gather, 400, kAll, alone, 3), 0, 300);
  expect_traffic(traffic(Collective::scatter, 400, kAll, alone, 3), 0, 300);
  // From a root outside each of three ranks may receive a third, which they exchange; from one of them every byte comes to
  // each.
  for (const Collective op : {Collective::broadcast, Collective::reduce}) {
    expect_traffic(traffic(op, 300, kAll, alone, 3), 200, 300);
    expect_traffic(traffic(op, 300, kAll, alone, 0), 300, 300);
  }
  expect_traffic(traffic(Collective::send_recv, 400, kAll, kHosts), 400, 400);
}

TEST(CollectiveTraffic, InsideOfOneHostNothingCrossesTheNetwork) {
  for (const Collective op : kCollectives) {
    if (op == Collective::ping_pong) continue;
    EXPECT_EQ(traffic(op, 400, kAll, kOneHost).network, 0) << name(op);
    EXPECT_GT(traffic(op, 400, kAll, kOneHost).inside, 0) << name(op);
  }
  expect_traffic(traffic(Collective::all_reduce, 400, kAll, kOneHost), 600, 0);  // 2 (4-1)/4 S
}

TEST(CollectiveTraffic, WithOneRankPerHostAllOfItDoes) {
  expect_traffic(traffic(Collective::all_reduce, 400, kAll, kOnePerHost), 0, 600);
  expect_traffic(traffic(Collective::all_to_all, 400, kAll, kOnePerHost), 0, 300);
}

TEST(CollectiveTraffic, RailsThatWorkAtOnceShareAHostsNetwork) {
  expect_traffic(traffic(Collective::all_reduce, 400, {{0, 2}, {1, 3}}, kHosts), 0, 800);
  expect_traffic(traffic(Collective::send_recv, 400, {{0, 2}, {1, 3}}, kHosts), 0, 800);
}

TEST(CollectiveTraffic, ARankAloneMovesNothing) {
  for (const Collective op : kCollectives) expect_traffic(traffic(op, 400, {{0}}, {{0}, {0}}), 0, 0);
}

TEST(CollectiveTraffic, PairsAreCountedOneWay) {
  expect_traffic(traffic(Collective::ping_pong, 8, {{0, 1}}, kHosts), 8, 0);
  expect_traffic(traffic(Collective::ping_pong, 8, {{0, 2}, {1, 3}}, kHosts), 0, 16);
  // Two that send from one host, and two that receive on one.
  expect_traffic(traffic(Collective::ping_pong, 8, {{0, 2}, {1, 3}}, {{0, 0, 1, 2}, {0, 0, 1, 2}}), 0, 16);
  expect_traffic(traffic(Collective::ping_pong, 8, {{0, 2}, {1, 3}}, {{0, 1, 2, 2}, {0, 1, 2, 2}}), 0, 16);
}

TEST(CollectiveTraffic, OfGroupsThatAreNotEquallyLargeTheSmallerMovesLess) {
  // 100 a rank: 400 of ranks 0 to 3, 200 of the pair.
  const std::vector<std::vector<int>> groups = {{0, 1, 2, 3}, {4, 5}};
  const RankPlaces hosts = {{0, 0, 1, 1, 2, 2}, {0, 0, 1, 1, 2, 2}};
  expect_traffic(traffic(Collective::all_to_all, 400, groups, hosts), 100, 400);
  expect_traffic(traffic(Collective::all_gather, 400, groups, hosts), 200, 200);
  expect_traffic(traffic(Collective::all_reduce, 400, groups, hosts), 400, 400);
}

TEST(RingTraffic, IsTheSizeTimesTheBusFactorInsideAndOverEachHostsPorts) {
  const auto ring = [](Collective op, const std::vector<std::vector<int>>& groups, const RankPlaces& places) {
    return ring_traffic(op, 400, groups, places);
  };
  expect_traffic(ring(Collective::all_reduce, kAll, kHosts), 600, 600);  // 2 (4-1)/4 S
  expect_traffic(ring(Collective::all_gather, kAll, kHosts), 300, 300);
  expect_traffic(ring(Collective::broadcast, kAll, kHosts), 400, 400);
  expect_traffic(ring(Collective::all_reduce, kAll, kOneHost), 600, 0);
  expect_traffic(ring(Collective::all_reduce, kAll, kOnePerHost), 0, 600);
  // NCCL's rings follow the hosts, not the ranks' order.
  expect_traffic(ring(Collective::all_reduce, kAll, {{0, 1, 0, 1}, {0, 1, 0, 1}}), 600, 600);
  expect_traffic(ring(Collective::all_reduce, {{0, 2}, {1, 3}}, kHosts), 0, 800);  // both rails
  expect_traffic(ring(Collective::all_reduce, {{0, 1}, {2, 3}}, kHosts), 400, 0);
  // The ports of both hosts of a domain.
  expect_traffic(ring(Collective::all_reduce, kAll, {{0, 1, 2, 3}, {0, 0, 1, 1}}), 600, 300);
}

TEST(CollectiveTraffic, TheHostsOfADomainShareItsNetwork) {
  // Four hosts of one rank in two domains.
  const RankPlaces places = {{0, 1, 2, 3}, {0, 0, 1, 1}};
  expect_traffic(traffic(Collective::all_reduce, 400, kAll, places), 400, 200);
  expect_traffic(traffic(Collective::all_to_all, 400, kAll, places), 100, 200);
  expect_traffic(traffic(Collective::send_recv, 400, kAll, places), 400, 400);  // 1 to 2 and 3 to 0
  expect_traffic(traffic(Collective::ping_pong, 8, {{0, 1}}, places), 8, 0);
  expect_traffic(traffic(Collective::ping_pong, 8, {{1, 2}}, places), 0, 8);
}

/// Counted message by message, of one group of all ranks.
Traffic of_uneven_all_to_all(double bytes, const RankPlaces& places, int root, double imbalance) {
  const auto n = static_cast<int>(places.hosts.size());
  const auto at = [&](int rank) { return static_cast<std::size_t>(rank); };
  std::map<int, double> sent, received, out, in;
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      if (from == to) continue;
      const double part = bytes * (to == root ? imbalance / n : (1 - imbalance / n) / (n - 1));
      const bool inside = places.domains[at(from)] == places.domains[at(to)];
      (inside ? sent[from] : out[places.domains[at(from)]]) += part;
      (inside ? received[to] : in[places.domains[at(to)]]) += part;
    }
  }
  Traffic most;
  for (const auto& amounts : {sent, received}) {
    for (const auto& [rank, amount] : amounts) most.inside = std::max(most.inside, amount);
  }
  for (const auto& amounts : {out, in}) {
    for (const auto& [domain, amount] : amounts) most.network = std::max(most.network, amount);
  }
  return most;
}

TEST(CollectiveTraffic, OfAnImbalancedAllToAllIsThatOfItsLinksAndOfItsHosts) {
  expect_traffic(traffic(Collective::all_to_all, 400, kAll, kOneHost, 0, Switches::forward, 2), 600, 0);  // 3 x 200
  expect_traffic(traffic(Collective::all_to_all, 400, kAll, kOnePerHost, 0, Switches::forward, 2), 0, 600);
  for (const auto& hosts : {std::vector<int>{0, 0, 1, 1},
                            {0, 1, 1, 1},
                            {0, 0, 0, 1},
                            {0, 1, 2, 0},
                            {0, 0, 0, 0, 1, 1},
                            {0, 0, 1, 1, 2, 2, 2, 2},
                            {0, 1, 2, 3, 4, 5}}) {
    const RankPlaces places{hosts, hosts};
    std::vector<int> ranks(hosts.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    for (const int root : ranks) {
      for (int imbalance = 1; imbalance < static_cast<int>(hosts.size()); ++imbalance) {
        SCOPED_TRACE(testing::PrintToString(hosts) + " root " + std::to_string(root) + " imbalance " +
                     std::to_string(imbalance));
        const Traffic want = of_uneven_all_to_all(840, places, root, imbalance);
        const Traffic got = traffic(Collective::all_to_all, 840, {ranks}, places, root, Switches::forward, imbalance);
        EXPECT_NEAR(got.inside, want.inside, 1e-9);
        EXPECT_NEAR(got.network, want.network, 1e-9);
      }
    }
  }
}

TEST(CollectiveTraffic, ASwitchThatReducesSavesAllReduceAlone) {
  expect_traffic(traffic(Collective::all_reduce, 400, kAll, kOneHost, 0, Switches::reduce), 500, 0);  // (4+1)/4 S
  expect_traffic(traffic(Collective::all_reduce, 400, kAll, kOnePerHost, 0, Switches::reduce), 0, 400);
  expect_traffic(traffic(Collective::all_reduce, 400, kAll, kHosts, 0, Switches::reduce), 400, 400);  // nothing to save for two
  for (const Collective op : kCollectives) {
    if (op == Collective::all_reduce || op == Collective::ping_pong) continue;
    const Traffic plain = traffic(op, 400, kAll, kOneHost);
    expect_traffic(traffic(op, 400, kAll, kOneHost, 0, Switches::reduce), plain.inside, plain.network);
  }
}

}  // namespace
}  // namespace roofmark::collectives
