// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/merge.hpp"

#include <gmock/gmock.h>

#include <map>

#include "harness/result/record_json.hpp"
#include "harness/result/run_json.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Record copy_record(double seconds, const std::string& n = "1") {
  Record record = ok_record("stream", "copy", {{{{resource::dram, 1e9}}}}, seconds);
  record.shape = {{"n", n}};
  record.fingerprint = Fingerprint{"good", "key", true, {}};
  record.measurement->clock_hz = 1 / seconds;
  return record;
}

Record bad_record(Status status, const std::string& reason, const std::string& n = "1") {
  Record record = copy_record(1, n);
  record.status = status;
  record.reason = reason;
  record.measurement.reset();
  record.fingerprint.reset();
  return record;
}

Record flipped(Record record, const std::string& hash = "bad") {
  record.fingerprint->hash = hash;
  return record;
}

/// Devices of one host, each with these records.
std::vector<MeasuredDevice> devices(const std::vector<std::vector<Record>>& records) {
  std::vector<MeasuredDevice> all(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string id = "cuda:" + std::to_string(i);
    all[i].rank.rank = static_cast<int>(i);
    all[i].rank.host = "node7";
    all[i].rank.device_id = id;
    RunFacts& facts = all[i].run.header.facts;
    facts.started_utc = "2026-01-02T03:00:0" + std::to_string(9 - i) + "Z";
    facts.device.id = id;
    facts.labels = {{"rack", "7"}};
    all[i].run.records = records[i];
    all[i].run.footer = RunFooter{"2026-01-02T03:04:0" + std::to_string(i) + "Z", true, false, {}, {}, 10.0 + double(i)};
  }
  return all;
}

std::vector<std::string> texts(const std::vector<Finding>& findings, FindingKind kind) {
  std::vector<std::string> found;
  for (const Finding& finding : findings) {
    if (finding.kind == kind) found.push_back(finding.text);
  }
  return found;
}

std::vector<std::string> found_in_team(Run& run, FindingKind kind) { return texts(conclude(run).communication.findings, kind); }

TEST(Merge, TheSlowestDeviceStandsForAllAndIsNamed) {
  const auto three = [](double seconds) {
    return std::vector<Record>{copy_record(seconds), copy_record(seconds, "2"), copy_record(seconds, "3")};
  };
  std::vector<MeasuredDevice> all = devices({three(1.0), three(2.0), three(1.01)});
  all[1].run.records[0].measurement->blocks[0].before.temperature_celsius = 90;
  roofmark::Run run = merge(all);
  ASSERT_EQ(run.records.size(), 3U);
  const Measurement& measured = *run.records[0].measurement;
  EXPECT_EQ(measured.summary.median, 2);
  EXPECT_EQ(measured.samples.at(0).seconds, 2);
  EXPECT_EQ(measured.blocks.at(0).before.temperature_celsius, 90);
  ASSERT_EQ(measured.ranks.size(), 3U);
  EXPECT_EQ(measured.ranks[0]->median, 1);
  EXPECT_EQ(measured.ranks[1]->median, 2);
  EXPECT_EQ(measured.ranks[1]->clock_hz, 0.5);
  EXPECT_THAT(run.records[0].notes, IsEmpty());
  EXPECT_THAT(found_in_team(run, FindingKind::slow_rank), ElementsAre(HasSubstr("rank 1 (node7): slower than the median")));
  EXPECT_THAT(found_in_team(run, FindingKind::missing_result), IsEmpty());
}

