// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/counter.hpp"

#include <gmock/gmock.h>

#include <set>

namespace roofmark {
namespace {

using testing::IsEmpty;

TEST(Counters, HaveIdsOfTheirOwn) {
  std::set<std::string_view> ids;
  for (const CounterType& type : kCounters) {
    EXPECT_TRUE(ids.insert(type.id).second) << type.id;
    EXPECT_EQ(find_counter(type.id), &type);
    EXPECT_FALSE(type.title.empty());
  }
  EXPECT_EQ(find_counter("ecc"), nullptr);
}

TEST(Counters, AreWrittenInFull) {
  EXPECT_EQ(state_text(*find_counter("ecc_corrected"), 123'456), "123456");
  EXPECT_EQ(state_text(*find_counter("recovery_action"), 2), "node reboot");
  EXPECT_EQ(state_text(*find_counter("recovery_action"), 99), "unknown (99)");
}

TEST(CounterChange, GetsWorseInItsOwnDirection) {
  EXPECT_EQ((CounterChange{"ecc_corrected", 0, 5, 8}.worse()), 3);
  EXPECT_EQ((CounterChange{"ecc_corrected", 0, 5, 5}.worse()), 0);
  EXPECT_EQ((CounterChange{"nvlink_links", 0, 18, 17}.worse()), 1);
  EXPECT_EQ((CounterChange{"nvlink_links", 0, 17, 18}.worse()), 0);
}

TEST(CounterChange, OfWhatIsNotKnownSaysNothing) {
  EXPECT_FALSE((CounterChange{"ecc_corrected", 0, {}, 8}.worse()));
  EXPECT_FALSE((CounterChange{"ecc_corrected", 0, 5, {}}.worse()));
  EXPECT_FALSE((CounterChange{"ecc_corrected", 0, 5, 2}.worse())) << "reset in between";
  EXPECT_FALSE((CounterChange{"nvlink_links", 0, 18, {}}.worse()));
}

TEST(CounterChange, TheWorstOfBothValuesIsTheLowerOneOfWhatGetsWorseByFalling) {
  EXPECT_EQ((CounterChange{"remap_pending", 0, 1, 1}.worst()), 1);
  EXPECT_EQ((CounterChange{"remap_pending", 0, 1, 0}.worst()), 1);
  EXPECT_EQ((CounterChange{"nvlink_links", 0, 12, 18}.worst()), 12);
  EXPECT_EQ((CounterChange{"nvlink_links", 0, 18, 12}.worst()), 12);
  EXPECT_EQ((CounterChange{"nvlink_links", 0, 18, {}}.worst()), 18) << "all that is known";
}

TEST(CounterChange, ProcessesMayGoAwayAndEventsMayNot) {
  EXPECT_EQ((CounterChange{"foreign_processes", 0, 1, 0}.worse()), 0);
  EXPECT_EQ((CounterChange{"foreign_processes", 0, 1, 3}.worse()), 2);
  EXPECT_EQ((CounterChange{"xid", 0, 1, 0}.worse()), std::nullopt);
  EXPECT_EQ((CounterChange{"remap_pending", 0, 1, 0}.worse()), 0) << "remapped by a reset, which loses no count";
  EXPECT_EQ((CounterChange{"remap_pending", 0, 0, 1}.worse()), 1);
}

TEST(FindWorseCounters, EveryCounterHasItsFinding) {
  for (const CounterType& type : kCounters) {
    if (!type.words.empty() || type.kind == CounterKind::past) continue;
    const CounterChange change{std::string(type.id), 0, 4, type.is_worse_lower() ? 1 : 207};
    const auto findings = find_worse_counters({change}, {});
    ASSERT_EQ(findings.size(), 1u) << type.id;
    EXPECT_EQ(findings[0].kind, type.finding);
    EXPECT_THAT(findings[0].text, testing::StartsWith(std::string(type.title) +
                                                      (type.is_worse_lower() ? ": fell by 3 during the run, from 4 to 1"
                                                                             : ": rose by 203 during the run, from 4 to 207")));
    EXPECT_EQ(findings[0].case_name, "");
  }
}

TEST(FindWorseCounters, NameTheDeviceOfTheRank) {
  const auto findings =
      find_worse_counters({{"xid", 1, 0, 1}, {"xid", 7, 0, 1}}, {{"node1 cuda:0", "node1"}, {"node1 cuda:1", "node1"}});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(findings[0].text, testing::StartsWith("node1 cuda:1: driver error reports (Xid): rose by 1"));
  EXPECT_THAT(findings[1].text, testing::StartsWith("driver error reports (Xid): rose by 1")) << "no such rank";
}

TEST(FindWorseCounters, SayTheNumbersInFull) {
  const auto found = find_worse_counters({{"ecc_corrected", 0, 1'234'567, 3'456'789}}, {}, 60);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, testing::HasSubstr("rose by 2222222 during the run, from 1234567 to 3456789"));
  EXPECT_THAT(found[0].brief, testing::HasSubstr("rose by 2222222"));
}

TEST(FindWorseCounters, NameAHostOnceForAllOfItsRanks) {
  const std::vector<CounterOwner> owners = {{"cuda:0 of a", "a"}, {"cuda:1 of a", "a"}, {"cuda:0 of b", "b"}};
  CounterChange first{"network_link_downs", 0, 4, 5}, second{"network_link_downs", 1, 4, 6};
  second.where = "mlx5_3:1";
  const auto findings = find_worse_counters({first, second, {"network_link_downs", 2, 4, 4}}, owners);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingKind::network_lost);
  EXPECT_EQ(findings[0].text, "a: network links that went down: rose by 2 during the run, from 4 to 6 (mlx5_3:1)");
  EXPECT_THAT(findings[0].ranks, testing::ElementsAre(0, 1));
}

TEST(FindWorseCounters, AllowsTheRateOfErrorsThatIsNormal) {
  const auto found = [](const char* id, double errors, double seconds) {
    return find_worse_counters({{id, 0, 100, 100 + errors}}, {}, seconds).size();
  };
  EXPECT_EQ(found("pcie_replays", 8, 1), 0u) << "a short run may have those of a minute";
  EXPECT_EQ(found("pcie_replays", 9, 1), 1u);
  EXPECT_EQ(found("pcie_replays", 80, 600), 0u);
  EXPECT_EQ(found("pcie_replays", 81, 600), 1u);
  EXPECT_EQ(found("nvlink_crc_errors", 1000, 10), 0u);
  EXPECT_EQ(found("nvlink_crc_errors", 1001, 10), 1u);
  EXPECT_EQ(found("nvlink_replay_errors", 1, 600), 1u);
  EXPECT_EQ(found("nvlink_effective_errors", 1, 600), 1u);
  EXPECT_EQ(found("nvlink_symbol_errors", 1, 600), 1u);
  EXPECT_EQ(found("pcie_correctable_errors", 320, 600), 0u);
  EXPECT_EQ(found("pcie_correctable_errors", 321, 600), 1u);
  EXPECT_EQ(found("pcie_nonfatal_errors", 1, 600), 1u);
  EXPECT_EQ(found("network_symbol_errors", 120, 240), 0u);
  EXPECT_EQ(found("network_symbol_errors", 121, 240), 1u);
  CounterChange of_ports{"network_symbol_errors", 0, 0, 960};
  of_ports.largest = 120;
  EXPECT_TRUE(find_worse_counters({of_ports}, {}, 240).empty()) << "what is normal is so of each port";
  of_ports.largest = 121;
  EXPECT_EQ(find_worse_counters({of_ports}, {}, 240).size(), 1u);
}

TEST(FindWorseCounters, AStateThatIsNotHealthyIsAFindingWithoutAChange) {
  const auto found = [](const CounterChange& change) { return find_worse_counters({change}, {{"node1 cuda:0", "node1"}}); };
  EXPECT_THAT(found({"fabric_unhealthy", 0, 0, 0}), IsEmpty());
  EXPECT_THAT(found({"power_limit_of_default", 0, 0.99, 1}), IsEmpty());
  EXPECT_THAT(found({"power_limit_of_default", 0, 1.1, 1.095}), IsEmpty());
  EXPECT_THAT(found({"nvlink_links", 0, 3, 3}), IsEmpty()) << "how many it should have is not known here";
  EXPECT_THAT(found({"remap_failed", 0, 0, 0}), IsEmpty());
  for (const char* const id : {"remap_pending", "remap_failed"}) {
    const auto faulty = found({id, 0, 1, 1});
    ASSERT_EQ(faulty.size(), 1u) << id << ": a row is faulty and not replaced, since whenever";
    EXPECT_EQ(faulty[0].kind, FindingKind::uncorrected_errors);
  }
  auto findings = found({"fabric_unhealthy", 0, 1, {}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].text, "node1 cuda:0: unhealthy NVLink fabrics: 1") << "not read after the run";
  findings = found({"power_limit_of_default", 0, 0.8, 1});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].text, "node1 cuda:0: power limit / default power limit: 0.8 before the run, 1 after it");
  EXPECT_THAT(findings[0].ranks, testing::ElementsAre(0));
}

