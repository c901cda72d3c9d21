// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/unused_nvlink.hpp"

#include <gmock/gmock.h>

#include "harness/judge/analysis.hpp"
#include "harness/result/run.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Transports = std::map<std::string, std::vector<int>>;

/// An all-reduce of ranks that NVLink connects within `groups` (empty: all).
Record on_nvlink(Transports transports, std::vector<std::vector<int>> groups = {}, bool has_network = false) {
  Record record = collective("all_reduce", 1 << 20, 4, 1.5, 1e-3, "nccl");
  record.work = {{{{resource::nvlink, 1e9}}}};
  if (has_network) record.work.phases[0].push_back({resource::network, 1e9});
  record.transports = std::move(transports);
  record.message->groups = std::move(groups);
  return record;
}

std::vector<std::string> nvlink_briefs(const std::vector<Record>& records, const std::vector<RankInfo>& members) {
  std::vector<std::string> found;
  for (const Finding& finding : find_unused_nvlink(records, members)) {
    EXPECT_EQ(finding.kind, FindingKind::nvlink_unused);
    found.push_back(finding.brief);
  }
  return found;
}

// Slurm's --gpus-per-task: each rank sees one GPU.
TEST(UnusedNvlink, WithinAHostTheHostsMemoryIsAFinding) {
  const std::vector<RankInfo> team = members({"a", "a", "b", "b"});
  const auto findings = find_unused_nvlink({on_nvlink({{"SHM/direct/direct", {2, 3}}, {"NET/IB/GDRDMA", {0, 2}}}, {}, true),
                                            on_nvlink({{"SHM/CE/CE", {2}}, {"P2P/CUMEM", {0, 1}}}, {{0, 1}, {2, 3}})},
                                           team);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].text, "GPUs of b reach each other by SHM/CE/CE, SHM/direct/direct, not by NVLink, which connects them");
  EXPECT_EQ(findings[0].brief, "GPUs of b reach each other by SHM/CE/CE, SHM/direct/direct, not by NVLink");
  EXPECT_THAT(findings[0].ranks, ElementsAre(2, 3));
  EXPECT_EQ(findings[0].case_name, "") << "of the whole run";
  EXPECT_THAT(nvlink_briefs({on_nvlink({{"SHM/direct/direct", {0, 1, 2, 3}}})}, team),
              ElementsAre("GPUs of a and 1 more reach each other by SHM/direct/direct, not by NVLink"));
}

TEST(UnusedNvlink, WithinAHostANetworkIsAFinding) {
  const std::vector<RankInfo> team = members({"a", "a", "b", "b"});
  EXPECT_THAT(nvlink_briefs({on_nvlink({{"NET/Socket (lo)", {0, 1}}, {"P2P/IPC", {2, 3}}}, {{0, 1}, {2, 3}})}, team),
              ElementsAre("GPUs of a reach each other by NET/Socket (lo), not by NVLink"));
}

TEST(UnusedNvlink, OfOneProcessNoHostIsNamed) {
  const auto findings = find_unused_nvlink({on_nvlink({{"SHM/direct/direct", {0}}}, {{0, 1, 2, 3}})}, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].brief, "GPUs reach each other by SHM/direct/direct, not by NVLink");
  EXPECT_THAT(findings[0].ranks, IsEmpty());
}

// A rack of GB200 without IMEX channels.
TEST(UnusedNvlink, ANetworkBetweenHostsOfOneDomainIsAFinding) {
  std::vector<RankInfo> rack = members({"a", "a", "b", "b"});
  for (RankInfo& member : rack) member.nvlink_domain = "8f6a/1";
  const auto findings = find_unused_nvlink({on_nvlink({{"P2P/CUMEM", {0, 2}}, {"NET/IB/GDRDMA", {1, 3}}})}, rack);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].brief, "GPUs of NVLink domain 8f6a/1 reach other hosts by NET/IB/GDRDMA, not by NVLink");
  EXPECT_THAT(findings[0].ranks, ElementsAre(1, 3));
}

