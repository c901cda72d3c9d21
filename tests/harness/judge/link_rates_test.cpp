// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/link_rates.hpp"

#include <gmock/gmock.h>

#include "harness/judge/analysis.hpp"
#include "harness/judge/verdict.hpp"
#include "harness/team/healthy_links.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kMessage = 1 << 30;

/// Two hosts of as many GPUs as ports.
std::vector<RankInfo> two_hosts(int gpus, const std::string& kind, double port) {
  std::vector<RankInfo> team;
  for (int i = 0; i < 2 * gpus; ++i) {
    RankInfo& member = team.emplace_back();
    member.rank = i;
    member.host = i < gpus ? "a" : "b";
    member.uuid = "GPU-" + std::to_string(i);
    member.nvlink_bytes_per_second = 450e9;
    member.nvlink_source = "18 NVLinks";
    member.nic_way_bytes_per_second = 63e9;
    for (int nic = 0; nic < gpus; ++nic) member.nics.push_back({"mlx5_" + std::to_string(nic) + ":1", kind, port, {}});
  }
  return team;
}

/// A probe that reaches this rate of a link.
Record probe(const Resource& resource, double rate, double bytes = kMessage) {
  return probe_record("send_recv", resource, bytes, bytes / rate);
}

std::vector<Finding> link_findings(const std::vector<RankInfo>& team, Record record) {
  std::vector<Record> records = {std::move(record)};
  std::vector<Finding> slow;
  for (Finding& finding : analyze(theoretical_links(team), records, {}).findings) {
    if (finding.kind == FindingKind::link_rate) slow.push_back(std::move(finding));
  }
  return slow;
}

std::vector<std::string> link_briefs(const std::vector<RankInfo>& team, Record record) {
  std::vector<std::string> all;
  for (const Finding& finding : link_findings(team, std::move(record))) all.push_back(finding.brief);
  return all;
}

// Of 8 ports of 400 Gb/s each connection has 13 GB/s (NVIDIA/nccl issue 2409).
TEST(LinkRates, ANetworkFarBelowItsPortsIsAFinding) {
  const std::vector<RankInfo> team = two_hosts(8, "RoCE", 50e9);
  const auto findings = link_findings(team, probe(resource::network, 8 * 13.1e9));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].text,
              testing::StartsWith("network, one direction, per host: 105 GB/s is 26.2 % of the theoretical 400 GB/s (8 "
                                  "ports of 400 Gb/s RoCE: mlx5_0:1, "));
  EXPECT_THAT(findings[0].text, testing::EndsWith("(the kernel's tables)); healthy machines reach 120 GB/s at least"));
  EXPECT_EQ(findings[0].brief, "network, one direction, per host: 26.2 % of the theoretical rate");
  EXPECT_THAT(findings[0].ranks, IsEmpty()) << "all";
  EXPECT_THAT(link_briefs(team, probe(resource::network_of_rank, 0.4e9)), testing::SizeIs(1)) << "packets are lost";
}

TEST(LinkRates, HealthyNetworksAreNone) {
  EXPECT_THAT(link_briefs(two_hosts(8, "InfiniBand", 50e9), probe(resource::network, 8 * 46e9)), IsEmpty());
  EXPECT_THAT(link_briefs(two_hosts(4, "RoCE", 25e9), probe(resource::network, 4 * 18.3e9)), IsEmpty());
  EXPECT_THAT(link_briefs(two_hosts(8, "InfiniBand", 25e9), probe(resource::network_of_rank, 16e9)), IsEmpty());
}

TEST(LinkRates, ARankNeedUseNoMoreThanOnePort) {
  std::vector<RankInfo> superchips = two_hosts(4, "InfiniBand", 50e9);
  for (RankInfo& member : superchips) member.nic_way_bytes_per_second = 450e9;
  const Roofline links = theoretical_links(superchips);
  EXPECT_EQ(links.find(resource::network_of_rank)->theoretical, 200e9);
  EXPECT_DOUBLE_EQ(*links.find(resource::network_of_rank)->healthy_at_least, kHealthyNetwork * 50e9);
  EXPECT_DOUBLE_EQ(*links.find(resource::network)->healthy_at_least, kHealthyNetwork * 200e9);
  EXPECT_THAT(link_briefs(superchips, probe(resource::network_of_rank, 46e9)), IsEmpty())
      << "a quarter of the theoretical rate";

  for (RankInfo& member : superchips) member.nics.resize(1);
  EXPECT_DOUBLE_EQ(*theoretical_links(superchips).find(resource::network)->healthy_at_least, kHealthyNetwork * 50e9)
      << "no more than there are";
  for (RankInfo& member : superchips) member.nic_way_bytes_per_second = 8e9;
  EXPECT_DOUBLE_EQ(*theoretical_links(superchips).find(resource::network_of_rank)->healthy_at_least, kHealthyNetwork * 8e9)
      << "nor than the GPU exchanges with it";
}

