// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/held_power.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "harness/judge/analysis.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

const PowerLimits k700{{700}, false};

Record record_of(std::optional<double> watts, std::map<std::string, double> throttled_share) {
  Record record = ok_record("gemm", "x", {{{{resource::dram, 1}}}}, 1e-3);
  auto& telemetry = record.measurement->telemetry.emplace();
  telemetry.seconds = 2;
  telemetry.power_watts = watts;
  telemetry.throttled_share = std::move(throttled_share);
  return record;
}

std::vector<Finding> found_in(const Record& record, const PowerLimits& limits) {
  std::vector<Finding> findings;
  find_held_power(record, limits, findings);
  return findings;
}

TEST(HeldPower, ACapFarBelowTheLimitIsNotTheLimits) {
  const auto found = found_in(record_of(420, {{"power cap", 0.99}}), k700);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FindingKind::held_power);
  EXPECT_EQ(found[0].text,
            "a power cap holds the device at 420 W of its limit of 700 W (60.0 %, during 99.0 % of the blocks' time)");
  EXPECT_EQ(found[0].brief, "a power cap holds the device at 420 W of its limit of 700 W");
  EXPECT_DOUBLE_EQ(found[0].size, 0.4);
}

TEST(HeldPower, WhatHasAnotherReasonOrIsNormalIsNone) {
  // Sustained loads of the reference results.
  EXPECT_THAT(found_in(record_of(652, {{"power cap", 0.998}}), k700), IsEmpty());
  EXPECT_THAT(found_in(record_of(714, {{"power cap", 0.964}}), k700), IsEmpty());
  EXPECT_THAT(found_in(record_of(520, {{"power cap", 0.045}}), k700), IsEmpty());
  // A load in pulses: the mean has the rests too.
  EXPECT_THAT(found_in(record_of(420, {{"power cap", 0.5}}), k700), IsEmpty());
  EXPECT_THAT(found_in(record_of(420, {}), k700), IsEmpty());
  for (const char* reason : {"thermal", "hardware thermal", "power brake", "hardware slowdown"}) {
    EXPECT_THAT(found_in(record_of(420, {{"power cap", 1}, {reason, 0.3}}), k700), IsEmpty()) << reason;
  }
}

TEST(HeldPower, OlderFilesHaveThePowerOfCasesThatAreTooShort) {
  Record record = record_of(217, {{"power cap", 1}});
  record.measurement->telemetry->seconds = 0.03;
  EXPECT_THAT(found_in(record, k700), IsEmpty());
  record.measurement->telemetry->energy_joules = 6.5;
  EXPECT_EQ(found_in(record, k700).size(), 1U) << "by the energy counter";
}

TEST(HeldPower, WithoutPowerOrLimitItIsUnseen) {
  const auto is_unseen = [](const Record& record, const PowerLimits& limits) {
    std::vector<Record> records = {record};
    const Analysis analysis = analyze({}, records, {}, {}, limits);
    const bool is_found = std::any_of(analysis.findings.begin(), analysis.findings.end(),
                                      [](const Finding& finding) { return finding.kind == FindingKind::held_power; });
    EXPECT_NE(is_found, analysis.unseen.contains(FindingKind::held_power));
    return !is_found;
  };
  const Record held = record_of(420, {{"power cap", 1}});
  EXPECT_FALSE(is_unseen(held, k700));
  EXPECT_TRUE(is_unseen(held, {}));
  EXPECT_TRUE(is_unseen(held, {{std::nullopt}}));
  EXPECT_TRUE(is_unseen(record_of({}, {{"power cap", 1}}), k700)) << "of less than a second";
}

TEST(HeldPower, OfSeveralDevicesEachHasItsLimit) {
  Record record = record_of({}, {});
  const auto rank = [](double watts) { return RankTimes{1e-3, 1e-3, {}, {}, {}, watts, {{{"power cap", 1.0}}}}; };
  record.measurement->ranks = {rank(400), rank(400), std::nullopt, rank(300)};
  const auto found = found_in(record, {{400, 700, 700, 700}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].ranks, ElementsAre(1, 3));
  EXPECT_EQ(found[0].brief, "rank 3: a power cap holds the device at 300 W of its limit of 700 W");
}

TEST(HeldPower, OnASuperchipTheModulesLimitIsNamed) {
  const auto found = found_in(record_of(560, {{"power cap", 1}}), {{900}, true});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, EndsWith("; the limit of the module, which it shares with its CPU, may be the reason"));
}

}  // namespace
}  // namespace roofmark