TEST(FindWorseCounters, NameTheStatesThatHaveWords) {
  const auto found = [](std::optional<double> before, std::optional<double> after) {
    const auto findings = find_worse_counters({{"recovery_action", 0, before, after}}, {{"cuda:0", "node1"}});
    return findings.empty() ? "" : findings[0].text;
  };
  const std::string begin = "cuda:0: recovery action that the driver asks for: ";
  EXPECT_EQ(found(0, 0), "");
  EXPECT_EQ(found(0, 1), begin + "none before the run, GPU reset after it");
  EXPECT_EQ(found(4, 4), begin + "drain and reset before the run, drain and reset after it");
  EXPECT_EQ(found(3, 1), begin + "drain P2P before the run, GPU reset after it") << "no order is known of them";
  EXPECT_EQ(found(2, {}), begin + "node reboot");
  EXPECT_EQ(found(0, 11), begin + "none before the run, unknown (11) after it") << "a later driver's";
  const auto findings = find_worse_counters({{"recovery_action", 0, 0, 1}}, {});
  EXPECT_EQ(findings[0].kind, FindingKind::recovery_action);
  EXPECT_EQ(findings[0].brief, "recovery action that the driver asks for: GPU reset");
}

TEST(FindWorseCounters, SayTheNumberOfTheLastEvent) {
  const auto findings = find_worse_counters({{"xid", 0, 1, 3, 79}}, {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].text, "driver error reports (Xid): rose by 2 during the run, from 1 to 3; the last is number 79");
  const auto of_program = find_worse_counters({{"application_xid", 0, 0, 1, 45}}, {});
  ASSERT_EQ(of_program.size(), 1u);
  EXPECT_EQ(of_program[0].text,
            "driver error reports (Xid) that programs cause: rose by 1 during the run, from 0 to 1; the last is number 45, a "
            "program ended or was killed while the GPU worked for it");
}

