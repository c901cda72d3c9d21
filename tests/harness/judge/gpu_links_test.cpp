// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/gpu_links.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// With everything that it should have.
DeviceInfo whole_h200() {
  DeviceInfo device;
  device.backend = Backend::cuda;
  device.name = "NVIDIA H200";
  GpuFacts& gpu = device.gpu;
  gpu.pcie_generation = 1;
  gpu.pcie_generation_max = gpu.pcie_generation_of_gpu = 5;
  gpu.pcie_width = gpu.pcie_width_max = gpu.pcie_width_of_gpu = 16;
  gpu.nvlink_links = 18;
  gpu.nvlink = {450e9, "18 NVLinks"};
  return device;
}

std::vector<std::string> texts(const DeviceInfo& device) {
  std::vector<std::string> texts;
  for (const Finding& finding : find_missing_links(device)) {
    EXPECT_EQ(finding.kind, FindingKind::link_training);
    EXPECT_THAT(finding.case_name, IsEmpty()) << "it follows from no record";
    texts.push_back(finding.text);
  }
  return texts;
}

std::string state(const DeviceInfo& device, const std::string& what) {
  for (const GpuLink& link : links_of(device)) {
    if (link.what == what) return link.state;
  }
  return {};
}

TEST(GpuLinks, AGpuThatHasAllIsNamedAndLacksNothing) {
  EXPECT_THAT(texts(whole_h200()), IsEmpty());
  EXPECT_EQ(state(whole_h200(), "PCIe slot"), "generation 5, the GPU has 5; 16 lanes, the GPU has 16");
  EXPECT_EQ(state(whole_h200(), "NVLinks"), "18 of 18 are up");
  EXPECT_THAT(links_of(DeviceInfo()), IsEmpty()) << "nothing is known";
}

TEST(GpuLinks, ASlotOfEightLanesIsFoundThoughBothEndsReachTheirMaximum) {
  DeviceInfo device = whole_h200();
  device.gpu.pcie_width = device.gpu.pcie_width_max = 8;
  ASSERT_THAT(texts(device), ElementsAre("the slot gives 8 lanes, the GPU has 16: it is in the wrong slot, or on the wrong "
                                         "riser: transfers get 50.0 % of its lanes"));
  EXPECT_EQ(find_missing_links(device).front().size, 0.5);
  EXPECT_EQ(find_missing_links(device).front().brief, "PCIe slot: 50.0 % of the rate is missing");
  // Some virtual machines say 0 lanes.
  device.gpu.pcie_width = device.gpu.pcie_width_max = 0;
  EXPECT_THAT(texts(device), IsEmpty());
  device.gpu.pcie_width_max = 8;
  device.gpu.host_page_tables = true;
  EXPECT_THAT(texts(device), IsEmpty()) << "PCIe is not the way";
}

TEST(GpuLinks, AGenerationThatTheHostDoesNotSupportIsAdviceAndNothingIsLost) {
  const auto older = HasSubstr("the slot gives PCIe 4, the GPU supports 5: an older machine has no better");
  DeviceInfo device = whole_h200();
  device.gpu.pcie_generation_max = 4;
  EXPECT_THAT(texts(device), IsEmpty()) << "the slot is unknown";
  EXPECT_THAT(links_of(device).front().advice, older);
  device.gpu.pcie_generation_of_slot = 4;
  EXPECT_THAT(texts(device), IsEmpty());
  EXPECT_THAT(links_of(device).front().advice, older);
  EXPECT_EQ(state(device, "PCIe slot"), "generation 4, the GPU has 5, the slot 4; 16 lanes, the GPU has 16");
  device.gpu.pcie_generation_of_slot = 1;
  EXPECT_THAT(texts(device), IsEmpty()) << "a virtual machine's port";
  EXPECT_EQ(state(device, "PCIe slot"), "generation 4, the GPU has 5; 16 lanes, the GPU has 16");
  // Fewer lanes are lost all the same, and only they.
  device.gpu.pcie_width_max = 4;
  ASSERT_THAT(texts(device), ElementsAre(testing::AllOf(older, HasSubstr("gives 4 lanes"))));
  EXPECT_EQ(find_missing_links(device).front().size, 0.75);
  device.gpu.pcie_generation_of_gpu.reset();
  device.gpu.pcie_width_of_gpu.reset();
  EXPECT_THAT(texts(device), IsEmpty()) << "the GPU's own is unknown";
}

