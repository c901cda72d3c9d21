// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Of ceilings, between the two passes over their probes.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "harness/judge/analysis.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Record read_of_dram(double seconds, int pass) {
  Record record = probe_record("dram_read", resource::dram, 1e9, seconds);
  record.pass = pass;
  return record;
}

TEST(Drift, DriftOfTheCeilingsIsAFinding) {
  const auto drift_to = [](double seconds) {
    std::vector<Record> both = {read_of_dram(1e-3, 1), read_of_dram(seconds, 2)};
    return analyze({}, both, {}).findings.at(0);
  };
  EXPECT_EQ(drift_to(1.03e-3).kind, FindingKind::drift);
  EXPECT_EQ(drift_to(1e-3 / 0.8).brief, "DRAM drifted by 20 %");
  EXPECT_EQ(drift_to(1e-3 / 1.034).brief, "DRAM drifted by 3.4 %");
  // A fall to a quarter is larger than a rise to the double.
  EXPECT_GT(drift_to(4e-3).size, drift_to(0.5e-3).size);
}

TEST(Drift, WhatTheProbesScatterIsNone) {
  const auto drift_with = [](double half_width) {
    std::vector<Record> both = {read_of_dram(1e-3, 1), read_of_dram(1e-3 / 1.036, 2)};
    for (Record& record : both) {
      Summary& summary = record.measurement->summary;
      summary.interval_low = summary.median * std::exp(-half_width);
      summary.interval_high = summary.median * std::exp(half_width);
    }
    return analyze({}, both, {});
  };
  EXPECT_THAT(drift_with(0.02).findings, SizeIs(1));
  const Analysis scattered = drift_with(0.03);
  EXPECT_THAT(scattered.findings, IsEmpty());
  EXPECT_NEAR(scattered.roofline.ceilings()[0].drift_half_width(), 0.03 * std::sqrt(2.0), 1e-12);
  EXPECT_FALSE(scattered.roofline.ceilings()[0].moved());
  EXPECT_NEAR(drift_with(3).roofline.ceilings()[0].drift_half_width(), 3 * std::sqrt(2.0), 1e-12);
}

/// Two passes over twelve probes whose blocks scatter by these shares; one ceiling moves.
Analysis twelve_ceilings(std::mt19937_64& random, double first, double last, double times = 1) {
  const Resource resources[] = {resource::fp64_fma,    resource::fp32_fma,    resource::fp16_fma,    resource::bf16_fma,
                                resource::fp64_tensor, resource::tf32_tensor, resource::fp16_tensor, resource::bf16_tensor,
                                resource::exp,         resource::shared,      resource::l1,          resource::dram};
  std::vector<Record> records;
  for (const int pass : {1, 2}) {
    for (const Resource& resource : resources) {
      const bool moves = pass == 2 && resource == resource::dram;
      Record& probe = records.emplace_back(probe_record("probe", resource, 1e9, moves ? 1e-3 / times : 1e-3));
      probe.pass = pass;
      scatter_blocks(probe, pass == 1 ? first : last, random);
    }
  }
  return analyze({}, records, {});
}

bool any_moved(const Analysis& analysis) {
  return std::any_of(analysis.findings.begin(), analysis.findings.end(),
                     [](const Finding& finding) { return finding.kind == FindingKind::drift; });
}

// By the intervals of each ceiling alone, many healthy runs would have a drift, the most where the last pass scatters more.
TEST(Drift, OfTwelveCeilingsAHealthyRunHasNone) {
  constexpr int kRuns = 300;
  for (const auto& [first, last] : {std::pair(0.02, 0.02), {0.05, 0.05}, {0.002, 0.03}}) {
    std::mt19937_64 random(5);
    int accused = 0;
    for (int run = 0; run < kRuns; ++run) accused += any_moved(twelve_ceilings(random, first, last));
    EXPECT_LE(accused, 0.05 * kRuns) << first << ' ' << last;
  }
}

TEST(Drift, ARealOneIsFoundAmongTwelve) {
  constexpr int kRuns = 300;
  std::mt19937_64 random(6);
  int found = 0;
  for (int run = 0; run < kRuns; ++run)
    found += twelve_ceilings(random, 0.01, 0.01, 0.95).roofline.find(resource::dram)->moved();
  EXPECT_GE(found, 0.9 * kRuns);
}

std::vector<Finding> drifts(double last_rate, double last_clock_hz, const Resource& resource = resource::bf16_tensor) {
  std::vector<Record> records;
  for (const int pass : {1, 2}) {
    const double rate = pass == 1 ? 1e15 : last_rate;
    Record& one = records.emplace_back(ok_record("ceilings", "mma", {{{{resource, 1e12}}}}, 1e12 / rate));
    one.sets_ceiling = {resource};
    one.pass = pass;
    one.measurement->clock_hz = pass == 1 ? 1.755e9 : last_clock_hz;
  }
  Roofline gpu;
  gpu.at(resource::fp32_fma).theoretical_clock_hz = 1.98e9;
  return analyze(gpu, records, {}).findings;
}

// Ceilings are measured first on a cool device and last on a hot one. One that is held to its power by its clock is healthy.
TEST(Drift, ADriftThatTheClockExplainsIsNone) {
  EXPECT_THAT(drifts(0.87e15, 0.87 * 1.755e9), IsEmpty());
  EXPECT_THAT(drifts(0.92e15, 0.87 * 1.755e9), IsEmpty()) << "by less than its clock";
  EXPECT_THAT(drifts(0.87e15 / 1.015, 0.87 * 1.755e9), IsEmpty()) << "and 1.5 % more";
  EXPECT_THAT(drifts(0.87e15, 0.87 * 1.755e9, resource::dram), SizeIs(1)) << "the SM clock does not explain DRAM";
  const auto held = drifts(0.87e15, 1.755e9);
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(held[0].text, "bf16 tensor: the ceiling moved by -13.0 % between the start and the end of the run");
  EXPECT_EQ(held[0].brief, "bf16 tensor drifted by 13 %");
  const auto further = drifts(0.81e15, 0.9 * 1.755e9);
  ASSERT_THAT(further, SizeIs(1));
  EXPECT_EQ(further[0].text,
            "bf16 tensor: the ceiling moved by -19.0 % between the start and the end of the run; its clock explains all but "
            "-10.0 %");
  EXPECT_EQ(further[0].brief, "bf16 tensor drifted by 10 % beyond its clock");
  EXPECT_NEAR(further[0].size, held[0].size * std::log(0.9) / std::log(0.87), 1e-9);
}

}  // namespace
}  // namespace roofmark