TEST(LinkRates, WhatANetworkShouldReachMayBeUnknown) {
  const Record slow = probe(resource::network, 1e9);
  EXPECT_THAT(link_briefs(two_hosts(8, "RoCE", 50e9), slow), testing::SizeIs(1));
  EXPECT_THAT(link_briefs(two_hosts(8, "Ethernet", 50e9), slow), IsEmpty()) << "TCP: the CPUs decide";
  EXPECT_THAT(link_briefs(two_hosts(8, "RDMA", 50e9), slow), IsEmpty()) << "a plugin decides";
  for (const auto& [kind, findings] : {std::pair("RoCE", 0U), std::pair("InfiniBand", 1U)}) {
    std::vector<RankInfo> virtual_machines = two_hosts(8, kind, 50e9);
    for (RankInfo& member : virtual_machines) member.virtual_machine = true;
    EXPECT_THAT(link_briefs(virtual_machines, slow), testing::SizeIs(findings)) << kind << ": the provider may give a part";
  }
  std::vector<RankInfo> cpus = two_hosts(8, "RoCE", 50e9);
  for (RankInfo& member : cpus) member.uuid.clear();
  EXPECT_THAT(link_briefs(cpus, slow), IsEmpty()) << "MPI chooses ports";
  std::vector<RankInfo> mixed = two_hosts(8, "RoCE", 50e9);
  for (RankInfo& member : mixed) member.virtual_machine = member.host == "b";
  EXPECT_THAT(link_briefs(mixed, slow), IsEmpty());
  std::vector<RankInfo> unknown = two_hosts(8, "RoCE", 50e9);
  for (RankInfo& member : unknown) member.nics[3].bytes_per_second.reset();
  EXPECT_THAT(link_briefs(unknown, slow), IsEmpty());
}

TEST(LinkRates, IpSocketsAreNotHeldAgainstTheRateOfRdmaPorts) {
  Record slow = probe(resource::network, 3e9);
  slow.transports = {{"NET/IB/GDRDMA", {0, 8}}};
  EXPECT_THAT(link_briefs(two_hosts(8, "RoCE", 50e9), slow), testing::SizeIs(1));
  slow.transports = {{"NET/Socket (eth0)", {0, 8}}};
  EXPECT_THAT(link_briefs(two_hosts(8, "RoCE", 50e9), slow), IsEmpty()) << "rdma_unused says it";
}

TEST(LinkRates, WithoutGpudirectRdmaTheHostsMemoryMayBeTheLimit) {
  const std::vector<RankInfo> team = two_hosts(8, "InfiniBand", 50e9);
  Record slow = probe(resource::network, 100e9);
  slow.transports = {{"NET/IB", {0, 8}}, {"NET/IB/GDRDMA", {8}}};
  EXPECT_THAT(link_briefs(team, slow), testing::SizeIs(1)) << "a GPU before Ampere sends through the host's memory";
  slow.transports = {{"NET/IB", {0, 8}}};
  EXPECT_THAT(link_briefs(team, slow), IsEmpty());
  Record lossy = probe(resource::network, 39e9);
  lossy.transports = slow.transports;
  EXPECT_THAT(link_briefs(team, lossy), testing::SizeIs(1));
}

TEST(LinkRates, NvlinkFarBelowItsLinksIsAFinding) {
  const std::vector<RankInfo> team = two_hosts(8, "InfiniBand", 50e9);
  EXPECT_THAT(link_briefs(team, probe(resource::nvlink, 55e9)),
              ElementsAre("NVLink, one direction, per GPU: 12.2 % of the theoretical rate"))
      << "P2P over PCIe";
  EXPECT_THAT(link_briefs(team, probe(resource::nvlink, 340e9)), IsEmpty());
  EXPECT_THAT(link_briefs(team, probe(resource::nvlink, 180e9)), IsEmpty());
}

