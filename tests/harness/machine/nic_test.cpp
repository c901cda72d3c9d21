// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/nic.hpp"

#include <gmock/gmock.h>

#include "tests/harness/rdma_root.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NicsTest : public testing::Test, protected RdmaRoot {
 protected:
  void put_port(const std::string& device, const std::string& rate, const std::string& layer = "InfiniBand",
                const std::string& state = "4: ACTIVE", const std::string& numa = "1") const {
    const std::string port = "sys/class/infiniband/" + device + "/ports/1/";
    put(port + "rate", rate);
    put(port + "link_layer", layer);
    put(port + "state", state);
    put("sys/class/infiniband/" + device + "/device/numa_node", numa);
  }
  static std::string net(const std::string& name) { return "sys/class/net/" + name + "/"; }
  /// As the kernel shows one that is up and nothing more.
  void put_interface(const std::string& name, const std::string& speed, int type = 1, int index = 2, int link = 2) const {
    put(net(name) + "type", std::to_string(type));
    put(net(name) + "operstate", "up");
    put(net(name) + "ifindex", std::to_string(index));
    put(net(name) + "iflink", std::to_string(link));
    if (!speed.empty()) put(net(name) + "speed", speed);
  }
  void put_hardware(const std::string& name, const std::string& speed, const std::string& numa = "0") const {
    put_interface(name, speed);
    put(net(name) + "device/numa_node", numa);
  }
  /// A virtual function of the device.
  void put_virtual_port(const std::string& device, const std::string& physical) const {
    put_port(device, "400 Gb/sec (4X NDR)");
    put("sys/class/infiniband/" + device + "/device/physfn/infiniband/" + physical + "/node_type", "1: CA");
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const Nic& nic : read_nics(root)) found.push_back(nic.name);
    return found;
  }
};

TEST_F(NicsTest, InfiniBandPortsThatAreUpWithTheRateOfTheirData) {
  put_port("mlx5_0", "400 Gb/sec (4X NDR)");
  put_port("mlx5_1", "200 Gb/sec (4X HDR)", "InfiniBand", "4: ACTIVE", "-1");
  put_port("mlx5_2", "40 Gb/sec (4X SDR)", "InfiniBand", "1: DOWN");
  put_port("mlx5_3", "10 Gb/sec (4X SDR)", "InfiniBand", "2: INIT");
  put_hardware("eth0", "25000");
  const auto nics = read_nics(root);
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].name, "mlx5_0:1");
  EXPECT_EQ(nics[0].kind, "InfiniBand");
  EXPECT_EQ(nics[0].bytes_per_second, 50e9);
  EXPECT_EQ(nics[0].numa_node, 1);
  EXPECT_EQ(nics[1].name, "mlx5_1:1");
  EXPECT_EQ(nics[1].bytes_per_second, 25e9);
  EXPECT_FALSE(nics[1].numa_node);
}

TEST_F(NicsTest, OfTheOlderInfiniBandTheEncodingIsTakenOff) {
  put_port("b", "20 Gb/sec (4X DDR)");
  put_port("c", "40 Gb/sec (4X QDR)");
  put_port("d", "40 Gb/sec (4X FDR10)");
  put_port("e", "56 Gb/sec (4X FDR)");
  put_port("f", "100 Gb/sec (4X EDR)");
  put_port("g", "40 Gb/sec (4X QDR)", "Ethernet");
  put_port("h", "");
  std::vector<double> gigabits;
  for (const Nic& nic : read_nics(root)) gigabits.push_back(nic.bytes_per_second.value_or(0) * 8 / 1e9);
  EXPECT_THAT(gigabits, ElementsAre(16, 32, 40, testing::DoubleNear(54.3, 0.01), 100, 40, 0));
}

TEST_F(NicsTest, ARateThatTheKernelHasNoNameForIsUnknown) {
  put_port("a", "10 Gb/sec (4X SDR)");
  put_port("b", "10 Gb/sec (4X)");
  put_port("c", "10 Gb/sec (4X SDR)", "Ethernet");
  for (const Nic& nic : read_nics(root)) EXPECT_FALSE(nic.bytes_per_second) << nic.name;
  EXPECT_THAT(names(), ElementsAre("a:1", "b:1", "c:1"));
}

