// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/host_networks.hpp"

#include <gmock/gmock.h>

#include "harness/judge/network_health.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two ranks per host, on hosts of so many ports of a rate in Gb/s.
std::vector<RankInfo> team(const std::vector<std::pair<int, double>>& hosts) {
  std::vector<RankInfo> members;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (int local = 0; local < 2; ++local) {
      RankInfo& member = members.emplace_back();
      member.rank = static_cast<int>(members.size()) - 1;
      member.host = "node" + std::to_string(host);
      member.device_name = "NVIDIA H200";
      member.port_faults.emplace();
      for (int port = 0; port < hosts[host].first; ++port) {
        member.nics.push_back({"mlx5_" + std::to_string(port) + ":1", "InfiniBand", hosts[host].second * 1e9 / 8, {}});
      }
    }
  }
  return members;
}

TEST(FindNetworkFaults, HostsThatAreAlikeHaveNone) {
  EXPECT_THAT(find_network_faults(team({{8, 400}, {8, 400}, {8, 400}})), IsEmpty());
  EXPECT_THAT(find_network_faults(team({{1, 100}})), IsEmpty());
  EXPECT_THAT(find_network_faults({}), IsEmpty());
}

TEST(FindNetworkFaults, NamesTheHostWithFewerOrSlowerPorts) {
  auto found = find_network_faults(team({{8, 400}, {7, 400}, {8, 400}}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FindingKind::network_ports);
  EXPECT_EQ(found[0].text,
            "node1: it has 7 ports of 400 Gb/s InfiniBand, 2 other hosts of the run have 8 ports of 400 Gb/s InfiniBand");
  EXPECT_THAT(found[0].ranks, ElementsAre(2, 3));
  found = find_network_faults(team({{8, 200}, {8, 400}}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].brief,
              HasSubstr("node0: it has 8 ports of 200 Gb/s InfiniBand, 1 other host of the run has 8 ports of"));
}

TEST(FindNetworkFaults, NamesTheHostWhoseRdmaPortsAreAllDown) {
  auto members = team({{8, 400}, {0, 400}});
  for (int rank : {2, 3}) members[static_cast<std::size_t>(rank)].nics = {{"eth0", "Ethernet", 1.25e9, {}}};
  const auto found = find_network_faults(members);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("node1: it has no RDMA port that is up, 1 other host of the run has 8 ports"));
  for (int rank : {2, 3}) members[static_cast<std::size_t>(rank)].port_faults.reset();
  EXPECT_THAT(find_network_faults(members), IsEmpty()) << "a host without RDMA devices is of another kind";
  EXPECT_THAT(find_network_faults(team({{0, 400}, {0, 400}})), IsEmpty());
}

TEST(FindNetworkFaults, DoesNotCompareWhatIsNotAlike) {
  EXPECT_THAT(find_network_faults(team({{8, 400}, {8, 400}, {9, 400}})), IsEmpty()) << "more is no fault";
  EXPECT_THAT(find_network_faults(team({{8, 400}, {4, 400}, {2, 400}})), IsEmpty()) << "no two are alike";
  auto others = team({{8, 400}, {4, 400}});
  for (int rank : {2, 3}) others[static_cast<std::size_t>(rank)].device_name = "NVIDIA L4";
  EXPECT_THAT(find_network_faults(others), IsEmpty()) << "hosts of another kind";
  auto unread = team({{8, 400}, {4, 400}});
  for (RankInfo& member : unread) member.port_faults.reset();
  EXPECT_THAT(find_network_faults(unread), IsEmpty());
}

TEST(FindNetworkFaults, NamesAPortThatTheHostItselfShowsOnce) {
  auto members = team({{8, 400}, {7, 400}});
  for (int rank : {2, 3}) {
    members[static_cast<std::size_t>(rank)].port_faults->push_back(
        {"mlx5_7:1", "is down (Polling), 7 of its kind are up with 400 Gb/s", false, "InfiniBand", 50e9});
  }
  const auto found = find_network_faults(members);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "node1: mlx5_7:1 is down (Polling), 7 of its kind are up with 400 Gb/s");
  EXPECT_THAT(found[0].ranks, ElementsAre(2, 3));
  const auto rows = networks_health(members);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0].state, HasSubstr("8 ports of 400 Gb/s InfiniBand: mlx5_0:1"));
  EXPECT_EQ(rows[0].advice, "");
  EXPECT_EQ(rows[1].rank, 2);
  EXPECT_THAT(rows[1].advice, HasSubstr("mlx5_7:1 is down"));
  // The ceiling says what it lacks.
  const Roofline links = theoretical_links(members);
  const Ceiling* const network = links.find(resource::network);
  ASSERT_TRUE(network);
  EXPECT_EQ(network->theoretical, 350e9);
  EXPECT_THAT(network->theoretical_source, HasSubstr("where mlx5_7:1 is down"));
}

