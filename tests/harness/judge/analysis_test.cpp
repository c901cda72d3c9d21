// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/analysis.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

Work bytes(double amount) { return {{{{resource::dram, amount}}}}; }

Record probe(double seconds, int pass, std::string operation = "dram_read") {
  Record record = ok_record("ceilings", std::move(operation), bytes(1e9), seconds);
  record.sets_ceiling = {resource::dram};
  record.pass = pass;
  return record;
}

bool has(const std::vector<Finding>& findings, FindingKind kind) {
  for (const Finding& finding : findings) {
    if (finding.kind == kind) return true;
  }
  return false;
}

TEST(Analysis, TheBestProbeOfEachPassIsTheCeiling) {
  std::vector<Record> records = {probe(1e-3, 1), probe(2e-3, 1, "dram_write"), probe(1.01e-3, 2)};
  const Analysis analysis = analyze({}, records, {});
  const Ceiling* dram = analysis.roofline.find(resource::dram);
  ASSERT_TRUE(dram);
  EXPECT_DOUBLE_EQ(*dram->first, 1e12);
  EXPECT_EQ(dram->first_by, "ceilings/dram_read/fp32/n:1");
  EXPECT_DOUBLE_EQ(*dram->empirical(), 1e12);
  EXPECT_NEAR(*dram->drift(), -0.0099, 1e-4);
  EXPECT_FALSE(has(analysis.findings, FindingKind::drift));
}

TEST(Analysis, CeilingsThatContradictEachOtherAreAFinding) {
  Record l3 = probe_record("l3", resource::l3, 1e9, 2e-3);
  std::vector<Record> records = {probe(1e-3, 1), l3};
  EXPECT_TRUE(has(analyze({}, records, {}).findings, FindingKind::contradiction));
}

TEST(Analysis, NoResultRaisesItsOwnRoof) {
  std::vector<Record> records = {probe(1e-3, 1), ok_record("stream", "copy", bytes(1e9), 0.5e-3)};
  const Analysis analysis = analyze({}, records, {});
  EXPECT_DOUBLE_EQ(*analysis.roofline.find(resource::dram)->empirical(), 1e12);
  EXPECT_DOUBLE_EQ(*records[1].placement->of_empirical, 2);
  ASSERT_TRUE(has(analysis.findings, FindingKind::above_empirical));
  EXPECT_EQ(analysis.findings.back().text,
            "reached 200 % of the measured ceiling (DRAM): the probe missed the ceiling, or a cache helped");
  EXPECT_DOUBLE_EQ(analysis.findings.back().size, 2);
  records[1].sets_ceiling = {resource::dram};
  records[1].placement.reset();
  EXPECT_FALSE(has(analyze({}, records, {}).findings, FindingKind::above_empirical)) << "a probe sets its own ceiling";
}

// Without a probe of its instructions, a ceiling is that of one product, and others are a little faster.
TEST(Analysis, AProductMayBeSomewhatFasterThanTheOneProductThatSetItsCeiling) {
  Record probe = ok_record("ceilings", "gemm", {{{{resource::bf16_tensor, 1e12}}}}, 1e-3);
  probe.sets_ceiling = {resource::bf16_tensor, SetsCeiling::By::library};
  const auto exceeded = [&](double times, SetsCeiling::By by = SetsCeiling::By::library) {
    probe.sets_ceiling->by = by;
    std::vector<Record> records = {probe, ok_record("gemm", "x", {{{{resource::bf16_tensor, 1e12}}}}, 1e-3 / times)};
    return has(analyze({}, records, {}).findings, FindingKind::above_empirical);
  };
  EXPECT_FALSE(exceeded(1.07));
  EXPECT_TRUE(exceeded(1.09));
  EXPECT_TRUE(exceeded(1.07, SetsCeiling::By::rate)) << "a probe of the instructions is the limit of all products";
}

TEST(Analysis, ANetworkThatReducesIsAboveTheRoofByWhatIsLeftOnTheWire) {
  Record peer = probe_record("peer", resource::nvlink, 1e9, 1e-3);
  Record reduced = ok_record("all_reduce", "nccl", {{{{resource::nvlink, 1.5e9, 0.6e9}}}}, 1e-3);
  reduced.message = Message{};
  std::vector<Record> records = {peer, reduced};
  EXPECT_FALSE(has(analyze({}, records, {}).findings, FindingKind::above_empirical));
  records[1].work.phases.front().front().avoidable = 0.4e9;
  EXPECT_TRUE(has(analyze({}, records, {}).findings, FindingKind::above_empirical));
}