TEST_F(NicsTest, RoceHasTheRateOfItsInterface) {
  put_port("mlx5_0", "100 Gb/sec (4X EDR)", "Ethernet");
  put("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "bond0");
  put(net("bond0") + "speed", "200000");
  link(net("ens0") + "device", "sys/class/infiniband/mlx5_0/device");
  link(net("bond0") + "lower_ens0", net("ens0"));
  put_port("mlx5_1", "100 Gb/sec (4X EDR)", "Ethernet");
  put("sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0", "ens1");
  put(net("ens1") + "speed", "-1");
  link(net("ens1") + "device", "sys/class/infiniband/mlx5_1/device");
  put_port("rdmap0", "100 Gb/sec (4X EDR)", "Unspecified");
  const auto nics = read_nics(root);
  ASSERT_EQ(nics.size(), 3u);
  EXPECT_EQ(nics[0].kind, "RoCE");
  EXPECT_EQ(nics[0].bytes_per_second, 25e9);
  EXPECT_EQ(nics[1].bytes_per_second, 12.5e9);
  EXPECT_EQ(nics[2].kind, "RDMA");
}

TEST_F(NicsTest, PortsOfVirtualFunctionsArePartOfThoseOfTheirDevice) {
  put_port("mlx5_0", "400 Gb/sec (4X NDR)");
  put_virtual_port("mlx5_1", "mlx5_0");
  const auto nics = read_nics(root);
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].part_of, "");
  EXPECT_EQ(nics[1].part_of, "mlx5_0:1");
}

TEST_F(NicsTest, InterfacesOfVirtualFunctionsArePartOfThatOfTheirDevice) {
  put_hardware("ens1", "100000");
  put_hardware("ens1v0", "100000");
  put(net("ens1v0") + "device/physfn/net/ens1/mtu", "1500");
  const auto nics = read_nics(root);
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].part_of, "");
  EXPECT_EQ(nics[1].part_of, "ens1");
}

TEST_F(NicsTest, WhatTheKernelDoesNotShowIsNotThere) {
  put_hardware("eth0", "100000");
  std::filesystem::create_symlink("brport", root / (net("eth0") + "brport"));  // it cannot be followed
  EXPECT_THAT(names(), ElementsAre("eth0"));
}

TEST_F(NicsTest, WhereNoPortIsUpTheHardwaresInterfacesCount) {
  put_port("mlx5_0", "40 Gb/sec (4X QDR)", "InfiniBand", "1: DOWN");
  put_interface("lo", "", 772, 1, 1);
  put_hardware("eth1", "10000", "1");
  put_hardware("eth0", "100000", "-1");
  put_hardware("eth2", "10000");
  put(net("eth2") + "operstate", "down");
  put_hardware("eth3", "-1");  // virtio
  put_hardware("eth4", "");    // reading it fails
  put(net("eth4") + "operstate", "unknown");
  put(net("eth4") + "carrier", "1");
  put_interface("ib0", "100000", 32);  // IP over the port that is down
  put(net("ib0") + "device/numa_node", "0");
  put_hardware("eth5", "10000");
  put(net("eth5") + "operstate", "unknown");
  const auto nics = read_nics(root);
  EXPECT_THAT(names(), ElementsAre("eth0", "eth1", "eth3", "eth4"));
  EXPECT_EQ(nics[0].kind, "Ethernet");
  EXPECT_EQ(nics[0].bytes_per_second, 12.5e9);
  EXPECT_FALSE(nics[0].numa_node);
  EXPECT_EQ(nics[1].numa_node, 1);
  EXPECT_FALSE(nics[2].bytes_per_second);
  EXPECT_FALSE(nics[3].bytes_per_second);
}

