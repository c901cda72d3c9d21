// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/network_transports.hpp"

#include <gmock/gmock.h>

#include "harness/judge/ranks/communication.hpp"
#include "harness/judge/verdict.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Transports = std::map<std::string, std::vector<int>>;

/// Two hosts of two GPUs, with two InfiniBand ports each.
class NetworkTransports : public testing::Test {
 protected:
  NetworkTransports() {
    for (RankInfo& member : team) {
      member.uuid = "GPU-" + std::to_string(member.rank);
      member.nics = {{"mlx5_0:1", "InfiniBand", 50e9, 0}, {"mlx5_1:1", "InfiniBand", 50e9, 1}};
    }
  }
  static Record record(Transports transports, std::vector<std::vector<int>> groups = {}) {
    Record made = collective("all_reduce", 1 << 20, 4, 1.5, 1e-3, "nccl");
    made.transports = std::move(transports);
    made.message->groups = std::move(groups);
    return made;
  }
  std::vector<Finding> found(Transports transports, std::vector<std::vector<int>> groups = {}) const {
    return network_transports({record(std::move(transports), std::move(groups))}, team);
  }
  std::vector<FindingKind> kinds(Transports transports, std::vector<std::vector<int>> groups = {}) const {
    std::vector<FindingKind> all;
    for (const Finding& finding : found(std::move(transports), std::move(groups))) all.push_back(finding.kind);
    return all;
  }

  std::vector<RankInfo> team = members({"a", "a", "b", "b"});
};

TEST_F(NetworkTransports, SocketsBesideActiveRdmaPortsAreAWarning) {
  const auto findings = found({{"NET/Socket (eth0)", {1, 2}}, {"NET/Socket (eth1)/Shared", {1}}, {"P2P/CUMEM", {0, 1, 2, 3}}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::rdma_unused);
  EXPECT_EQ(findings[0].text,
            "2 of 4 ranks reach other hosts by IP sockets (eth0, eth1); rank 1 (a): active RDMA ports of its host: mlx5_0:1 "
            "(InfiniBand), mlx5_1:1 (InfiniBand)");
  EXPECT_EQ(findings[0].brief, "2 of 4 ranks reach other hosts by IP sockets (eth0, eth1)");
  EXPECT_THAT(findings[0].ranks, ElementsAre(1, 2));
}

TEST_F(NetworkTransports, SocketsWithoutAnRdmaPortThatNcclMayUseAreANote) {
  for (RankInfo& member : team) member.nccl_ib_hca = "^mlx5";
  EXPECT_THAT(kinds({{"NET/Socket", {0, 2}}}), ElementsAre(FindingKind::sockets));
  for (RankInfo& member : team) member.nccl_ib_hca.clear(), member.nics = {{"eth0", "Ethernet", 12.5e9, {}}};
  const auto findings = found({{"NET/Socket", {0, 2}}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::sockets);
  EXPECT_EQ(findings[0].text,
            "2 of 4 ranks reach other hosts by IP sockets; rank 0 (a): its host has no active RDMA port that NCCL may use");
  EXPECT_EQ(type_of(findings[0].kind).severity, Severity::note);
}

TEST_F(NetworkTransports, ANetworkPluginIsNoSocket) {
  for (const char* name : {"NET/AWS Libfabric/GDRDMA", "NET/Libfabric/GDRDMA/Shared", "NET/IBext_v8/GDRDMA(PCI)",
                           "NET/FasTrak/GDRDMA", "NET/SocketDirect/GDRDMA", "COLLNET/SHARP/GDRDMA", "NET/IB/GDRDMA"}) {
    EXPECT_THAT(kinds({{name, {0, 1, 2, 3}}}), IsEmpty()) << name;
  }
}

TEST_F(NetworkTransports, WithoutGpudirectRdmaBesideANearNicIsAWarning) {
  team[0].near_nics = {"mlx5_1"};
  team[2].near_nics = {"mlx5_10"};
  const auto findings = found({{"NET/IB", {0, 2}}, {"NET/IB/Shared", {0}}});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].kind, FindingKind::gpudirect_unused);
  EXPECT_EQ(findings[0].text,
            "1 of 4 ranks reach other hosts by NET/IB, NET/IB/Shared without GPUDirect RDMA; rank 0 (a): mlx5_1:1 is below a "
            "PCIe switch with its GPU");
  EXPECT_EQ(type_of(findings[0].kind).severity, Severity::warning);
  EXPECT_EQ(findings[1].kind, FindingKind::no_gpudirect) << "across a CPU NCCL avoids it";
  EXPECT_THAT(findings[1].ranks, ElementsAre(2));
  EXPECT_EQ(type_of(findings[1].kind).severity, Severity::note);
}

TEST_F(NetworkTransports, ANearNicThatCollectivesDoNotUseDoesNotCount) {
  team[0].near_nics = {"mlx5_1"};
  team[0].nccl_ib_hca = "mlx5_0";
  EXPECT_THAT(kinds({{"NET/IB", {0}}}), ElementsAre(FindingKind::no_gpudirect));
}

// A GPU before Ampere sends through the host's memory, and receives directly.
TEST_F(NetworkTransports, ARankThatUsesGpudirectRdmaSomewhereIsWell) {
  team[0].near_nics = {"mlx5_1"};
  EXPECT_THAT(kinds({{"NET/IB", {0}}, {"NET/IB/GDRDMA", {0}}}), IsEmpty());
}

TEST_F(NetworkTransports, WhatStaysInAHostIsNotJudged) {
  EXPECT_THAT(kinds({{"NET/Socket", {0, 1, 2, 3}}}, {{0, 1}, {2, 3}}), IsEmpty());
  EXPECT_THAT(kinds({{"NET/Socket", {0, 1, 2, 3}}}, {{0, 1}, {2}, {3}}), IsEmpty());
  EXPECT_THAT(kinds({{"P2P/CUMEM", {0, 1, 2, 3}}, {"SHM/direct/direct", {0}}}), IsEmpty());
  team = members({"a", "a"});
  EXPECT_THAT(kinds({{"NET/Socket", {0, 1}}}), IsEmpty()) << "NCCL_HOSTID tells NCCL of hosts that are one";
}

TEST_F(NetworkTransports, WithoutTheLogNothingIsSaid) {
  EXPECT_THAT(kinds({}), IsEmpty());
  EXPECT_FALSE(tells_network({record({})}, team));
  EXPECT_FALSE(tells_network({record({{"P2P/CUMEM", {0, 1, 2, 3}}})}, team));
  EXPECT_TRUE(tells_network({record({{"NET/IB/GDRDMA", {0, 2}}})}, team));
}

TEST_F(NetworkTransports, TheVerdictNamesTheWarningsAlone) {
  const auto verdict = [&](const char* transport) {
    const std::vector<Record> records = {record({{transport, {0, 2}}})};
    return judge_run({}, records, analyze_communication(records, team).findings, {}, "");
  };
  EXPECT_EQ(verdict("NET/Socket (eth0)").trust, Trust::doubtful);
  EXPECT_THAT(verdict("NET/Socket (eth0)").headline,
              testing::HasSubstr("rates are in doubt: 2 of 4 ranks reach other hosts by IP sockets (eth0)"));
  EXPECT_EQ(verdict("NET/IB").trust, Trust::good);
}

}  // namespace
}  // namespace roofmark