// The ceiling is that of all ranks at once, both ways: two GPUs below one PCIe switch have more.
TEST(Analysis, APairMayExceedWhatAllRanksHaveAtOnce) {
  Record ring = probe_record("pcie", resource::pcie, 1e9, 1e-3);
  std::vector<Record> records = {ring, ok_record("ping_pong", "", {{{{resource::pcie, 1e9}}}}, 0.75e-3)};
  EXPECT_TRUE(has(analyze({}, records, {}).findings, FindingKind::above_empirical));
  records[1].work.phases.front().front().lighter = true;
  EXPECT_FALSE(has(analyze({}, records, {}).findings, FindingKind::above_empirical));
  EXPECT_NEAR(*records[1].placement->of_empirical, 4.0 / 3, 1e-9) << "the number stays";
}

// Of 60 healthy cases at the roof, some are a few percent above it by chance.
TEST(Analysis, WhatTheIntervalsExplainIsNotAboveTheRoof) {
  const auto is_above = [](double half_width) {
    std::vector<Record> records = {probe(1e-3, 1), ok_record("stream", "copy", bytes(1e9), 1e-3 / 1.036)};
    for (Record& record : records) {
      Summary& summary = record.measurement->summary;
      summary.interval_low = summary.median * std::exp(-half_width);
      summary.interval_high = summary.median * std::exp(half_width);
    }
    return has(analyze({}, records, {}).findings, FindingKind::above_empirical);
  };
  EXPECT_TRUE(is_above(0.02));
  EXPECT_FALSE(is_above(0.03));
}

/// Whether a run with so many cases at the roof, and as many far below it, has one above it. All scatter by this share from
/// block to block, and one case is this much faster.
bool any_above(std::mt19937_64& random, int at_roof, double scatter, double times) {
  std::vector<Record> records = {probe(1e-3, 1)};
  for (int i = 0; i < 2 * at_roof; ++i) {
    const double share = i == 0 ? times : i < at_roof ? 1 : 0.5;
    records.push_back(ok_record("stream", std::to_string(i), bytes(1e9), 1e-3 / share));
  }
  for (Record& record : records) scatter_blocks(record, scatter, random);
  return has(analyze({}, records, {}).findings, FindingKind::above_empirical);
}

/// The share of 200 runs.
double share_above(int at_roof, double scatter, double times) {
  constexpr int kRuns = 200;
  std::mt19937_64 random(7);
  int found = 0;
  for (int run = 0; run < kRuns; ++run) found += any_above(random, at_roof, scatter, times);
  return static_cast<double>(found) / kRuns;
}

TEST(Analysis, OfSixtyCasesAtTheRoofNoneIsAboveItByChance) { EXPECT_LE(share_above(60, 0.03, 1), 0.05); }

TEST(Analysis, OfEightCasesAtTheRoofOneThatIsAboveItIsFound) { EXPECT_GE(share_above(8, 0.01, 1.05), 0.9); }

TEST(Analysis, ARateAboveATheoreticalCeilingIsAFindingAndMakesTheCeilingDoubtful) {
  Roofline theoretical;
  theoretical.at(resource::dram).theoretical = 0.9e12;
  theoretical.at(resource::dram).theoretical_source = "6144 bit x 3201 MHz x 2 / 8";
  theoretical.at(resource::fp32_fma).theoretical = 1e15;
  std::vector<Record> records = {probe(1e-3, 1), ok_record("stream", "copy", bytes(1e9), 1e-3 / 1.03)};
  const Analysis analysis = analyze(theoretical, records, {});
  for (const Record& record : records) {
    EXPECT_EQ(record.status, Status::ok);
    EXPECT_TRUE(record.measurement && record.placement);
  }
  EXPECT_EQ(exit_status(records), 0);
  const Ceiling& dram = *analysis.roofline.find(resource::dram);
  EXPECT_TRUE(dram.doubtful);
  EXPECT_DOUBLE_EQ(*dram.empirical(), 1e12);
  EXPECT_FALSE(analysis.roofline.find(resource::fp32_fma)->doubtful);
  ASSERT_EQ(analysis.findings.size(), 2U) << "and none that rests on the doubtful ceiling";
  const Finding& finding = analysis.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::above_theoretical);
  EXPECT_EQ(finding.case_name, records[0].name());
  EXPECT_EQ(finding.text,
            "DRAM: 1.00 TB/s is 1.11 times the theoretical ceiling of 900 GB/s (6144 bit x 3201 MHz x 2 / 8): a count, a clock "
            "or a table is wrong");
  EXPECT_EQ(finding.brief, "DRAM exceeds its theoretical ceiling 1.11 times");
  EXPECT_DOUBLE_EQ(finding.size, 10.0 / 9);
}