TEST_F(NicsTest, ABondCountsAndItsMembersDoNot) {
  put_interface("bond0", "50000");
  put(net("bond0") + "bonding/slaves", "eth0 eth1");
  put_interface("bond1", "50000");
  put(net("bond1") + "bonding/slaves", "eth0 eth2");
  for (const char* name : {"eth0", "eth1", "eth2"}) {
    put_hardware(name, "25000", std::string(name) == "eth2" ? "0" : "1");
    put(net(name) + "master/type", "1");
  }
  put_interface("bond0.7", "50000", 1, 9, 5);
  put(net("bond0.7") + "lower_bond0/type", "1");
  const auto nics = read_nics(root);
  EXPECT_THAT(names(), ElementsAre("bond0", "bond1"));
  EXPECT_EQ(nics[0].bytes_per_second, 6.25e9);
  EXPECT_EQ(nics[0].numa_node, 1);
  EXPECT_FALSE(nics[1].numa_node);
}

TEST_F(NicsTest, BridgesDoNotCountAndHardwareBehindThemDoes) {
  put_interface("docker0", "10000");
  put(net("docker0") + "bridge/bridge_id", "8000");
  put_interface("veth1", "10000", 1, 8, 3);
  put(net("veth1") + "brport/state", "3");
  put(net("veth1") + "master/type", "1");
  EXPECT_THAT(names(), IsEmpty());
  put_hardware("eth0", "10000");
  put(net("eth0") + "brport/state", "3");
  put(net("eth0") + "master/type", "1");
  EXPECT_THAT(names(), ElementsAre("eth0"));
}

TEST_F(NicsTest, AContainersEndOfAPairIsOfUnknownRateAndGivesWayToHardware) {
  put_interface("eth0", "10000", 1, 2, 17);
  put_interface("dummy0", "10000", 1, 3, 3);
  put_interface("eth0.5", "10000", 1, 4, 2);
  put(net("eth0.5") + "lower_eth0/type", "1");
  EXPECT_THAT(names(), ElementsAre("eth0"));
  EXPECT_FALSE(read_nics(root).front().bytes_per_second);
  put_hardware("ens1", "10000");
  EXPECT_THAT(names(), ElementsAre("ens1"));
}

/// "b:1 | a:1, c:1": counted, and others.
std::string choice_of(const std::vector<Nic>& ports, const std::string& hca = "") {
  const PortChoice choice = ports_of_collectives(ports, hca);
  std::string text;
  for (const Nic& port : choice.counted) text += port.name + " ";
  text += "|";
  for (const Nic& port : choice.others) text += " " + port.name;
  return text;
}

TEST(PortsOfCollectives, AreThoseOfTheClassThatCarriesTheMost) {
  std::vector<Nic> ports;
  for (const char* name : {"mlx5_0:1", "mlx5_1:1", "mlx5_2:1"}) ports.push_back({name, "InfiniBand", 50e9, {}});
  ports.push_back({"mlx5_3:1", "InfiniBand", 25e9, {}});
  for (const char* name : {"mlx5_4:1", "mlx5_5:1"}) ports.push_back({name, "RoCE", 50e9, {}});
  EXPECT_EQ(choice_of(ports), "mlx5_0:1 mlx5_1:1 mlx5_2:1 | mlx5_3:1 mlx5_4:1 mlx5_5:1");
  // One fast port beside two for management.
  EXPECT_EQ(choice_of({{"a", "Ethernet", 3e9, {}}, {"b", "Ethernet", 3e9, {}}, {"c", "Ethernet", 50e9, {}}}), "c | a b");
  // As much together: the most ports.
  EXPECT_EQ(choice_of({{"a", "RoCE", 100e9, {}}, {"b", "InfiniBand", 50e9, {}}, {"c", "InfiniBand", 50e9, {}}}), "b c | a");
  ports[3].bytes_per_second.reset();
  EXPECT_EQ(choice_of(ports), "mlx5_0:1 mlx5_1:1 mlx5_2:1 mlx5_3:1 mlx5_4:1 mlx5_5:1 |") << "it may be one of them";
  EXPECT_EQ(choice_of({}), "|");
}

