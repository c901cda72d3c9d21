// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/peer_path.hpp"

#include <gtest/gtest.h>

#include "harness/device/cuda/nvml.hpp"
#include "tests/harness/device/cuda/fake_nvml.hpp"

namespace roofmark::cuda {
namespace {

class PeerPathOf : public testing::Test {
 protected:
  void SetUp() override { fake_nvml::driver = {}; }
  void TearDown() override { fake_nvml::driver = {}; }

  static PeerPath path() {
    const NvmlDevice one(fake_nvml::library(), "GPU-1", "0000:1A:00.0"), other(fake_nvml::library(), "GPU-2", "0000:3B:00.0");
    return one.path_to(other);
  }
};

TEST_F(PeerPathOf, SwitchesJoinAllLinks) {
  const PeerPath found = path();
  EXPECT_EQ(found.kind, PathKind::nvlink);
  EXPECT_EQ(found.nvlinks, 18);
  EXPECT_EQ(found.refusal, "");
  fake_nvml::driver.links_up = 17;
  EXPECT_EQ(path().nvlinks, 17);
}

TEST_F(PeerPathOf, DirectLinksAreCounted) {
  fake_nvml::driver.direct_links = 4;
  EXPECT_EQ(path().nvlinks, 4);
}

// Some drivers take 20 ms for each.
TEST_F(PeerPathOf, EachLinkIsAskedOnceOfEachGpu) {
  path();
  EXPECT_EQ(fake_nvml::driver.link_states_asked, 2 * kNvlinkMaxLinks);
}

TEST_F(PeerPathOf, TheGpusThatBridgesLeadToAreKnown) {
  const auto peers = [] {
    GpuFacts facts;
    NvmlDevice(fake_nvml::library(), "GPU-1", "0000:1A:00.0").describe(facts);
    return facts.nvlink_peers;
  };
  fake_nvml::driver.direct_links = 4;
  EXPECT_TRUE(peers().empty()) << "they lead to switches";
  fake_nvml::driver.link_leads_to = 0;
  EXPECT_EQ(peers(), (std::vector<std::string>{"0000:3B:00.0", "0000:99:00.0"}));
  fake_nvml::driver.direct_links = 18;
  EXPECT_EQ(peers(), std::vector<std::string>{"0000:3B:00.0"});
  fake_nvml::driver.links_up = 0;
  EXPECT_TRUE(peers().empty());
  fake_nvml::driver.links_up = 18;
  fake_nvml::driver.missing = {"nvmlDeviceGetNvLinkRemoteDeviceType"};
  EXPECT_TRUE(peers().empty()) << "an older driver does not say where they lead";
}

TEST_F(PeerPathOf, PcieIsKnownByItsAncestor) {
  fake_nvml::driver.p2p_nvlink = 5;
  const std::pair<int, PathKind> levels[] = {{0, PathKind::board},          {10, PathKind::pcie_switch},
                                             {20, PathKind::pcie_switches}, {30, PathKind::host_bridge},
                                             {40, PathKind::numa_node},     {50, PathKind::system}};
  for (const auto& [level, kind] : levels) {
    fake_nvml::driver.ancestor = level;
    EXPECT_EQ(path().kind, kind) << level;
    EXPECT_EQ(path().nvlinks, 0);
  }
  fake_nvml::driver.ancestor = 7;
  EXPECT_FALSE(path().kind) << "a level that is not known";
}

TEST_F(PeerPathOf, ARefusalHasItsReason) {
  fake_nvml::driver.p2p_read = 1;
  EXPECT_EQ(path().refusal, "the chipset does not support it");
  fake_nvml::driver.p2p_read = 4;
  EXPECT_EQ(path().refusal, "a setting of the driver disables it");
  fake_nvml::driver.p2p_read = 99;
  EXPECT_EQ(path().refusal, "the driver gives no reason");
}

TEST_F(PeerPathOf, WhatTheMachineDoesNotOfferIsByDesignUnlessNvlinksAreUp) {
  for (const auto& [status, by_design] :
       {std::pair(0, false), {1, true}, {2, true}, {3, false}, {4, false}, {5, true}, {6, false}, {99, false}}) {
    fake_nvml::driver.p2p_read = status;
    fake_nvml::driver.links_up = 0;
    EXPECT_EQ(path().by_design, by_design) << status;
    fake_nvml::driver.links_up = 18;
    EXPECT_FALSE(path().by_design) << status;
  }
}

TEST_F(PeerPathOf, NothingIsSaidByADriverWithoutTheQuestions) {
  fake_nvml::driver.missing = {"nvmlDeviceGetP2PStatus", "nvmlDeviceGetTopologyCommonAncestor"};
  const PeerPath found = path();
  EXPECT_FALSE(found.kind);
  EXPECT_EQ(found.refusal, "");
}

TEST_F(PeerPathOf, AFabricIsReadyWhenItIsCompletedOrThereIsNone) {
  const auto ready = [] { return NvmlDevice(fake_nvml::library(), "GPU-1", "0000:1A:00.0").fabric_is_ready(); };
  for (const auto& [state, expected] : {std::pair(0, true), {1, false}, {2, false}, {3, true}}) {
    fake_nvml::driver.fabric = static_cast<unsigned char>(state);
    EXPECT_EQ(ready(), expected) << state;
  }
  fake_nvml::driver.missing = {"nvmlDeviceGetGpuFabricInfoV"};
  EXPECT_TRUE(ready());
}

TEST(PeerAccessOf, NeedsAFabricThatIsReadyAndCudasWord) {
  const PeerPath free{PathKind::nvlink, 18}, refused{PathKind::system, 0, "no", true};
  EXPECT_EQ(with_access(free, true, true).refusal, "");
  EXPECT_EQ(with_access(refused, true, true).refusal, "") << "CUDA decides";
  EXPECT_FALSE(with_access(refused, true, true).by_design);
  EXPECT_EQ(with_access(refused, true, false).refusal, "no");
  EXPECT_TRUE(with_access(refused, true, false).by_design);
  EXPECT_EQ(with_access(free, true, false).refusal, "the driver gives no reason");
  for (const bool offered : {true, false}) {
    const PeerPath found = with_access(refused, false, offered);
    EXPECT_EQ(found.refusal, "their NVLink fabric is not ready: start nvidia-fabricmanager and check its log");
    EXPECT_FALSE(found.by_design);
    EXPECT_EQ(found.kind, PathKind::system);
  }
}

}  // namespace
}  // namespace roofmark::cuda
