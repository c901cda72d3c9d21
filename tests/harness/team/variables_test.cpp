// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/variables.hpp"

#include <gmock/gmock.h>

#include <tuple>

#include "harness/judge/ranks/variables_health.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using Variables = std::map<std::string, std::string>;

std::vector<RankInfo> team(const std::vector<std::string>& hosts, const std::vector<Variables>& variables) {
  std::vector<RankInfo> all = members(hosts);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].variables = variables[i];
  return all;
}

std::vector<std::string> names(const std::vector<Circumstance>& rows) {
  std::vector<std::string> all;
  for (const Circumstance& row : rows) all.push_back(row.what);
  return all;
}

TEST(Variables, ThatNcclNeedsAlikeAreRefusedByName) {
  EXPECT_EQ(mismatch(team({"a", "b"}, {{{"NCCL_ALGO", "Ring"}}, {{"NCCL_ALGO", "Tree"}}})),
            "NCCL needs the same NCCL_ALGO on all ranks that communicate: rank 0 (a) has Ring, rank 1 (b) has Tree");
  EXPECT_EQ(mismatch(team({"a", "a", "b"}, {{}, {}, {{"NCCL_NET", "Socket"}}})),
            "NCCL needs the same NCCL_NET on all ranks that communicate: rank 0 (a) has none, rank 2 (b) has Socket");
  EXPECT_EQ(mismatch(team({"a", "b"}, {{{"NCCL_ALGO", "Ring"}}, {{"NCCL_ALGO", "Ring"}}})), "");
  EXPECT_EQ(mismatch(team({"a", "b"}, {{{"NCCL_IB_DISABLE", "0"}}, {}})), "") << "disables nothing";
  EXPECT_EQ(mismatch({}), "");
}

TEST(Variables, OfWaysInsideAHostMustBeAlikeThere) {
  EXPECT_EQ(mismatch(team({"a", "b", "b"}, {{}, {}, {{"NCCL_P2P_DISABLE", "1"}}})),
            "NCCL needs the same NCCL_P2P_DISABLE on all ranks that communicate: rank 1 (b) has none, rank 2 (b) has 1");
  const auto hosts = team({"a", "a", "b", "b"}, {{}, {}, {{"NCCL_P2P_DISABLE", "1"}}, {{"NCCL_P2P_DISABLE", "1"}}});
  EXPECT_EQ(mismatch(hosts), "");
  const auto rows = limiting_variables_health(hosts);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, "1 on rank 2 (b) and 1 more");
  EXPECT_TRUE(differing_variables_health(hosts).empty()) << "said once";
}

TEST(Variables, OfARankOrItsHostMayDiffer) {
  const auto all = team({"a", "b"}, {{{"NCCL_SOCKET_IFNAME", "eth0"}, {"CUDA_VISIBLE_DEVICES", "0"}, {"NCCL_HOSTID", "x"}},
                                     {{"NCCL_SOCKET_IFNAME", "eth1"}, {"UCX_NET_DEVICES", "mlx5_0:1"}}});
  EXPECT_EQ(mismatch(all), "");
  EXPECT_TRUE(differing_variables(all).empty());
}

TEST(Variables, OthersThatDifferAreNamed) {
  const auto all = team({"a", "b"}, {{{"NCCL_IB_TIMEOUT", "20"}, {"CUDA_LAUNCH_BLOCKING", "1"}}, {{"NCCL_IB_TIMEOUT", "22"}}});
  EXPECT_EQ(mismatch(all), "");
  const auto rows = differing_variables_health(all);
  EXPECT_THAT(names(rows), testing::ElementsAre("CUDA_LAUNCH_BLOCKING", "NCCL_IB_TIMEOUT"));
  EXPECT_EQ(rows[0].state, "rank 0 (a) has 1, rank 1 (b) has none");
  EXPECT_FALSE(rows[0].advice.empty());
  EXPECT_FALSE(rows[0].rank);
}

