// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/host_network.hpp"

#include <gmock/gmock.h>

#include "tests/harness/rdma_root.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class HostNetworkTest : public testing::Test, protected RdmaRoot {
 protected:
  static FakePort down(int i) {
    FakePort port = numbered(i);
    port.state = "1: DOWN";
    port.physical_state = "2: Polling";
    return port;
  }
  static FakePort slow(int i) {
    FakePort port = numbered(i);
    port.rate = "200 Gb/sec (4X HDR)";
    return port;
  }
  std::string faults(const std::map<std::string, std::string>& variables = {}) const {
    return in_words(describe_network(variables, root).faults);
  }
};

TEST_F(HostNetworkTest, EightHealthyPortsHaveNoFault) {
  put_eight();
  put_gpus(8);
  const HostNetwork network = describe_network({}, root);
  EXPECT_EQ(network.nics.size(), 8u);
  EXPECT_EQ(network.ports.size(), 8u);
  EXPECT_THAT(network.faults, IsEmpty());
  EXPECT_FALSE(network.hung);
}

TEST_F(HostNetworkTest, OneDownAndOneSlowAreFaults) {
  put_eight();
  put_gpus(8);
  put_port(down(3));
  EXPECT_EQ(faults(), "mlx5_3:1 is down (Polling), 7 of its kind are up with 400 Gb/s");
  put_port(slow(5));
  EXPECT_EQ(faults(),
            "mlx5_3:1 is down (Polling), 6 of its kind are up with 400 Gb/s; "
            "mlx5_5:1 has 200 Gb/s, 6 of its kind are up with 400 Gb/s");
  FakePort waiting = numbered(3);
  waiting.state = "2: INIT";
  put_port(waiting);
  EXPECT_THAT(faults(), HasSubstr("mlx5_3:1 is not up: INIT (LinkUp), 6 of"));
  put_port(slow(6));
  EXPECT_EQ(faults(), "") << "more than a quarter is otherwise: so is the host wired";
}

TEST_F(HostNetworkTest, OnlyWhatIsLikeThemIsAPeer) {
  put_eight();
  put_gpus(8);
  // The second port of a card for storage, and an unplugged one on the board.
  FakePort storage = down(8);
  storage.board = "MT_0000000359";
  put_port(storage);
  storage = down(9);
  storage.bus_id = "0000:19:00.1";
  put_port(storage);
  FakePort onboard = down(10);
  onboard.chip = "0x1015";
  onboard.layer = "Ethernet";
  onboard.interface = "eno1";
  put_port(onboard);
  EXPECT_EQ(faults(), "");
}

TEST_F(HostNetworkTest, WhatIsSwitchedOffOrLeftOutIsNone) {
  put_eight();
  FakePort off = down(3);
  off.physical_state = "3: Disabled";
  put_port(off);
  EXPECT_EQ(faults(), "");
  put_port(down(3));
  EXPECT_NE(faults(), "");
  EXPECT_EQ(faults({{"NCCL_IB_HCA", "^mlx5_3"}}), "");
  EXPECT_NE(faults({{"NCCL_IB_HCA", "mlx5"}}), "");
  put("sys/class/infiniband/mlx5_3/device/physfn/class", "0x020700");
  EXPECT_EQ(faults(), "") << "a virtual function that no machine has";
}

TEST_F(HostNetworkTest, PortsBesideThoseOfTheGpusServeSomethingElse) {
  put_eight();
  put_gpus(8);
  put_port(slow(8));
  put_port(down(9));
  EXPECT_EQ(faults(), "") << "each GPU has its port; storage may be slower or not connected";
  put_port(down(0));
  put_port(numbered(9));
  EXPECT_EQ(faults(), "") << "again eight";
  put_port(down(9));
  EXPECT_EQ(faults(), "") << "three of ten";
}

