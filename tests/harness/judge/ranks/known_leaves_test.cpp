// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Pairs of ranks as networks would give them whose hosts know their leaf switches.
#include <gmock/gmock.h>

#include <numeric>

#include "tests/harness/judge/ranks/networks.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<Network> of_known_leaves() {
  std::vector<Network> all;
  for (const auto& leaves : std::vector<std::vector<int>>{
           {4, 4}, {4, 4, 4, 4}, {8, 6, 2}, {12, 4}, {15, 1}, {8, 7, 1}, {6, 5, 4, 1}, {16, 10, 6}, {2, 2, 2, 2}}) {
    for (const double uplinks : {1.0, 0.5, 0.25}) all.push_back({.leaves = leaves, .known = true, .uplinks = uplinks});
  }
  return all;
}

TEST(KnownLeaves, NobodyOfAHealthyNetwork) {
  for (Network network : of_known_leaves()) {
    for (network.noise = 0.01; network.noise < 0.06; network.noise += 0.02) {
      int accused = 0;
      for (unsigned seed = 1; seed <= 20; ++seed) accused += !Simulation(network, seed).found().findings.empty();
      EXPECT_LE(accused, 1) << in_words(network) << ", " << network.noise;
    }
  }
}

TEST(KnownLeaves, ASlowHostAmongOthersOfItsLeaf) {
  for (Network network : of_known_leaves()) {
    if (network.leaves[0] == 2) continue;
    for (const double left : {0.8, 0.5}) {
      network.left = {{1, left}};
      EXPECT_GE(found_alone(network, FindingKind::slow_rank, {1}), 90) << in_words(network) << ", " << left;
    }
  }
}

TEST(KnownLeaves, ASlowLinkWithinALeafAndBetweenLeaves) {
  for (Network network : of_known_leaves()) {
    const int last = std::accumulate(network.leaves.begin(), network.leaves.end(), 0) - 1;
    for (const int other : {1, last}) {
      if (other == 1 && network.leaves[0] == 2) continue;
      for (const double left : {0.8, 0.5}) {
        network.left_of_pair = {{{0, other}, left}};
        EXPECT_GE(found_alone(network, FindingKind::slow_link, {0, other}), left < 0.8 ? 95 : 70)
            << in_words(network) << ", " << other;
      }
    }
  }
}

TEST(KnownLeaves, ALeafWhoseUplinksAreSlow) {
  for (Network network : of_known_leaves()) {
    if (network.leaves.size() < 3 || network.leaves.back() == 1) continue;
    const int first = network.leaves[0];
    std::vector<int> below(static_cast<std::size_t>(network.leaves[1]));
    std::iota(below.begin(), below.end(), first);
    network.left_of_leaf = {{1, 0.5}};
    EXPECT_GE(found_alone(network, FindingKind::slow_leaf, below), 95) << in_words(network);
  }
  const auto found = findings({.leaves = {4, 4, 4}, .known = true, .left_of_leaf = {{1, 0.5}}});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].text, HasSubstr("leaf switch spine.leaf1 with ranks 4-7 (node04 ... node07)"));
}

TEST(KnownLeaves, AHostAloneBelowItsLeafAndItsUplinksAreNotToldApart) {
  Network network = {.leaves = {8, 7, 1}, .known = true, .left = {{15, 0.5}}};
  for (const bool uplinks : {false, true}) {
    if (uplinks) network.left.clear(), network.left_of_leaf = {{2, 0.5}};
    const auto found = findings(network);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].kind, FindingKind::slow_rank);
    EXPECT_THAT(found[0].ranks, ElementsAre(15));
    EXPECT_THAT(found[0].text, HasSubstr("rank 15 (node15), or the uplinks of its leaf switch, below which it is alone"));
  }
}

}  // namespace
}  // namespace roofmark
