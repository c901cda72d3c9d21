// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What analyze() finds in the readings of clock, power and energy beside a record.
#include <gmock/gmock.h>

#include <algorithm>

#include "harness/judge/analysis.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

std::vector<Record> one_record() { return {ok_record("gemm", "x", {{{{resource::dram, 1}}}}, 1e-3)}; }

bool finds(const std::vector<Finding>& findings, FindingKind kind) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.kind == kind; });
}

TEST(Readings, ThrottlingSaysHowFarTheClockFellAndWhy) {
  Roofline theoretical;
  theoretical.at(resource::fp32_fma).theoretical = 1e15;
  theoretical.at(resource::fp32_fma).theoretical_clock_hz = 2.2e9;
  theoretical.at(resource::fp32_fma).rated_clock_hz = 2e9;
  std::vector<Record> records = one_record();
  records[0].measurement->clock_hz = 1.76e9;
  records[0].measurement->telemetry.emplace().throttled_share = {{"power cap", 0.2}};
  const Analysis analysis = analyze(theoretical, records, {});
  ASSERT_TRUE(finds(analysis.findings, FindingKind::throttle));
  EXPECT_EQ(analysis.findings.front().text,
            "the clock fell by 12 % to 1760 MHz; throttle reason: power cap (during 20.0 % of the blocks' time)");
}

TEST(Readings, OfSeveralDevicesEachIsThrottledByItself) {
  Roofline theoretical;
  theoretical.at(resource::fp32_fma).rated_clock_hz = 2e9;
  std::vector<Record> records = one_record();
  Measurement& measurement = *records[0].measurement;
  measurement.clock_hz = 1.2e9;
  measurement.telemetry.emplace().sm_clock_hz = 2e9;
  measurement.of_rank = 0;
  const auto rank = [](double clock_hz, std::map<std::string, double> shares) {
    return RankTimes{1e-3, 1e-3, {}, {}, clock_hz, {}, std::move(shares)};
  };
  measurement.ranks = {rank(1.2e9, {}), rank(1.8e9, {{"thermal", 0.5}}), std::nullopt, rank(1.6e9, {{"thermal", 0.25}}),
                       rank(1.2e9, {})};
  const std::vector<Finding> found = analyze(theoretical, records, {}).findings;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, FindingKind::clock_under_load);
  EXPECT_THAT(found[0].ranks, testing::ElementsAre(0)) << "of rank 4 the file has no clock of the driver";
  EXPECT_EQ(found[1].text,
            "rank 3: the clock fell by 20 % to 1600 MHz; throttle reason: thermal (during 25.0 % of the blocks' time); it is "
            "the worst of ranks 1, 3");
  EXPECT_EQ(found[1].brief, "rank 3: the clock fell by 20 % (thermal)");
  EXPECT_THAT(found[1].ranks, testing::ElementsAre(1, 3));
  EXPECT_THAT(analyze({}, records, {}).findings.back().text,
              testing::StartsWith("rank 1: the clock was 1800 MHz; throttle reason: thermal"))
      << "of a rated clock that is unknown nobody says whether it held";
  measurement.ranks[4]->clock_hz = 1e9;
  measurement.ranks[4]->sm_clock_hz = 2e9;
  EXPECT_EQ(
      analyze(theoretical, records, {}).findings.front().text,
      "rank 4: under load the clock was 1000 MHz, 50 % below the 2000 MHz that the driver reports; it is the worst of ranks "
      "0, 4");
  measurement.ranks[4]->sm_clock_hz = 1e9;
  const std::vector<Finding> set = analyze(theoretical, records, {}).findings;
  ASSERT_EQ(set.size(), 3u);
  EXPECT_EQ(set[2].text, "rank 4: the clock fell by 50 % to 1000 MHz; the driver names no reason");
  EXPECT_EQ(set[2].kind, FindingKind::clock);
}

TEST(Readings, OfDevicesWhoseClocksHeldThatWithTheLargestShareIsTheWorst) {
  std::vector<Record> records = one_record();
  const auto rank = [](double share) { return RankTimes{1e-3, 1e-3, {}, {}, {}, {}, {{{"thermal", share}}}}; };
  records[0].measurement->ranks = {rank(0.02), rank(0.9), rank(0.5)};
  records[0].measurement->telemetry.emplace().throttled_share = records[0].measurement->ranks[0]->throttled_share;
  EXPECT_EQ(
      analyze({}, records, {}).findings.at(0).text,
      "rank 1: the clock was lowered, by how much is unknown; throttle reason: thermal (during 90.0 % of the blocks' time); "
      "it is the worst of ranks 0, 1, 2");
}

TEST(Readings, AClockThatIsSetAndOneThatFellOfItselfAreTwoFindings) {
  Roofline theoretical;
  theoretical.at(resource::fp32_fma).rated_clock_hz = 2e9;
  std::vector<Record> records = one_record();
  records[0].measurement->ranks = {RankTimes{1e-3, 1e-3, {}, {}, 1.6e9}, RankTimes{1e-3, 1e-3, {}, {}, 1.8e9}};
  for (auto& times : records[0].measurement->ranks) times->sm_clock_hz = times->clock_hz;
  records[0].measurement->clock_hz = 1.6e9;
  records[0].measurement->ranks[1]->throttled_share = {{"application clocks", 1.0}};
  const std::vector<Finding> found = analyze(theoretical, records, {}).findings;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text, "rank 0: the clock fell by 20 % to 1600 MHz; the driver names no reason");
  EXPECT_EQ(
      found[1].text,
      "rank 1: the clock fell by 10 % to 1800 MHz; the application clocks allow no more: nvidia-smi -rac as root resets them");
}