TEST(Merge, TheHeaderIsTheFirstDevicesAndTheFooterCoversAll) {
  std::vector<MeasuredDevice> all = devices({{copy_record(1)}, {copy_record(1)}});
  for (MeasuredDevice& device : all) {
    device.run.header.findings = {{FindingKind::unknown_device, "not in the table", ""}};
    device.run.header.theoretical.at(resource::dram).theoretical = device.rank.rank == 0 ? 4e12 : 3e12;
    device.run.comparisons = {{"a against b", "impl", {"a"}, {"b"}}};
  }
  all[0].run.header.scope.text = "all";
  all[0].run.header.health = {{"ECC", "on", ""}};
  all[1].run.header.health = {{"ECC", "off", "errors go unnoticed"}};
  all[0].run.header.theoretical.at(resource::fp32_fma).theoretical = 1e12;
  all[1].run.header.findings.push_back({FindingKind::foreign_process, "7 train", ""});
  all[1].run.header.findings.push_back({FindingKind::link_training, "the slot gives 8 lanes", "", 0.5, "half", {}});
  const roofmark::Run run = merge(all);
  EXPECT_EQ(run.header.facts.device.id, "cuda:0");
  EXPECT_EQ(run.header.facts.labels.at("rack"), "7");
  EXPECT_EQ(run.header.facts.started_utc, "2026-01-02T03:00:08Z");
  ASSERT_EQ(run.header.ranks.size(), 2U);
  EXPECT_EQ(run.header.ranks[1].device_id, "cuda:1");
  EXPECT_EQ(run.header.theoretical.find(resource::dram)->theoretical, 3e12);
  EXPECT_EQ(run.header.theoretical.find(resource::fp32_fma), nullptr);  // unknown on one of them
  EXPECT_THAT(texts(run.header.findings, FindingKind::unknown_device), ElementsAre("not in the table"));
  EXPECT_THAT(texts(run.header.findings, FindingKind::foreign_process), ElementsAre("cuda:1: 7 train"));
  EXPECT_THAT(texts(run.header.findings, FindingKind::link_training), ElementsAre("cuda:1: the slot gives 8 lanes"));
  for (const Finding& finding : run.header.findings) {
    EXPECT_EQ(finding.ranks, finding.kind == FindingKind::unknown_device ? std::vector<int>() : std::vector{1}) << finding.text;
  }
  EXPECT_EQ(run.comparisons.size(), 1U);
  EXPECT_EQ(run.footer->finished_utc, "2026-01-02T03:04:01Z");
  EXPECT_EQ(run.footer->total_seconds, 11);
  EXPECT_TRUE(run.footer->complete);
  EXPECT_FALSE(run.footer->ended);
  EXPECT_EQ(run.header.scope.text, "all");
  ASSERT_EQ(run.header.health.size(), 2U);
  EXPECT_EQ(run.header.health[1].rank, 1);
  all[0].run.footer->telemetry.readings = {{1.5, {}}};
  for (MeasuredDevice& device : all) device.run.footer->counters = {{"xid", 0, 0.0, double(device.rank.rank)}};
  roofmark::Run counted = merge(all);
  ASSERT_EQ(counted.footer->counters.size(), 2U);
  EXPECT_EQ(counted.footer->counters[1].rank, 1);
  EXPECT_THAT(texts(conclude(counted).findings, FindingKind::xid), ElementsAre(HasSubstr("cuda:1 of node7")));
  EXPECT_EQ(counted.footer->telemetry.readings.at(0).seconds, 1.5);
  // Each has a summary and a course: 400 W for 2 s, 2 s of rise, 500 W for 2 s.
  for (const double watts : {400.0, 400.0, 500.0, 500.0}) {
    auto& readings = all[1].run.footer->telemetry.readings;
    readings.push_back({static_cast<double>(readings.size()) * 2, {}});
    readings.back().state.power_watts = watts;
    readings.back().state.temperature_celsius = watts / 10;
  }
  const roofmark::Run summarized = merge(all);
  ASSERT_EQ(summarized.footer->rank_telemetry.size(), 2U);
  EXPECT_FALSE(summarized.footer->rank_telemetry[0]) << "one reading is no time";
  const RankTelemetry& other = summarized.footer->rank_telemetry[1].value();
  EXPECT_EQ(other.summary.power_watts, 450);
  EXPECT_EQ(other.summary.temperature_celsius, 50);
  EXPECT_FALSE(other.summary.joules_per_launch);
  ASSERT_EQ(other.course.readings.size(), 4U);
  EXPECT_EQ(other.course.readings[2].state.power_watts, 500);
  // What it knew itself counts: the series in its file lacks the seconds under each reason.
  all[1].run.footer->telemetry_summary.emplace().throttled_share = {{"power cap", 0.25}};
  EXPECT_EQ(merge(all).footer->rank_telemetry[1]->summary.throttled_share->at("power cap"), 0.25);
  all[1].run.footer->complete = false;
  all[1].run.footer->interrupted = true;
  EXPECT_FALSE(merge(all).footer->complete);
  EXPECT_TRUE(merge(all).footer->interrupted);
}

