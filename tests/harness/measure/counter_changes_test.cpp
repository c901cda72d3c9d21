// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/counter_changes.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using testing::IsEmpty;

std::map<std::string, double> up(std::map<std::string, double> more = {}) {
  more["network_ports"] = 1;
  return more;
}

CounterChange change(const std::string& id, const CounterReadings& before, const CounterReadings& after) {
  for (const CounterChange& one : host_changes(2, before, after)) {
    if (one.id == id) return one;
  }
  return {};
}

TEST(NetworkChanges, AreSumsThatNameThePortsThatGotWorse) {
  const auto found =
      change("network_link_downs", {{"a", up({{"network_link_downs", 4}})}, {"b", up({{"network_link_downs", 1}})}},
             {{"a", up({{"network_link_downs", 5}})}, {"b", up({{"network_link_downs", 3}})}});
  EXPECT_EQ(found.rank, 2);
  EXPECT_EQ(found.before, 5);
  EXPECT_EQ(found.after, 8);
  EXPECT_EQ(found.worse(), 3);
  EXPECT_EQ(found.where, "b, a") << "the worst first";
  EXPECT_EQ(found.largest, 2);
}

TEST(DeviceChanges, NameThePartsThatGotWorseAndTolerateAsMuchOfAllTogether) {
  const CounterReadings before{
      {"", {{"xid", 0}}}, {"link 0", {{"nvlink_crc_errors", 0}}}, {"link 1", {{"nvlink_crc_errors", 0}}}};
  const CounterReadings after{
      {"", {{"xid", 1}, {"xid_number", 79}}}, {"link 0", {{"nvlink_crc_errors", 60}}}, {"link 1", {{"nvlink_crc_errors", 60}}}};
  const auto changes = device_changes(1, before, after);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].number, 79);
  EXPECT_EQ(changes[0].where, "") << "the GPU as a whole";
  EXPECT_FALSE(changes[0].largest);
  EXPECT_EQ(changes[1].where, "link 0, link 1");
  EXPECT_EQ(changes[1].rank, 1);
  EXPECT_EQ(find_worse_counters({changes[1]}, {}, 1).at(0).text,
            "NVLink CRC errors: rose by 120 during the run, from 0 to 120 (link 0, link 1); up to 100 per second are normal");
}

TEST(DeviceChanges, TheLastEventIsKnownFromBeforeWhereTheDeviceTellsNoMore) {
  const CounterReadings before{{"", {{"past_xid", 2}, {"past_xid_number", 79}, {"past_xid_age_seconds", 60}}}};
  const auto changes = device_changes(0, before, {});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].worst(), 2);
  EXPECT_EQ(changes[0].number, 79);
  EXPECT_EQ(changes[0].age_seconds, 60);
}

TEST(NetworkChanges, APortThatIsGoneOrSlowerIsAFall) {
  const CounterReadings before{{"a", up({{"network_rate", 400}})}, {"b", up({{"network_rate", 400}})}};
  const CounterReadings gone{{"a", up({{"network_rate", 200}})}, {"b", {{"network_ports", 0}}}};
  auto found = change("network_ports", before, gone);
  EXPECT_EQ(found.worse(), 1);
  EXPECT_EQ(found.where, "b");
  found = change("network_rate", before, gone);
  EXPECT_EQ(found.worse(), 200);
  EXPECT_EQ(found.where, "a");
  EXPECT_THAT(host_changes(0, {{"b", {{"network_ports", 0}}}}, before), IsEmpty()) << "what was down before is no loss";
}