TEST(FindWorseCounters, WhatDatesFromBeforeTheRunHasItsAge) {
  CounterChange change{"past_xid", 0, 3, {}, 79};
  EXPECT_EQ(change.worse(), 0) << "the run does not change it";
  change.age_seconds = 8280;
  const auto findings = find_worse_counters({change}, {{"cuda:0", "node1"}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].text,
            "cuda:0: driver error reports (Xid) between the host's boot and the run: 3; the last is number "
            "79, 2 h 18 min before the run");
  EXPECT_EQ(type_of(findings[0].kind).severity, Severity::note);
  EXPECT_THAT(find_worse_counters({{"past_xid", 0, 0, 0}}, {}), IsEmpty());
  EXPECT_EQ((CounterChange{"past_xid", 0, {}, {}}.worse()), std::nullopt);
  EXPECT_FALSE(uncounted({change}, 0).contains(FindingKind::past_xid));
}

/// The classes of NVIDIA's catalog, and what Kubernetes' GPU plugin ignores.
TEST(Xids, AreOfTheirClass) {
  for (const int number : {13, 31, 43, 45, 68, 109, 137}) EXPECT_EQ(class_of_xid(number), XidClass::application) << number;
  for (const int number : {14, 63, 93, 106, 107, 121}) EXPECT_EQ(class_of_xid(number), XidClass::informational) << number;
  for (const int number :
       {0, 32, 38, 44, 48, 62, 64, 74, 79, 92, 94, 95, 119, 120, 140, 141, 143, 154, 157, 160, 161, 171, 172, 999}) {
    EXPECT_EQ(class_of_xid(number), XidClass::fault) << number;
  }
  for (const Xid& xid : kXids) {
    EXPECT_NE(xid.tells, XidClass::fault);
    EXPECT_FALSE(meaning_of_xid(xid.number).empty());
    EXPECT_EQ(find_xid(xid.number), &xid) << "listed once";
  }
}

TEST(FindWorseCounters, WhatStayedOrIsNotKnownIsNoFinding) {
  EXPECT_THAT(find_worse_counters({{"ecc_corrected", 0, 5, 5},
                                   {"ecc_corrected", 0, 5, 2},
                                   {"nvlink_links", 0, 17, 18},
                                   {"xid", 0, {}, 3},
                                   {"of_a_later_version", 0, 0, 3}},
                                  {}),
              IsEmpty());
}

}  // namespace
}  // namespace roofmark