TEST(GpuLinks, AGenerationThatBothEndsSupportAndTheLinkDoesNotReachIsLost) {
  DeviceInfo device = whole_h200();
  device.gpu.pcie_generation_max = 3;
  device.gpu.pcie_generation_of_slot = 5;
  EXPECT_EQ(state(device, "PCIe slot"), "generation 3, the GPU has 5, the slot 5; 16 lanes, the GPU has 16");
  ASSERT_THAT(texts(device), ElementsAre("the link reaches PCIe 3, the slot supports 5 and the GPU 5: check the link speed "
                                         "that the BIOS allows and the riser"));
  EXPECT_EQ(find_missing_links(device).front().size, 0.75);
  device.gpu.pcie_generation_of_slot = 4;
  EXPECT_EQ(find_missing_links(device).front().size, 0.5) << "of what the slot supports";
  device.gpu.pcie_generation_of_slot = 6;
  EXPECT_EQ(find_missing_links(device).front().size, 0.75) << "of what the GPU supports";
  device.gpu.pcie_generation_max = 5;
  EXPECT_THAT(texts(device), IsEmpty());
}

TEST(GpuLinks, NvlinksThatAreDownFromTheStartAreCounted) {
  DeviceInfo device = whole_h200();
  device.gpu.nvlink_links = 17;
  device.gpu.nvlink = {425e9, "17 NVLinks"};
  EXPECT_EQ(state(device, "NVLinks"), "17 of 18 are up");
  ASSERT_THAT(texts(device), ElementsAre(HasSubstr("1 of 18 NVLinks are down: check the connectors")));
  EXPECT_NEAR(find_missing_links(device).front().size, 1.0 / 18, 1e-12);
  device.name = "a GPU of tomorrow";
  EXPECT_THAT(texts(device), IsEmpty()) << "nobody knows how many it has";
}

TEST(GpuLinks, NoNvlinkAtAllIsAdviceOnABoardAndLegalWithoutABridge) {
  DeviceInfo device = whole_h200();
  device.gpu.nvlink_links = 0;
  device.gpu.nvlink = {};
  EXPECT_THAT(texts(device), IsEmpty()) << "as in a virtual machine with one GPU";
  EXPECT_THAT(links_of(device).back().advice, HasSubstr("a virtual machine has alone has none"));
  device.name = "NVIDIA H200 NVL";
  EXPECT_EQ(state(device, "NVLinks"), "none is up, the H200 NVL has 450 GB/s");
  EXPECT_THAT(links_of(device).back().advice, IsEmpty());
  // With the bridge there, all of its links count.
  device.gpu.nvlink_links = 12;
  device.gpu.nvlink = {300e9, "12 NVLinks"};
  ASSERT_THAT(texts(device), ElementsAre(HasSubstr("6 of 18 NVLinks are down")));
}

TEST(GpuLinks, LinksToTheCpuThatAreDownAreCounted) {
  DeviceInfo device = whole_h200();
  device.gpu.c2c_links = 10;
  device.gpu.c2c_links_up = 10;
  EXPECT_THAT(texts(device), IsEmpty());
  device.gpu.c2c_links_up = 9;
  EXPECT_EQ(state(device, "NVLink-C2C"), "9 of 10 links are up");
  ASSERT_THAT(texts(device), ElementsAre(HasSubstr("1 of 10 links to the CPU are down")));
}

}  // namespace
}  // namespace roofmark