// A ring over a board without switches takes the links between two neighbours alone: of 4 GPUs a third of all.
TEST(LinkRates, NvlinksThatLeadToGpusAreDividedAmongThem) {
  std::vector<RankInfo> board(4);
  for (int i = 0; i < 4; ++i) {
    RankInfo& member = board[static_cast<std::size_t>(i)];
    member.rank = i;
    member.host = "a";
    member.uuid = "GPU-" + std::to_string(i);
    member.pci_bus_id = std::to_string(i);
    member.nvlink_bytes_per_second = 300e9;
    for (int peer = 0; peer < 4; ++peer) {
      if (peer != i) member.nvlink_peers.push_back(std::to_string(peer));
    }
  }
  EXPECT_DOUBLE_EQ(*theoretical_links(board).find(resource::nvlink)->healthy_at_least, kHealthyNvlink * 100e9);
  EXPECT_THAT(link_briefs(board, probe(resource::nvlink, 72e9)), IsEmpty());
  EXPECT_THAT(link_briefs(board, probe(resource::nvlink, 15e9)), testing::SizeIs(1));
}

TEST(LinkRates, PcieIsHeldToLittle) {
  std::vector<RankInfo> cards(8);
  for (int i = 0; i < 8; ++i) {
    RankInfo& member = cards[static_cast<std::size_t>(i)];
    member.rank = i;
    member.host = "a";
    member.uuid = "GPU-" + std::to_string(i);
    member.pcie_bytes_per_second = 31.5e9;
  }
  EXPECT_THAT(link_briefs(cards, probe(resource::pcie, 2.5e9)), IsEmpty()) << "ten cards below one port";
  EXPECT_THAT(link_briefs(cards, probe(resource::pcie, 1e9)), testing::SizeIs(1));
}

TEST(LinkRates, SmallMessagesAreMostlyLatency) {
  const std::vector<RankInfo> team = two_hosts(8, "InfiniBand", 50e9);
  EXPECT_THAT(link_briefs(team, probe(resource::nvlink, 10e9, 44e6)), IsEmpty());
  EXPECT_THAT(link_briefs(team, probe(resource::nvlink, 10e9, 46e6)), testing::SizeIs(1));
}

TEST(LinkRates, OfSeveralDevicesTheLeastIsHealthy) {
  const auto device = [](std::optional<double> healthy) {
    Roofline roofline;
    roofline.at(resource::nvlink).theoretical = 450e9;
    roofline.at(resource::nvlink).healthy_at_least = healthy;
    return roofline;
  };
  EXPECT_EQ(lowest({device(90e9), device(80e9)}).find(resource::nvlink)->healthy_at_least, 80e9);
  EXPECT_EQ(lowest({device(80e9), device(90e9)}).find(resource::nvlink)->healthy_at_least, 80e9);
  EXPECT_FALSE(lowest({device(80e9), device({})}).find(resource::nvlink)->healthy_at_least);
  EXPECT_FALSE(lowest({device({}), device(80e9)}).find(resource::nvlink)->healthy_at_least);
}

TEST(LinkRates, WithoutALinkToJudgeTheKindIsUnseen) {
  const auto is_unseen = [](const std::vector<RankInfo>& team, Record record) {
    std::vector<Record> records = {std::move(record)};
    return analyze(theoretical_links(team), records, {}).unseen.contains(FindingKind::link_rate);
  };
  EXPECT_FALSE(is_unseen(two_hosts(8, "RoCE", 50e9), probe(resource::network, 350e9)));
  EXPECT_TRUE(is_unseen(two_hosts(8, "Ethernet", 50e9), probe(resource::network, 350e9)));
  EXPECT_TRUE(is_unseen(two_hosts(8, "RoCE", 50e9), probe(resource::dram, 4e12)));
  Record failed = probe(resource::network, 350e9);
  failed.status = Status::failed;
  EXPECT_TRUE(is_unseen(two_hosts(8, "RoCE", 50e9), failed));
}

TEST(LinkRates, TheVerdictNamesIt) {
  std::vector<Record> records = {probe(resource::network, 100e9)};
  const auto findings = analyze(theoretical_links(two_hosts(8, "RoCE", 50e9)), records, {}).findings;
  const RunVerdict verdict = judge_run({}, records, findings, {}, "");
  EXPECT_EQ(verdict.trust, Trust::doubtful);
  EXPECT_THAT(verdict.headline,
              HasSubstr("rates are in doubt: network, one direction, per host: 25.0 % of the theoretical rate"));
  EXPECT_THAT(verdict.advice, HasSubstr("PFC and ECN"));
}

}  // namespace
}  // namespace roofmark