TEST(FindNetworkFaults, AFaultInAnotherNetworkOfAHostIsNoneOfTheOtherHosts) {
  auto members = team({{8, 400}, {8, 400}});
  for (int rank : {2, 3}) {
    members[static_cast<std::size_t>(rank)].port_faults->push_back({"mlx5_s3:1", "is down", false, "InfiniBand", 25e9});
  }
  const auto found = find_network_faults(members);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "node1: mlx5_s3:1 is down");
}

TEST(NetworkHealth, OfAHostWhoseKernelDoesNotAnswerIsUnknownToItsTeam) {
  auto members = team({{8, 400}, {0, 400}});
  for (int rank : {2, 3}) {
    members[static_cast<std::size_t>(rank)].port_faults.reset();
    members[static_cast<std::size_t>(rank)].network_hung = true;
  }
  const auto rows = networks_health(members);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].rank, 2);
  EXPECT_THAT(rows[1].state, HasSubstr("did not answer in time"));
}

TEST(NetworkHealth, ShowsWhatThereIsAndWhatIsNotUp) {
  EXPECT_FALSE(network_health({}));
  HostNetwork network;
  network.nics = {{"mlx5_0:1", "InfiniBand", 50e9, {}}};
  RdmaPort port;
  port.name = "mlx5_1:1";
  port.state = "DOWN";
  port.physical_state = "Disabled";
  port.switched_off = true;
  network.ports = {port};
  auto row = network_health(network);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->state, "1 port of 400 Gb/s InfiniBand: mlx5_0:1; not up: mlx5_1:1 (Disabled, switched off)");
  EXPECT_EQ(row->advice, "");
  port.name = "mlx5_2:1";
  network.ports.push_back(port);
  network.faults = {{"mlx5_2:1", "is down (Polling)", false}};
  row = network_health(network);
  EXPECT_THAT(row->state, testing::Not(HasSubstr("mlx5_2:1"))) << "the advice says it";
  EXPECT_THAT(row->advice, testing::StartsWith("what goes over these ports is slower: mlx5_2:1 is down (Polling);"));
  network.nics.clear();
  EXPECT_THAT(network_health(network)->state, HasSubstr("none that collectives use is up; not up: mlx5_1:1"));
  network.hung = true;
  EXPECT_THAT(network_health(network)->state, HasSubstr("unknown"));
}

TEST(NetworksHealth, NamesSettingsInWhichHostsDiffer) {
  auto members = team({{2, 400}, {2, 400}, {2, 400}});
  for (RankInfo& member : members) {
    for (Nic& nic : member.nics) nic.settings = {"28.43.2026", "0xffff", {}};
  }
  const std::size_t alike = networks_health(members).size();
  for (const int rank : {2, 3}) {
    for (Nic& nic : members[static_cast<std::size_t>(rank)].nics) nic.settings = {"28.39.1002", "0x8001", {}};
  }
  const auto rows = networks_health(members);
  ASSERT_EQ(rows.size(), alike + 2);
  EXPECT_EQ(rows[alike].what, "network firmware");
  EXPECT_EQ(rows[alike].state, "InfiniBand: 28.39.1002 on node1, 28.43.2026 on node0 and 1 more");
  EXPECT_EQ(rows[alike + 1].what, "network partition key");
  EXPECT_EQ(rows[alike + 1].state, "InfiniBand: 0x8001 on node1, 0xffff on node0 and 1 more");
  for (RankInfo& member : members) {
    for (Nic& nic : member.nics) nic.settings = {member.rank < 2 ? "20.43.2026" : "28.43.2026", "", 4200};
  }
  EXPECT_EQ(networks_health(members).size(), alike) << "cards of two kinds";
  members.front().nics.front().settings.mtu = 1500;
  EXPECT_EQ(networks_health(members).back().state, "InfiniBand: 1500 bytes on node0, 4200 bytes on node0 and 2 more");
}

}  // namespace
}  // namespace roofmark
