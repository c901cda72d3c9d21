// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/rdma_ports.hpp"

#include <gmock/gmock.h>

#include "tests/harness/rdma_root.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class RdmaPortsTest : public testing::Test, protected RdmaRoot {};

TEST_F(RdmaPortsTest, AreAllThatADeviceHasWithCardAndLink) {
  FakePort port = numbered(3);
  port.state = "1: DOWN";
  port.physical_state = "2: Polling";
  port.width = "8";
  put_port(port);
  const auto ports = read_rdma_ports(root);
  ASSERT_EQ(ports.size(), 1u);
  const RdmaPort& read = ports.front();
  EXPECT_EQ(read.name, "mlx5_3:1");
  EXPECT_EQ(read.kind, "InfiniBand");
  EXPECT_EQ(read.state, "DOWN");
  EXPECT_EQ(read.physical_state, "Polling");
  EXPECT_FALSE(read.is_up());
  EXPECT_EQ(read.switched_off, false);
  EXPECT_EQ(read.bytes_per_second, 50e9);
  EXPECT_EQ(read.model, "0x15b3:0x1021 0x15b3 0x0041 MT_0000000838");
  EXPECT_EQ(read.position, "0.1");
  EXPECT_EQ(read.pci_bus_id, "0000:13:00.0");
  EXPECT_EQ(read.pcie, (PciLinkMaximum{5, 8}));
  EXPECT_EQ(read.pcie_at_most, (PciLinkMaximum{5, 16}));
  EXPECT_FALSE(read.is_virtual_function);
}

TEST_F(RdmaPortsTest, HaveTheSettingsThatTwoEndsShouldShare) {
  put_port(numbered(0));
  put("sys/class/infiniband/mlx5_0/fw_ver", "28.43.2026");
  put("sys/class/infiniband/mlx5_0/ports/1/pkeys/0", "0xffff");
  FakePort roce = numbered(1);
  roce.layer = "Ethernet";
  roce.interface = "eth1";
  put_port(roce);
  put("sys/class/infiniband/mlx5_1/ports/1/pkeys/0", "0xffff");
  put("sys/class/net/eth1/mtu", "9000");
  const auto ports = read_rdma_ports(root);
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].settings, (PortSettings{"28.43.2026", "0xffff", {}}));
  EXPECT_EQ(ports[1].settings, (PortSettings{"", "", 9000}));
  EXPECT_EQ(read_nics(root).back().settings.mtu, 9000);
}

TEST_F(RdmaPortsTest, SayWhoSwitchedThemOffWhereThatCanBeTold) {
  FakePort off = numbered(0);
  off.state = "1: DOWN";
  off.physical_state = "3: Disabled";
  put_port(off);
  FakePort roce = numbered(1);
  roce.layer = "Ethernet";
  roce.state = off.state;
  roce.physical_state = off.physical_state;  // mlx5 says so of a RoCE port without a carrier
  roce.interface = "eth1";
  put_port(roce);
  roce.device = "mlx5_2";
  roce.interface = "eth2";
  roce.flags = "0x1002";
  put_port(roce);
  roce.device = "mlx5_3";
  roce.interface = "";  // in another network namespace
  put_port(roce);
  std::vector<std::optional<bool>> found;
  for (const RdmaPort& port : read_rdma_ports(root)) found.push_back(port.switched_off);
  EXPECT_THAT(found, ElementsAre(true, false, true, std::nullopt));
}

TEST_F(RdmaPortsTest, AnElasticFabricAdapterIsRdmaAndUp) {
  FakePort efa;
  efa.device = "rdmap0s6";
  efa.layer = "Unspecified";
  efa.vendor = "0x1d0f";
  efa.rate = "200 Gb/sec (4X HDR)";
  put_port(efa);
  const auto ports = read_rdma_ports(root);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports.front().kind, "RDMA");
  EXPECT_TRUE(ports.front().is_up());
  EXPECT_EQ(read_port_counters({"rdmap0s6:1"}, root).at("rdmap0s6:1"),
            (PortReading{{"network_ports", 1}, {"network_rate", 200}}));
}

TEST_F(RdmaPortsTest, AnElasticFabricAdapterOf100GigabitsIsOfUnknownRate) {
  FakePort port = numbered(0);
  port.layer = "Unspecified";
  port.rate = "100 Gb/sec (4X EDR)";
  put_port(port);
  port.device = "mlx5_1";
  port.vendor = "0x1d0f";
  put_port(port);
  const auto ports = read_rdma_ports(root);
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].bytes_per_second, 12.5e9) << "another's";
  EXPECT_FALSE(ports[1].bytes_per_second);
  EXPECT_EQ(read_port_counters({"mlx5_1:1"}, root).at("mlx5_1:1"), (PortReading{{"network_ports", 1}}));
}