TEST_F(HostNetworkTest, FewPortsSayNothing) {
  put_port(numbered(0));
  put_port(numbered(1));
  put_port(down(2));
  EXPECT_EQ(faults(), "");
  put_port(numbered(3));
  EXPECT_THAT(faults(), HasSubstr("mlx5_2:1 is down"));
  put_gpus(1);
  EXPECT_EQ(faults(), "") << "a workstation";
}

TEST_F(HostNetworkTest, ACardWithFewerLanesThanItAndItsSlotHave) {
  put_eight();
  FakePort narrow = numbered(2);
  narrow.width = "8";
  put_port(narrow);
  EXPECT_EQ(faults(), "mlx5_2:1 is behind PCIe 5 x8, which carries less than its 400 Gb/s; card and slot support PCIe 5 x16");
  narrow.width_at_most = "8";
  put_port(narrow);
  EXPECT_EQ(faults(),
            "mlx5_2:1 is behind PCIe 5 x8, which carries less than its 400 Gb/s; 7 of its kind have as much as theirs");
  narrow.rate = "200 Gb/sec (4X HDR)";
  put_port(narrow);
  EXPECT_THAT(faults(), testing::Not(HasSubstr("PCIe"))) << "it carries that";
}

TEST_F(HostNetworkTest, SlotsOfAHostOrAVirtualMachineMayBeNarrow) {
  for (int i = 0; i < 8; ++i) {
    FakePort port = numbered(i);
    port.width = port.width_at_most = "8";
    put_port(port);
  }
  EXPECT_EQ(faults(), "") << "they have no more";
  for (int i = 0; i < 8; ++i) {
    FakePort port = numbered(i);
    port.width = "8";
    put_port(port);
  }
  EXPECT_THAT(faults(), HasSubstr("mlx5_7:1 is behind PCIe 5 x8"));
  put("proc/cpuinfo", "flags\t\t: fpu hypervisor");
  EXPECT_EQ(faults(), "") << "what its slots state is not the hardware's";
}

TEST_F(HostNetworkTest, ABondIsOnePortAndAdaptersWithoutALinkLayerAreAlike) {
  FakePort bond;
  bond.device = "mlx5_bond_0";
  bond.layer = "Ethernet";
  bond.interface = "bond0";
  bond.member = "ens1";
  put_port(bond);
  put("sys/class/net/bond0/speed", "200000");
  for (int i = 0; i < 4; ++i) {
    FakePort efa = numbered(i);
    efa.device = "efa_" + std::to_string(i);
    efa.layer = "Unspecified";
    efa.vendor = "0x1d0f";
    efa.rate = "100 Gb/sec (4X EDR)";
    put_port(efa);
  }
  const HostNetwork network = describe_network({}, root);
  EXPECT_THAT(network.faults, IsEmpty());
  ASSERT_EQ(network.nics.size(), 5u);
  EXPECT_EQ(network.nics.back().bytes_per_second, 25e9);
}

TEST_F(HostNetworkTest, NoRdmaAtAll) {
  const HostNetwork network = describe_network({}, root);
  EXPECT_THAT(network.ports, IsEmpty());
  EXPECT_THAT(network.faults, IsEmpty());
  EXPECT_FALSE(port_counters(network, root));
}

TEST_F(HostNetworkTest, CountersAreThoseOfThePortsThatCollectivesUse) {
  put_eight();
  FakePort management = numbered(8);
  management.layer = "Ethernet";
  management.rate = "100 Gb/sec (4X EDR)";
  put_port(management);
  const auto read = port_counters(describe_network({}, root), root);
  ASSERT_TRUE(read);
  EXPECT_EQ(read().size(), 8u);
  EXPECT_FALSE(read().contains("mlx5_8:1"));
  std::filesystem::remove_all(root / "sys/class/infiniband/mlx5_1");
  EXPECT_EQ(read().at("mlx5_1:1").at("network_ports"), 0) << "it fell off the bus";
}

}  // namespace
}  // namespace roofmark