TEST(Variables, ThatLimitNcclAreNamedWhereTheyConcernTheRanks) {
  const Variables limits = {{"NCCL_ALGO", "Ring"},      {"NCCL_IB_DISABLE", "1"},  {"NCCL_NET", "socket"},
                            {"NCCL_P2P_DISABLE", "1"},  {"NCCL_PROTO", "Simple"},  {"NCCL_SHM_DISABLE", "1"},
                            {"NCCL_NVLS_ENABLE", "0"},  {"NCCL_P2P_LEVEL", "NVL"}, {"NCCL_MAX_NCHANNELS", "4"},
                            {"NCCL_MNNVL_ENABLE", "0"}, {"NCCL_MAX_CTAS", "8"},    {"NCCL_NET_GDR_LEVEL", "LOC"}};
  const auto of = [&](const std::vector<std::string>& hosts) {
    return names(limiting_variables_health(team(hosts, std::vector<Variables>(hosts.size(), limits))));
  };
  EXPECT_THAT(of({"a", "a"}), testing::ElementsAre("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_NVLS_ENABLE",
                                                   "NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"));
  EXPECT_THAT(of({"a", "b"}), testing::ElementsAre("NCCL_MNNVL_ENABLE", "NCCL_IB_DISABLE", "NCCL_NET", "NCCL_NET_GDR_LEVEL",
                                                   "NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"));
  EXPECT_EQ(of({"a", "a", "b"}).size(), limits.size());
  const Variables none = {{"NCCL_P2P_DISABLE", "0"}, {"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_NVLS_ENABLE", "1"}, {"NCCL_NET", "IB"}};
  EXPECT_TRUE(limiting_variables_health(team({"a", "a", "b"}, {none, none, none})).empty());
  for (const auto& [level, rows] : {std::pair("3", 1U), {"4", 0U}, {"5", 0U}}) {
    const Variables old_style = {{"NCCL_P2P_LEVEL", level}};
    EXPECT_EQ(limiting_variables_health(team({"a", "a"}, {old_style, old_style})).size(), rows) << level;
  }
  // GPUs that NVLink joins are at the nearest distance.
  for (const auto& [level, rows] : {std::pair("NVL", 0U), {"PIX", 0U}, {"1", 0U}, {"LOC", 1U}, {"0", 1U}}) {
    const Variables set = {{"NCCL_P2P_LEVEL", level}};
    auto ranks = team({"a", "a", "b", "b"}, std::vector<Variables>(4, set));
    for (RankInfo& rank : ranks) rank.nvlink_bytes_per_second = 450e9;
    EXPECT_EQ(limiting_variables_health(ranks).size(), rows) << level;
    // Bridges join 0 and 1 alone.
    for (RankInfo& rank : ranks) {
      rank.pci_bus_id = "0000:0" + std::to_string(rank.rank) + ":00.0";
      rank.nvlink_peers = {rank.rank < 2 ? "0000:0" + std::to_string(1 - rank.rank) + ":00.0" : "0000:09:00.0"};
    }
    EXPECT_EQ(limiting_variables_health(ranks).size(), 1U) << level;
  }
  const Variables files = {{"NCCL_TOPO_FILE", "/etc/topo.xml"},
                           {"NCCL_GRAPH_FILE", "/etc/graph.xml"},
                           {"NCCL_DEBUG", "trace"},
                           {"NCCL_CUMEM_ENABLE", "0"},
                           {"NCCL_NET_PLUGIN", "none"}};
  EXPECT_THAT(names(limiting_variables_health(team({"a", "b"}, {files, files}))),
              testing::ElementsAre("NCCL_CUMEM_ENABLE", "NCCL_NET_PLUGIN", "NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_DEBUG"));
  const Variables harmless = {
      {"NCCL_CUMEM_ENABLE", "1"}, {"NCCL_NET_PLUGIN", "aws-ofi"}, {"NCCL_DEBUG", "info"}, {"NCCL_DEBUG_FILE", "nccl.%h"}};
  EXPECT_TRUE(limiting_variables_health(team({"a", "b"}, {harmless, harmless})).empty());
  const auto log = [](const char* level, const char* subsystems) {
    const Variables of_log = {{"NCCL_DEBUG", level}, {"NCCL_DEBUG_SUBSYS", subsystems}};
    return names(limiting_variables_health(team({"a", "b"}, {of_log, of_log})));
  };
  EXPECT_THAT(log("WARN", "ALL"), testing::IsEmpty());
  EXPECT_THAT(log("INFO", "INIT,ALLOC,NET"), testing::IsEmpty());
  for (const char* of_calls : {"ALL", "INIT,coll", "^NET"}) {
    EXPECT_THAT(log("info", of_calls), testing::ElementsAre("NCCL_DEBUG_SUBSYS")) << of_calls;
  }
  const Variables later = {{"NCCL_CTA_POLICY", "EFFICIENCY"}, {"NCCL_NET_GDR_READ", "0"}, {"NCCL_MAX_NRINGS", "2"}};
  auto two = team({"a", "b"}, {later, later});
  EXPECT_THAT(names(limiting_variables_health(two)), testing::ElementsAre("NCCL_MAX_NRINGS", "NCCL_CTA_POLICY"));
  for (RankInfo& rank : two) rank.nvlink_bytes_per_second = 450e9;
  EXPECT_THAT(names(limiting_variables_health(two)),
              testing::ElementsAre("NCCL_NET_GDR_READ", "NCCL_MAX_NRINGS", "NCCL_CTA_POLICY"));
  const auto rows = limiting_variables_health(team({"a", "b"}, {limits, limits}));
  EXPECT_EQ(rows[2].state, "socket");
  EXPECT_NE(rows[2].advice.find("IP sockets"), std::string::npos);
}