TEST(Analysis, TwoPercentAboveATheoreticalCeilingSayNothing) {
  Roofline theoretical;
  theoretical.at(resource::dram).theoretical = 1e12 / 1.019;
  std::vector<Record> records = {probe(1e-3, 1)};
  const Analysis analysis = analyze(theoretical, records, {});
  EXPECT_TRUE(analysis.findings.empty());
  EXPECT_FALSE(analysis.roofline.find(resource::dram)->doubtful);
}

TEST(Analysis, OnlyOkRecordsArePlaced) {
  std::vector<Record> records = {probe(1e-3, 1), ok_record("stream", "copy", bytes(1e9), 2e-3)};
  records[1].status = Status::failed;
  records[1].measurement.reset();
  analyze({}, records, {});
  EXPECT_FALSE(records[1].placement);
}

TEST(Analysis, ComparisonsNeedBothCases) {
  std::vector<Record> records = {ok_record("gemm", "tuned", bytes(1), 1e-3), ok_record("gemm", "default", bytes(1), 1.5e-3)};
  const Comparison comparison{"tuned against default", "algo", records[0], records[1]};
  const auto results = analyze({}, records, {comparison, {"x", "algo", {"nothing"}, records[0]}}).comparisons;
  ASSERT_EQ(results.size(), 1U);
  EXPECT_DOUBLE_EQ(results[0].ratio, 1.5);
  EXPECT_TRUE(results[0].low);
}

// In a file of two GPUs each record has the samples of its slowest one.
TEST(Analysis, BlocksOfTwoDevicesAreNoPairs) {
  std::vector<Record> records = {ok_record("gemm", "tuned", bytes(1), 1e-3), ok_record("gemm", "default", bytes(1), 1.5e-3)};
  const auto on = [&](std::size_t record, int slowest, std::vector<double> medians) {
    Measurement& measurement = *records[record].measurement;
    measurement.of_rank = slowest;
    for (const double median : medians) measurement.ranks.emplace_back(RankTimes{median, median, {}, {}});
  };
  on(0, 1, {0.9e-3, 1e-3});
  on(1, 0, {1.5e-3, 1.2e-3});
  const Comparison comparison{"tuned against default", "algo", records[0], records[1]};
  const ComparisonResult two = analyze({}, records, {comparison}).comparisons.at(0);
  EXPECT_DOUBLE_EQ(two.ratio, 1.2) << "on the second GPU";
  EXPECT_FALSE(two.low || two.high);
  records[1].measurement->of_rank = 1;
  EXPECT_TRUE(analyze({}, records, {comparison}).comparisons.at(0).low);
}

TEST(Analysis, CasesOfUnequalWorkAreComparedByRate) {
  std::vector<Record> records = {ok_record("copy", "small", bytes(4), 1e-3), ok_record("copy", "large", bytes(10), 5e-3)};
  Comparison comparison{"small against large", "bytes", records[0], records[1]};
  const ComparisonResult times = analyze({}, records, {comparison}).comparisons.at(0);
  comparison.work_ratio = 0.4;
  const ComparisonResult rates = analyze({}, records, {comparison}).comparisons.at(0);
  EXPECT_DOUBLE_EQ(times.ratio, 5);
  EXPECT_DOUBLE_EQ(rates.ratio, 2) << "4 per ms, and 2 per ms";
  EXPECT_DOUBLE_EQ(*rates.low, 0.4 * *times.low);
  EXPECT_DOUBLE_EQ(*rates.high, 0.4 * *times.high);
}

