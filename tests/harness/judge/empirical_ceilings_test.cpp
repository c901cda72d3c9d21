// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/empirical_ceilings.hpp"

#include <gmock/gmock.h>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

/// A graph of `launches` nodes that takes this long as a whole.
Record graph(int launches, double seconds, int pass = 1) {
  Record record = ok_record("ceilings", "launch", {{{{resource::graph_launch, 1}}}}, seconds / launches);
  record.shape = {{"nodes", std::to_string(launches)}};
  record.sets_ceiling = {resource::graph_launch, SetsCeiling::By::slope};
  record.pass = pass;
  record.measurement->launches_per_sample = launches;
  return record;
}

Ceiling raised(const std::vector<Record>& records) {
  Roofline roofline;
  set_ceilings(roofline, records);
  return roofline.at(resource::graph_launch);
}

constexpr double kFixed = 5e-6, kNode = 1.2e-6;
double line(int launches) { return kFixed + kNode * launches; }

TEST(EmpiricalCeilings, TheSlopeIsTheRateAndTheFixedPartIsKept) {
  const Ceiling ceiling = raised({graph(128, line(128)), graph(2048, line(2048)), graph(512, line(512))});
  EXPECT_NEAR(*ceiling.first, 1 / kNode, 1e-6 / kNode);
  EXPECT_EQ(ceiling.first_by, "ceilings/launch/fp32/nodes:2048");
  ASSERT_TRUE(ceiling.first_line);
  EXPECT_NEAR(ceiling.first_line->fixed_seconds, kFixed, 1e-9);
  EXPECT_NEAR(*ceiling.first_line->r2, 1, 1e-9);
  EXPECT_EQ(ceiling.first_line->points, 3);
  EXPECT_FALSE(ceiling.last || ceiling.last_line);
}

TEST(EmpiricalCeilings, EachPassHasItsLine) {
  const auto slower_start = [](int launches) { return line(launches) + 3 * kFixed; };
  const Ceiling ceiling =
      raised({graph(128, line(128)), graph(512, line(512)), graph(2048, line(2048)), graph(128, slower_start(128), 2),
              graph(512, slower_start(512), 2), graph(2048, slower_start(2048), 2)});
  EXPECT_NEAR(ceiling.last_line->fixed_seconds, 4 * kFixed, 1e-9);
  // What a sample costs besides its launches moved, and the ceiling did not.
  EXPECT_NEAR(*ceiling.drift(), 0, 1e-6);
}

TEST(EmpiricalCeilings, NoiseMovesASlopeByNoMoreThanItself) {
  const Ceiling ceiling = raised({graph(128, 1.01 * line(128)), graph(512, 0.99 * line(512)), graph(2048, 1.01 * line(2048))});
  EXPECT_NEAR(*ceiling.first, 1 / kNode, 0.02 / kNode);
  EXPECT_LT(*ceiling.first_line->r2, 1);
  EXPECT_GT(*ceiling.first_line->r2, 0.99);
}

TEST(EmpiricalCeilings, WhatIsNoLineShows) {
  const auto curve = [](int launches) { return kFixed + kNode * launches * (1 + launches / 500.0); };
  EXPECT_LT(*raised({graph(128, curve(128)), graph(512, curve(512)), graph(2048, curve(2048))}).first_line->r2, 0.98);
}

TEST(EmpiricalCeilings, ALineNeverBeginsBelowZero) {
  const Ceiling ceiling = raised({graph(128, 100e-6), graph(512, 500e-6), graph(2048, 2100e-6)});
  EXPECT_EQ(ceiling.first_line->fixed_seconds, 0);
  // Or the rate would exceed the fastest that was seen.
  EXPECT_LE(*ceiling.first, 128 / 100e-6);
}

Record tensor_probe(double seconds, std::optional<double> clock_hz, SetsCeiling::By by = SetsCeiling::By::rate, int pass = 1) {
  Record record = ok_record("ceilings", "gemm", {{{{resource::bf16_tensor, 1e12}}}}, seconds);
  record.sets_ceiling = {resource::bf16_tensor, by};
  record.pass = pass;
  record.measurement->clock_hz = clock_hz;
  return record;
}

Roofline of_gpu() {
  Roofline roofline;
  roofline.at(resource::fp32_fma).theoretical_clock_hz = 2e9;
  return roofline;
}

TEST(EmpiricalCeilings, HaveTheClockOfTheirProbeAndWhetherItIsALibrarys) {
  using enum SetsCeiling::By;
  Roofline roofline = of_gpu();
  set_ceilings(roofline, {tensor_probe(2e-3, 2e9), tensor_probe(1e-3, 1.7e9, library), tensor_probe(3e-3, 1.9e9, library, 2),
                          tensor_probe(2e-3, 1.5e9, rate, 2)});
  const Ceiling& ceiling = roofline.at(resource::bf16_tensor);
  EXPECT_EQ(ceiling.first_clock_hz, 1.7e9);
  EXPECT_EQ(ceiling.last_clock_hz, 1.5e9);
  EXPECT_TRUE(ceiling.first_by_library);
  EXPECT_FALSE(ceiling.last_by_library);
}

// The rate of a team is that of its slowest rank.
TEST(EmpiricalCeilings, OfATeamHaveTheClockOfTheSlowestRank) {
  Record record = tensor_probe(2e-3, 2e9);
  record.measurement->ranks = {RankTimes{1e-3, 1e-3, {}, {}, 2e9}, RankTimes{2e-3, 2e-3, {}, {}, 1.2e9}, std::nullopt};
  Roofline roofline = of_gpu();
  set_ceilings(roofline, {record});
  EXPECT_EQ(roofline.at(resource::bf16_tensor).first_clock_hz, 1.2e9);
}

// Other programs delay the additions that its clock is read from.
TEST(EmpiricalCeilings, OfACpuHaveNoClock) {
  Roofline roofline;
  set_ceilings(roofline, {tensor_probe(2e-3, 2e9)});
  EXPECT_FALSE(roofline.at(resource::bf16_tensor).first_clock_hz);
}

TEST(EmpiricalCeilings, WithoutALineTheBestRateCounts) {
  const Ceiling one = raised({graph(512, line(512))});
  EXPECT_DOUBLE_EQ(*one.first, 512 / line(512));
  EXPECT_EQ(one.first_by, "ceilings/launch/fp32/nodes:512");
  EXPECT_FALSE(one.first_line);
  // More nodes in less time.
  const Ceiling falling = raised({graph(128, 400e-6), graph(512, 300e-6)});
  EXPECT_DOUBLE_EQ(*falling.first, 512 / 300e-6);
  EXPECT_FALSE(falling.first_line);
}

TEST(EmpiricalCeilings, TwoPointsHaveALineAndNoR2) {
  const Ceiling ceiling = raised({graph(128, line(128)), graph(512, line(512))});
  EXPECT_NEAR(*ceiling.first, 1 / kNode, 1e-6 / kNode);
  EXPECT_FALSE(ceiling.first_line->r2);
}

TEST(EmpiricalCeilings, WhatFailedIsNoPoint) {
  std::vector<Record> records = {graph(128, line(128)), graph(512, line(512)), graph(2048, 1)};
  records[2].status = Status::failed;
  records[2].measurement.reset();
  EXPECT_EQ(raised(records).first_line->points, 2);
}

}  // namespace
}  // namespace roofmark