TEST(Variables, MeanWhatNcclReads) {
  for (const auto& [name, value, rows] : std::vector<std::tuple<std::string, std::string, std::size_t>>{
           {"NCCL_NVLS_ENABLE", "false", 1},  // numbers: a word is 0
           {"NCCL_NVLS_ENABLE", "true", 1},
           {"NCCL_P2P_DISABLE", "true", 0},
           {"NCCL_P2P_DISABLE", "0x1", 1},
           {"NCCL_IB_DISABLE", "no", 0},
           {"NCCL_P2P_LEVEL", "pix", 0},  // their case matters; NCCL ignores others
           {"NCCL_P2P_LEVEL", "NODE", 0},
           {"NCCL_P2P_LEVEL", "7", 0},
           {"NCCL_NET_GDR_LEVEL", "loc", 0},
           {"NCCL_NET_GDR_LEVEL", "NVL", 1},  // no NIC is so near
           {"NCCL_NET_GDR_LEVEL", "PIX", 0},
           {"NCCL_NET_GDR_LEVEL", "0", 1},
           {"NCCL_MAX_CTAS", "64", 0},  // the most that NCCL has
           {"NCCL_MAX_CTAS", "32", 1},
           {"NCCL_CTA_POLICY", "default", 0},
           {"NCCL_CTA_POLICY", "0", 0},
           {"NCCL_CTA_POLICY", "2", 1},
       }) {
    const Variables set = {{name, value}};
    EXPECT_EQ(limiting_variables_health(team({"a", "a", "b"}, {set, set, set})).size(), rows) << name << "=" << value;
  }
  EXPECT_EQ(mismatch(team({"a", "b"}, {{{"NCCL_IB_DISABLE", "no"}}, {}})), "") << "disables nothing";
  for (const char* name : {"NCCL_P2P_LL_THRESHOLD", "NCCL_WIN_ENABLE", "NCCL_LOCAL_REGISTER", "NCCL_CTA_POLICY"}) {
    EXPECT_NE(mismatch(team({"a", "b"}, {{{name, "0"}}, {}})), "") << name;
  }
  EXPECT_EQ(differing_variables(team({"a", "b"}, {{{"UCX_X_DISABLE", "y"}}, {}})).size(), 1U) << "it is not NCCL's";
}

}  // namespace
}  // namespace roofmark