TEST_F(RdmaPortsTest, CountersOfInfiniBandAreThoseOfThePortAndOfRoceTheInterfaces) {
  const FakePort port = numbered(0);
  put_port(port);
  for (const auto& [name, value] : {std::pair("link_downed", "3"), {"link_error_recovery", "4"}, {"symbol_error", "5"}}) {
    put(port_folder(port) + "counters/" + name, value);
  }
  put(port_folder(port) + "counters/local_link_integrity_errors", "not a number");
  put(port_folder(port) + "hw_counters/local_ack_timeout_err", "6");
  FakePort roce = numbered(1);
  roce.layer = "Ethernet";
  roce.interface = "bond0";
  roce.member = "ens1";
  put_port(roce);
  put("sys/class/net/bond0/speed", "200000");
  put("sys/class/net/bond0/carrier_down_count", "2");
  put(port_folder(roce) + "counters/link_downed", "0");
  put(port_folder(roce) + "hw_counters/rp_cnp_handled", "70000000000");
  put(port_folder(roce) + "hw_counters/packet_seq_err", "8");
  const auto read = read_port_counters({"mlx5_0:1", "mlx5_1:1"}, root);
  EXPECT_THAT(read.at("mlx5_0:1"), UnorderedElementsAre(Pair("network_ports", 1), Pair("network_rate", 400),
                                                        Pair("network_link_downs", 3), Pair("network_link_recoveries", 4),
                                                        Pair("network_symbol_errors", 5), Pair("network_timeouts", 6)));
  EXPECT_THAT(read.at("mlx5_1:1"),
              UnorderedElementsAre(Pair("network_ports", 1), Pair("network_rate", 200), Pair("network_carrier_downs", 2),
                                   Pair("network_congestion_notifications", 7e10), Pair("network_sequence_errors", 8)));
}

TEST_F(RdmaPortsTest, AForeignInterfaceOfTheSameNameIsNotThePorts) {
  FakePort roce = numbered(0);
  roce.layer = "Ethernet";
  roce.interface = "eth0";
  put_port(roce);
  put("sys/class/net/eth0/speed", "10000");
  put("sys/class/net/eth0/carrier_down_count", "2");
  const auto rate = [&] { return read_rdma_ports(root).front().bytes_per_second; };
  EXPECT_EQ(rate(), 1.25e9);
  // The name is that of an interface in another network namespace; here a virtual one has it, then another card's.
  std::filesystem::remove(root / "sys/class/net/eth0/device");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(rate(), 50e9);
    EXPECT_EQ(read_rdma_ports(root).front().interface, "");
    EXPECT_EQ(read_rdma_ports(root).front().switched_off, std::nullopt);
    EXPECT_THAT(read_port_counters({"mlx5_0:1"}, root).at("mlx5_0:1"),
                UnorderedElementsAre(Pair("network_ports", 1), Pair("network_rate", 400)));
    put("sys/devices/pci0000:00/0000:00:02.0/0000:2a:00.0/vendor", "0x15b3");
    link("sys/class/net/eth0/device", "sys/devices/pci0000:00/0000:00:02.0/0000:2a:00.0");
  }
}

TEST_F(RdmaPortsTest, AVlanOnABondIsOfTheBondsMembers) {
  FakePort roce = numbered(0);
  roce.layer = "Ethernet";
  roce.interface = "bond0";
  roce.member = "ens1";
  put_port(roce);
  put(port_folder(roce) + "gid_attrs/ndevs/0", "bond0.7");
  put("sys/class/net/bond0.7/speed", "200000");
  link("sys/class/net/bond0.7/lower_bond0", "sys/class/net/bond0");
  EXPECT_EQ(read_rdma_ports(root).front().interface, "bond0.7");
  EXPECT_EQ(read_rdma_ports(root).front().bytes_per_second, 25e9);
}

TEST_F(RdmaPortsTest, APortThatHasGoneIsNotUpAndWithoutTablesNothingIsKnown) {
  EXPECT_THAT(read_port_counters({"mlx5_0:1"}, root), IsEmpty());
  put_port(numbered(1));
  EXPECT_THAT(read_port_counters({"mlx5_0:1"}, root), ElementsAre(Pair("mlx5_0:1", ElementsAre(Pair("network_ports", 0)))));
}

}  // namespace
}  // namespace roofmark