TEST(PortsOfCollectives, AreThoseThatNcclIsToldToUse) {
  std::vector<Nic> ports;
  for (const char* name : {"mlx5_0:1", "mlx5_1:1", "mlx5_1:2", "mlx5_10:1", "bnxt_0:1"}) {
    ports.push_back({name, "InfiniBand", name[0] == 'b' ? std::nullopt : std::optional(50e9), {}});
  }
  EXPECT_EQ(choice_of(ports, "mlx5_1"), "mlx5_1:1 mlx5_1:2 mlx5_10:1 | mlx5_0:1 bnxt_0:1") << "a prefix";
  EXPECT_EQ(choice_of(ports, "=mlx5_1"), "mlx5_1:1 mlx5_1:2 | mlx5_0:1 mlx5_10:1 bnxt_0:1");
  EXPECT_EQ(choice_of(ports, "=mlx5_1:2,mlx5_0:1"), "mlx5_0:1 mlx5_1:2 | mlx5_1:1 mlx5_10:1 bnxt_0:1");
  EXPECT_EQ(choice_of(ports, "^mlx5_1,bnxt"), "mlx5_0:1 | mlx5_1:1 mlx5_1:2 mlx5_10:1 bnxt_0:1");
  EXPECT_EQ(choice_of(ports, "^=mlx5_1:1,mlx5_0"), "mlx5_1:2 mlx5_10:1 bnxt_0:1 | mlx5_0:1 mlx5_1:1");
  EXPECT_EQ(choice_of(ports, "=mlx5_1::0:0,mlx5_0:1:0:1"), "mlx5_0:1 mlx5_1:1 mlx5_1:2 | mlx5_10:1 bnxt_0:1")
      << "with rail and plane, of all ports or of one";
  EXPECT_EQ(choice_of(ports, "nothing"), "| mlx5_0:1 mlx5_1:1 mlx5_1:2 mlx5_10:1 bnxt_0:1");
  EXPECT_EQ(choice_of(ports, "="), "mlx5_0:1 mlx5_1:1 mlx5_1:2 mlx5_10:1 bnxt_0:1 |") << "an empty list names all";
  EXPECT_EQ(choice_of({{"eth0", "Ethernet", 10e9, {}}}, "mlx5_0"), "eth0 |") << "it names no such interface";
}

TEST(PortsOfCollectives, OfVirtualFunctionsOfOneDeviceCountOnce) {
  std::vector<Nic> ports;
  for (const char* name : {"mlx5_0:1", "mlx5_1:1"}) ports.push_back({name, "InfiniBand", 50e9, {}});
  for (const char* name : {"mlx5_10:1", "mlx5_11:1", "mlx5_12:1"}) ports.push_back({name, "RoCE", 25e9, {}, "mlx5_2:1"});
  ports.push_back({"mlx5_2:1", "RoCE", 25e9, {}});
  for (const char* name : {"mlx5_3:1", "mlx5_4:1"}) ports.push_back({name, "InfiniBand", 50e9, {}, "mlx5_0:1"});
  EXPECT_EQ(choice_of(ports), "mlx5_0:1 mlx5_1:1 | mlx5_10:1 mlx5_11:1 mlx5_12:1 mlx5_2:1 mlx5_3:1 mlx5_4:1");
  EXPECT_EQ(choice_of(ports, "=mlx5_3,mlx5_4,mlx5_1"),
            "mlx5_1:1 mlx5_3:1 | mlx5_0:1 mlx5_10:1 mlx5_11:1 mlx5_12:1 mlx5_2:1 mlx5_4:1");
  EXPECT_EQ(choice_of(ports, "=mlx5_10,mlx5_2"), "mlx5_2:1 | mlx5_0:1 mlx5_1:1 mlx5_10:1 mlx5_11:1 mlx5_12:1 mlx5_3:1 mlx5_4:1")
      << "the device itself rather than a part of it";
}

TEST_F(NicsTest, NoneWhereThereAreNoTables) { EXPECT_THAT(names(), IsEmpty()); }

}  // namespace
}  // namespace roofmark