TEST(Readings, AClockThatWasNotMeasuredDidNotHold) {
  std::vector<Record> records = one_record();
  records[0].measurement->telemetry.emplace().throttled_share = {{"thermal", 0.2}};
  const std::vector<Finding> found = analyze({}, records, {}).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text,
            "the clock was lowered, by how much is unknown; throttle reason: thermal (during 20.0 % of the blocks' time)");
  EXPECT_EQ(found[0].brief, "the clock was lowered (thermal)");
}

TEST(Readings, APowerCapIsThrottlingAndHeatOrABrakeASlowdown) {
  std::vector<Record> records = one_record();
  records[0].measurement->telemetry.emplace().throttled_share = {{"hardware slowdown", 0.1}, {"hardware thermal", 0.2},
                                                                 {"power brake", 0.3},       {"power cap", 0.4},
                                                                 {"sync boost", 0.5},        {"thermal", 0.6}};
  std::vector<FindingKind> kinds;
  for (const Finding& finding : analyze({}, records, {}).findings) kinds.push_back(finding.kind);
  using enum FindingKind;
  EXPECT_THAT(kinds, testing::ElementsAre(slowdown, slowdown, slowdown, throttle, throttle, slowdown));
}

TEST(Readings, ASlowdownIsAFindingFromOnePercentOfTheTimeOn) {
  std::vector<Record> records = one_record();
  auto& shares = records[0].measurement->telemetry.emplace().throttled_share.emplace();
  for (const char* reason : {"hardware slowdown", "hardware thermal", "power brake", "thermal"}) {
    shares = {{reason, 0.009}};
    EXPECT_FALSE(finds(analyze({}, records, {}).findings, FindingKind::slowdown)) << reason;
    shares = {{reason, 0.01}};
    EXPECT_TRUE(finds(analyze({}, records, {}).findings, FindingKind::slowdown)) << reason;
  }
}

TEST(Readings, AClockBelowTheRatedOneNamesTheApplicationClocks) {
  Roofline theoretical;
  theoretical.at(resource::fp32_fma).rated_clock_hz = 2e9;
  std::vector<Record> records = one_record();
  records[0].measurement->clock_hz = 1.2e9;
  auto& shares = records[0].measurement->telemetry.emplace().throttled_share.emplace();
  const auto texts = [&] {
    std::vector<std::string> all;
    for (const Finding& finding : analyze(theoretical, records, {}).findings) {
      if (finding.kind == FindingKind::clock) all.push_back(finding.text);
    }
    return all;
  };
  const std::string unnamed = "the clock fell by 40 % to 1200 MHz; the driver names no reason";
  EXPECT_THAT(texts(), testing::ElementsAre(unnamed));
  shares = {{"application clocks", 0.9}};
  EXPECT_THAT(texts(),
              testing::ElementsAre("the clock fell by 40 % to 1200 MHz; the application clocks allow no more: nvidia-smi "
                                   "-rac as root resets them"));
  shares["power cap"] = 0.1;
  EXPECT_EQ(texts().size(), 1u) << "beside the finding of the power cap";
  shares = {{"hardware slowdown", 0.001}, {"application clocks", 0.001}};
  EXPECT_THAT(texts(), testing::ElementsAre(unnamed)) << "neither lasted";
  shares = {{"power cap", 0.1}};
  EXPECT_THAT(texts(), testing::IsEmpty());
  records[0].measurement->clock_hz = 2e9;
  shares = {{"application clocks", 1}};
  EXPECT_THAT(texts(), testing::IsEmpty()) << "the clock held";
}

TEST(Readings, EnergyOfTheCounterAndOfThePowerAreCompared) {
  std::vector<Record> records = one_record();
  TelemetrySummary& telemetry = records[0].measurement->telemetry.emplace();
  const auto mismatch = [&] { return finds(analyze({}, records, {}).findings, FindingKind::energy); };
  telemetry.seconds = 2;
  EXPECT_FALSE(mismatch());
  telemetry.energy_joules = 1000;
  EXPECT_FALSE(mismatch()) << "nothing to compare with";
  telemetry.integrated_joules = 1040;
  EXPECT_FALSE(mismatch());
  telemetry.integrated_joules = 1060;
  EXPECT_TRUE(mismatch());
  telemetry.integrated_joules = 1100;
  EXPECT_TRUE(mismatch());
  EXPECT_EQ(analyze({}, records, {}).findings.front().text,
            "the energy counter gives 1000.0 J, the power readings 1100.0 J, over 2.0 s");
  telemetry.integrated_joules = 900;
  EXPECT_TRUE(mismatch());
  telemetry.seconds = 1;
  EXPECT_TRUE(mismatch());
  telemetry.seconds = 0.9;
  EXPECT_FALSE(mismatch()) << "too short";
}

}  // namespace
}  // namespace roofmark