TEST(Merge, OfThreeTheOneWithOtherBitsIsNamedOfTwoBoth) {
  roofmark::Run three = merge(devices({{flipped(copy_record(3))}, {copy_record(1)}, {copy_record(2)}}));
  EXPECT_THAT(three.records[0].fingerprint->differing_ranks, ElementsAre(0));
  EXPECT_EQ(three.records[0].fingerprint->hash, "good");  // the majority's, not the slowest device's
  EXPECT_EQ(exit_status(three, conclude(three)), 1);
  EXPECT_EQ(conclude(three).communication.findings.at(0).ranks, std::vector{0});
  EXPECT_THAT(found_in_team(three, FindingKind::fingerprint),
              ElementsAre(HasSubstr("rank 0 (node7): bits differ from most ranks")));
  roofmark::Run two = merge(devices({{copy_record(1)}, {flipped(copy_record(1))}}));
  EXPECT_THAT(two.records[0].fingerprint->differing_ranks, ElementsAre(0, 1));
  EXPECT_EQ(found_in_team(two, FindingKind::fingerprint).size(), 2U);
  Record other_key = flipped(copy_record(1));
  other_key.fingerprint->key = "another device";
  EXPECT_THAT(merge(devices({{copy_record(1)}, {other_key}})).records[0].fingerprint->differing_ranks, IsEmpty());
  Record unsteady = flipped(copy_record(1), "");
  unsteady.fingerprint->deterministic = false;
  const roofmark::Run one = merge(devices({{unsteady}, {copy_record(1)}, {copy_record(1)}}));
  EXPECT_THAT(one.records[0].fingerprint->differing_ranks, ElementsAre(0));
  EXPECT_TRUE(one.records[0].fingerprint->deterministic);
}

TEST(Merge, OfADeviceThatIsLostHalfwayTheRestStands) {
  std::vector<MeasuredDevice> all = devices({{copy_record(1), copy_record(1, "2")}, {copy_record(3)}});
  all[1].run.footer.reset();
  all[1].ended = "signal 9 (Killed)";
  all[1].run.in_progress = "stream/copy/fp32/n:2";
  roofmark::Run run = merge(all);
  ASSERT_EQ(run.records.size(), 2U);
  EXPECT_EQ(run.records[0].measurement->summary.median, 3);
  EXPECT_EQ(run.records[1].status, Status::ok);
  EXPECT_EQ(run.records[1].measurement->summary.median, 1);
  EXPECT_TRUE(run.records[1].measurement->ranks[0]);
  EXPECT_FALSE(run.records[1].measurement->ranks[1]);
  EXPECT_THAT(run.records[1].notes, ElementsAre(Pair("rank 1", "cuda:1 not_run: the process ended: signal 9 (Killed)")));
  EXPECT_FALSE(run.footer->complete);
  ASSERT_TRUE(run.footer->ended);
  EXPECT_EQ(run.footer->ended->reason, "cuda:1: its process ended: signal 9 (Killed)");
  EXPECT_EQ(run.footer->ended->case_name, "stream/copy/fp32/n:2");
  EXPECT_THAT(found_in_team(run, FindingKind::missing_result),
              ElementsAre("rank 1 (node7): no result in 1 of 2 cases that other ranks measured: stream/copy/fp32/n:2 (cuda:1 "
                          "not_run: the process ended: signal 9 (Killed))"));
  EXPECT_EQ(exit_status(run, conclude(run)), 3) << "what that device has not measured has not passed";
}