TEST(Analysis, TimingThatTakesMoreThanAHundredthOfASampleIsANote) {
  std::vector<Record> records = {ok_record("gemm", "x", bytes(1), 10e-6)};
  const auto found = [&](int launches, double overhead) {
    records[0].measurement->launches_per_sample = launches;
    return analyze({}, records, {}, overhead).findings;
  };
  EXPECT_FALSE(has(found(21, 2e-6), FindingKind::overhead));
  EXPECT_TRUE(has(found(19, 2e-6), FindingKind::overhead));
  const std::vector<Finding> findings = found(10, 2e-6);
  ASSERT_TRUE(has(findings, FindingKind::overhead));
  EXPECT_EQ(findings.front().text, "a sample takes 100 us, timing overhead adds 2.00 us: up to 2.0 % of the sample");
  EXPECT_FALSE(has(analyze({}, records, {}).findings, FindingKind::overhead)) << "not measured";
  records[0].measurement->timed = Timed::call;
  EXPECT_FALSE(has(found(10, 2e-6), FindingKind::overhead)) << "no event of the device timed it";
  records[0].measurement->timed = Timed::device;
  records[0].sets_ceiling = {resource::dram, SetsCeiling::By::slope};
  EXPECT_FALSE(has(found(10, 2e-6), FindingKind::overhead)) << "a slope has no part in it";
  records[0].sets_ceiling.reset();
  records[0].sustained.emplace();
  EXPECT_FALSE(has(found(21, 2e-6), FindingKind::overhead)) << "a batch of a sustained load";
  records[0].measurement->batches_per_sample = 7;
  const std::vector<Finding> of_batches = found(7, 2e-6);
  ASSERT_TRUE(has(of_batches, FindingKind::overhead)) << "each launch is timed by itself";
  EXPECT_EQ(of_batches.front().text, "a batch takes 10.0 us, timing overhead adds 2.00 us: up to 20.0 % of the batch");
  EXPECT_FALSE(has(found(7 * 21, 2e-6), FindingKind::overhead));
}

TEST(Analysis, AWarmUpThatDidNotSettleIsANote) {
  std::vector<Record> records = {ok_record("gemm", "x", bytes(1), 10e-6)};
  const auto unsettled = [&] { return has(analyze({}, records, {}).findings, FindingKind::unsettled); };
  EXPECT_FALSE(unsettled());
  records[0].measurement->settled = false;
  EXPECT_TRUE(unsettled());
  records[0].measurement->timed = Timed::call;
  EXPECT_FALSE(unsettled()) << "single calls need not settle";
  records[0].measurement->timed = Timed::device;
  records[0].sustained.emplace();
  EXPECT_FALSE(unsettled()) << "it says so of its rates";
}

TEST(Analysis, ExitStatus) {
  std::vector<Record> records(3);
  for (Record& record : records) record.status = Status::ok;
  EXPECT_EQ(exit_status(records), 0);
  records[0].status = Status::unsupported;
  EXPECT_EQ(exit_status(records), 0);
  records[1].status = Status::not_run;
  EXPECT_EQ(exit_status(records), 3);
  records[1].status = Status::failed;
  EXPECT_EQ(exit_status(records), 3);
  records[2].status = Status::wrong;
  EXPECT_EQ(exit_status(records), 1);

  // Ranks that disagree on the bits: the data of one of them are wrong.
  records = std::vector<Record>(1);
  records[0].status = Status::ok;
  records[0].fingerprint = Fingerprint{"00ff", "key", true, {}};
  EXPECT_EQ(exit_status(records), 0);
  records[0].fingerprint->differing_ranks = {3};
  EXPECT_EQ(exit_status(records), 1);
}

TEST(Analysis, ACaseThatGivesOtherBitsAfterTheSuiteIsWrong) {
  const auto record = [](const std::string& how, const std::string& hash, const std::string& key = "k") {
    Record made = ok_record("ceilings", how, {}, 1);
    made.fingerprint = Fingerprint{hash, key, !hash.empty(), {}};
    return made;
  };
  const auto found = [](std::vector<Record> records) {
    std::vector<std::string> texts;
    for (const Finding& finding : analyze({}, records, {}).findings) {
      if (finding.kind == FindingKind::changed_bits) texts.push_back(finding.text);
    }
    EXPECT_EQ(exit_status(records), texts.empty() ? 0 : 1);
    return texts;
  };
  const Record mma = record("mma", "00ff"), fma = record("fma", "aa"), read = record("read", "bb");
  EXPECT_THAT(found({mma, fma, read, mma, fma}), testing::IsEmpty());
  EXPECT_THAT(found({mma, fma, read, record("mma", "00fe"), fma}),
              testing::ElementsAre(
                  testing::AllOf(testing::HasSubstr("in 1 of 2 cases measured twice"), testing::HasSubstr("ceilings/mma/"))));
  EXPECT_THAT(found({mma, record("mma", "00fe", "another algorithm")}), testing::IsEmpty());
  EXPECT_THAT(found({mma, record("mma", "")}), testing::IsEmpty()) << "launches differ among themselves: no hash";
  Record failed = record("mma", "00fe");
  failed.status = Status::unsupported;
  EXPECT_THAT(found({mma, failed}), testing::IsEmpty());
  // What the ranks say already, and of whom.
  std::vector<Record> by_rank = {mma, record("mma", "00fe")};
  by_rank[1].fingerprint->differing_ranks = {0};
  EXPECT_THAT(analyze({}, by_rank, {}).findings, testing::IsEmpty());
}