TEST(UnusedNvlink, BothWaysAreTwoFindings) {
  std::vector<RankInfo> rack = members({"a", "a", "b", "b"});
  for (RankInfo& member : rack) member.nvlink_domain = "8f6a/1";
  EXPECT_EQ(find_unused_nvlink({on_nvlink({{"SHM/direct/direct", {0, 2}}, {"NET/IB", {1, 3}}})}, rack).size(), 2U);
}

TEST(UnusedNvlink, HealthyTeamsHaveNone) {
  const std::vector<RankInfo> team = members({"a", "a", "b", "b"});
  for (const char* way : {"P2P/CUMEM", "P2P/CUMEM/read", "P2P/IPC", "P2P/direct", "P2P/indirect"}) {
    EXPECT_THAT(nvlink_briefs({on_nvlink({{way, {0, 1, 2, 3}}, {"NET/IB/GDRDMA", {0, 2}}}, {}, true)}, team), IsEmpty()) << way;
  }
  std::vector<RankInfo> rack = team;
  for (RankInfo& member : rack) member.nvlink_domain = "8f6a/1";
  EXPECT_THAT(nvlink_briefs({on_nvlink({{"P2P/CUMEM", {0, 1, 2, 3}}})}, rack), IsEmpty());
}

TEST(UnusedNvlink, WhatHasNoNvlinkIsNotJudged) {
  Record pcie = on_nvlink({{"SHM/direct/direct", {0, 1}}});
  pcie.work = {{{{resource::pcie, 1e9}}}};
  EXPECT_THAT(nvlink_briefs({pcie}, members({"a", "a"})), IsEmpty())
      << "cards without access to each other, or bridged in pairs";
  EXPECT_FALSE(tells_nvlink({pcie}));
  Record network = on_nvlink({{"NET/IB", {0, 1}}});
  network.work = {{{{resource::network, 1e9}}}};
  EXPECT_THAT(nvlink_briefs({network}, members({"a", "b"})), IsEmpty());
}

TEST(UnusedNvlink, WithoutTheLogNothingIsSaid) {
  const std::vector<RankInfo> team = members({"a", "a"});
  EXPECT_THAT(nvlink_briefs({on_nvlink({})}, team), IsEmpty());
  EXPECT_FALSE(tells_nvlink({on_nvlink({})}));
  std::vector<Record> silent = {on_nvlink({})}, telling = {on_nvlink({{"P2P/CUMEM", {0, 1}}})};
  EXPECT_TRUE(analyze({}, silent, {}).unseen.contains(FindingKind::nvlink_unused));
  EXPECT_FALSE(analyze({}, telling, {}).unseen.contains(FindingKind::nvlink_unused));
}

TEST(UnusedNvlink, TheVerdictOfATeamAndOfOneProcessNamesIt) {
  for (const std::vector<RankInfo>& ranks : {members({"a", "a"}), std::vector<RankInfo>()}) {
    roofmark::Run run;
    run.header.ranks = ranks;
    run.header.scope.cases = run.header.scope.suite_cases = 1;
    run.records = {on_nvlink({{"SHM/direct/direct", {0}}})};
    run.footer.emplace();
    const RunVerdict verdict = conclude(run).verdict;
    EXPECT_EQ(verdict.trust, Trust::doubtful);
    EXPECT_THAT(verdict.headline, HasSubstr("rates are in doubt: GPUs "));
    EXPECT_THAT(verdict.headline, HasSubstr("reach each other by SHM/direct/direct, not by NVLink"));
    EXPECT_THAT(verdict.advice, HasSubstr("--gpu-bind=none"));
    EXPECT_THAT(verdict.advice, HasSubstr("nvidia-imex"));
  }
}

}  // namespace
}  // namespace roofmark