TEST(Merge, ADeviceThatRecordedNothingIsARankWithoutResults) {
  std::vector<MeasuredDevice> all = devices({{}, {copy_record(1)}});
  all[0].run = {};
  all[0].ended = "exit status 3";
  roofmark::Run run = merge(all);
  EXPECT_EQ(run.header.facts.device.id, "cuda:1");
  EXPECT_EQ(run.header.ranks.size(), 2U);
  EXPECT_FALSE(run.records[0].measurement->ranks[0]);
  EXPECT_EQ(found_in_team(run, FindingKind::missing_result).size(), 1U);
  all[1].run = {};
  EXPECT_THROW(merge(all), std::invalid_argument);
}

TEST(Merge, ACaseThatIsWrongOnOneDeviceIsWrong) {
  Record wrong = bad_record(Status::wrong, "wrong result: error 3");
  wrong.verification_before = Verification::within(3, 1, "");
  wrong.verification_before->wrong = 17;
  const roofmark::Run run = merge(devices({{copy_record(1)}, {wrong}, {bad_record(Status::failed, "a launch failed")}}));
  const Record& record = run.records[0];
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_EQ(record.reason, "cuda:1: wrong result: error 3");
  EXPECT_THAT(record.rank_status, ElementsAre(Status::ok, Status::wrong, Status::failed));
  EXPECT_EQ(record_from_json(JsonText(to_json(record).dump()).root()).rank_status, record.rank_status);
  EXPECT_FALSE(record.measurement);
  EXPECT_FALSE(record.fingerprint);
  EXPECT_EQ(record.verification_before->wrong, 17U);
  EXPECT_THAT(record.notes, ElementsAre(Pair("rank 1", "cuda:1 wrong: wrong result: error 3"),
                                        Pair("rank 2", "cuda:2 failed: a launch failed")));
}

TEST(Merge, WithoutAnyResultTheWorstStatusStands) {
  const Record none = bad_record(Status::unsupported, "no fp8");
  const roofmark::Run everywhere = merge(devices({{none}, {none}}));
  EXPECT_EQ(everywhere.records[0].status, Status::unsupported);
  EXPECT_EQ(everywhere.records[0].reason, "no fp8");
  EXPECT_THAT(everywhere.records[0].notes, IsEmpty());
  const roofmark::Run failed = merge(devices({{none}, {bad_record(Status::failed, "a launch failed")}}));
  EXPECT_EQ(failed.records[0].status, Status::failed);
  EXPECT_EQ(failed.records[0].reason, "cuda:1: a launch failed");
  roofmark::Run some = merge(devices({{bad_record(Status::failed, "a launch failed")}, {copy_record(1)}}));
  EXPECT_EQ(some.records[0].status, Status::ok);
  EXPECT_THAT(some.records[0].notes, ElementsAre(Pair("rank 0", "cuda:0 failed: a launch failed")));
}

TEST(Merge, ListsOfCasesMayDifferAndBothPassesOfACeilingStay) {
  Record after = copy_record(1);
  after.pass = 2;
  const roofmark::Run run = merge(devices({{copy_record(1), after}, {copy_record(2), copy_record(1, "2"), after}}));
  ASSERT_EQ(run.records.size(), 3U);
  EXPECT_EQ(run.records[1].pass, 2);
  EXPECT_EQ(run.records[2].name(), "stream/copy/fp32/n:2");
  EXPECT_FALSE(run.records[2].measurement->ranks[0]);
  EXPECT_THAT(run.records[2].notes, ElementsAre(Pair("rank 0", "cuda:0 unsupported: this device does not have this case")));
}

TEST(Merge, OneDeviceIsATeamOfOne) {
  roofmark::Run run = merge(devices({{copy_record(1)}}));
  EXPECT_EQ(run.header.ranks.size(), 1U);
  EXPECT_TRUE(run.records[0].measurement->ranks.empty());
  EXPECT_THAT(conclude(run).communication.findings, IsEmpty());
}

}  // namespace
}  // namespace roofmark