Record transfer_at(double trained, double at_most) {
  Record record = ok_record("any", "in", {{{{resource::host_to_device, 1e9}}}}, 2e-2);
  record.measurement->blocks.front().before.pcie_bytes_per_second = trained;
  record.measurement->blocks.front().before.pcie_bytes_per_second_at_most = at_most;
  return record;
}

TEST(Analysis, ACopyIsNoLaunch) {
  Record copy = ok_record("any", "in", {{{{resource::host_to_device, 64}}}}, 2e-6);
  copy.transfer = Transfer{64, {{host_endpoint(), gpu_endpoint(0)}}};
  Record launch = probe_record("launch", resource::stream_launch, 1, 4e-6);
  Record link = probe_record("in", resource::host_to_device, 1e9, 2e-2);
  std::vector<Record> records = {launch, link, copy};
  EXPECT_FALSE(has(analyze({}, records, {}).findings, FindingKind::above_empirical));
  EXPECT_EQ(records.back().placement->bound_by, "host_to_device");
}

// The launch takes 4 us, and its work 1 us.
TEST(Analysis, OnlyALaunchThatTheDeviceTimesIsBoundByItsLaunch) {
  Record launch = probe_record("launch", resource::stream_launch, 1, 4e-6);
  Record kernel = ok_record("any", "kernel", bytes(1e6), 5e-6);
  Record by_host = kernel;
  by_host.operation = "by_host";
  by_host.measurement->timed = Timed::call;
  Record no_work = kernel;
  no_work.operation = "no_work";
  no_work.work = {};
  for (Record* record : {&kernel, &by_host, &no_work}) record->measurement->path = Issue::stream;
  std::vector<Record> records = {launch, probe(1e-3, 1), kernel, by_host, no_work};
  analyze({}, records, {});
  EXPECT_EQ(records[2].placement->bound_by, "stream_launch");
  EXPECT_DOUBLE_EQ(*records[2].placement->of_empirical, 0.8);
  EXPECT_EQ(records[3].placement->bound_by, "dram");
  EXPECT_DOUBLE_EQ(*records[3].placement->of_empirical, 0.2);
  EXPECT_FALSE(records[4].placement->of_empirical);
}

TEST(Analysis, ALinkThatIsTrainedSlowerThanItsEndsCanIsFoundOnce) {
  std::vector<Record> slow = {transfer_at(15.75e9, 63e9), transfer_at(31.5e9, 63e9)};
  const std::vector<Finding> findings = analyze({}, slow, {}).findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().kind, FindingKind::link_training);
  EXPECT_EQ(findings.front().text,
            "under load the PCIe link runs at 31.5 GB/s in each direction, 50.0 % of the 63.0 GB/s that both ends support");
  std::vector<Record> rising = {transfer_at(15.75e9, 63e9), transfer_at(63e9, 63e9)};
  EXPECT_FALSE(has(analyze({}, rising, {}).findings, FindingKind::link_training)) << "it rests while it is idle";
  Roofline c2c;
  c2c.at(resource::host_to_device).theoretical = 450e9;
  EXPECT_FALSE(has(analyze(c2c, slow, {}).findings, FindingKind::link_training)) << "PCIe is not the way";
  Record product = transfer_at(15.75e9, 63e9);
  product.work = bytes(1e9);
  std::vector<Record> idle = {product};
  EXPECT_FALSE(has(analyze({}, idle, {}).findings, FindingKind::link_training)) << "nothing crosses it";
}

}  // namespace
}  // namespace roofmark