TEST(HostChanges, ErrorsOfItsMemoryAreToldOncePerHost) {
  const auto read = [](double errors) {
    return CounterReadings{{"mc0", {{"host_ecc_uncorrected", 0}}}, {"mc1", {{"host_ecc_uncorrected", errors}}}};
  };
  const CounterChange found = change("host_ecc_uncorrected", read(1), read(3));
  EXPECT_EQ(found.worse(), 2);
  CounterChange of_other_rank = found;
  of_other_rank.rank = 3;
  const auto findings = find_worse_counters({found, of_other_rank}, {{"a", "x"}, {"b", "x"}, {"c", "node1"}, {"d", "node1"}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingKind::host_uncorrected_errors);
  EXPECT_EQ(findings[0].text,
            "node1: uncorrected errors of the host's memory (EDAC): rose by 2 during the run, from 1 to 3 (mc1)");
  EXPECT_EQ(type_of(findings[0].kind).severity, Severity::error);
}

TEST(HostChanges, GpusThatAreLostAreFoundAtTheirAddresses) {
  const auto read = [](double one, double other) {
    return CounterReadings{{"0000:2a:00.0", {{"host_lost_gpus", one}}}, {"0000:3b:00.0", {{"host_lost_gpus", other}}}};
  };
  const auto text_of = [](const CounterReadings& before, const CounterReadings& after) {
    const auto findings = find_worse_counters(host_changes(0, before, after), {{"a", "node1"}});
    return findings.empty() ? "" : findings[0].text;
  };
  EXPECT_EQ(text_of(read(0, 0), read(0, 0)), "");
  EXPECT_EQ(text_of(read(0, 1), read(0, 1)),
            "node1: GPUs that the driver has lost: 1 before the run, 1 after it (0000:3b:00.0)");
  EXPECT_EQ(text_of(read(1, 0), read(1, 1)),
            "node1: GPUs that the driver has lost: rose by 1 during the run, from 1 to 2 (0000:3b:00.0)");
  EXPECT_EQ(text_of({{"0000:2a:00.0", {{"host_lost_gpus", 0}}}}, {}), "") << "one that is told of no more is not lost";
  EXPECT_EQ(type_of(FindingKind::lost_gpu).doubt, Doubt::host);
}

TEST(NetworkChanges, WhatWasResetOrNotReadIsUnknownUnlessTheRestGotWorse) {
  const CounterReadings before{{"a", up({{"network_symbol_errors", 9}})}, {"b", up({{"network_symbol_errors", 0}})}};
  EXPECT_FALSE(change("network_symbol_errors", before, {{"a", up()}, {"b", up({{"network_symbol_errors", 0}})}}).after);
  EXPECT_FALSE(change("network_symbol_errors", before, {}).after);
  EXPECT_EQ(change("network_symbol_errors", before, before).after, 9);
  EXPECT_EQ(change("network_symbol_errors", before, before).worse(), 0);
  const auto reset = change("network_symbol_errors", before,
                            {{"a", up({{"network_symbol_errors", 0}})}, {"b", up({{"network_symbol_errors", 0}})}});
  EXPECT_TRUE(reset.after);
  EXPECT_FALSE(reset.worse());
  const auto rose = change("network_symbol_errors", before,
                           {{"a", up({{"network_symbol_errors", 0}})}, {"b", up({{"network_symbol_errors", 700}})}});
  EXPECT_EQ(rose.worse(), 700);
  EXPECT_EQ(rose.where, "b");
}

TEST(NetworkChanges, ACounterThatHasReachedItsEndCountsNothing) {
  const auto read = [](double downs) { return CounterReadings{{"a", up({{"network_link_downs", downs}})}}; };
  EXPECT_EQ(change("network_link_downs", read(255), read(255)).id, "");
  EXPECT_EQ(change("network_link_downs", read(250), read(255)).worse(), 5);
}

TEST(NetworkChanges, TheCarrierOfARocePortIsCountedBeyondTheEndOfInfiniBandsCounter) {
  const auto read = [](double downs) { return CounterReadings{{"a", up({{"network_carrier_downs", downs}})}}; };
  EXPECT_EQ(change("network_carrier_downs", read(255), read(256)).worse(), 1);
  EXPECT_EQ(find_worse_counters({change("network_carrier_downs", read(255), read(256))}, {}).at(0).text,
            "losses of the carrier of RoCE ports: rose by 1 during the run, from 255 to 256 (a)");
}

}  // namespace
}  // namespace roofmark
