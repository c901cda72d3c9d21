// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/communication.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "harness/model/statistics.hpp"
#include "harness/result/team_json.hpp"
#include "harness/team/json.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kSizes[] = {8, 1024, 65536, 1048576};

TEST(BusBandwidth, IsThatOfOneTripOfAnOkRecord) {
  Record record = collective("all_reduce", 8'000'000, 4, 1.5, 2e-3);
  auto found = bus_bandwidth(record);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->seconds, 2e-3);
  EXPECT_DOUBLE_EQ(*found->algbw, 4e9);
  EXPECT_DOUBLE_EQ(*found->busbw, 6e9);
  record.message->trips = 2;
  EXPECT_DOUBLE_EQ(*bus_bandwidth(record)->algbw, 8e9);
  record.message.reset();
  EXPECT_FALSE(bus_bandwidth(record));
  record = collective("all_reduce", 8, 4, 1.5, 1);
  record.status = Status::wrong;
  EXPECT_FALSE(bus_bandwidth(record));
}

TEST(BusBandwidth, OneRankCrossesNoLink) {
  const auto found = bus_bandwidth(collective("broadcast", 8'000'000, 1, 1, 1e-8));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->seconds, 1e-8);
  EXPECT_FALSE(found->algbw);
  EXPECT_FALSE(found->busbw);
}

TEST(BusBandwidth, ANetworkThatReducesIsPlacedByTheBytesLeftOnTheWire) {
  Record record = collective("all_reduce", 8'000'000, 8, 1.75, 2e-3);
  record.work = {{{{resource::nvlink, 14e6}}}};
  record.placement = Placement{};
  record.placement->bound_by = "nvlink";
  record.placement->of_empirical = 1.4;
  EXPECT_FALSE(switched_share(record));
  record.work.phases.front().front().avoidable = 6e6;
  EXPECT_DOUBLE_EQ(switched_share(record).value(), 0.8);  // 8 MB of 14
  record.placement->of_empirical.reset();
  EXPECT_FALSE(switched_share(record));
  record.placement->of_theoretical = 1.05;  // no probe of the link
  EXPECT_DOUBLE_EQ(switched_share(record).value(), 0.6);
  record.placement->bound_by = "network";
  EXPECT_FALSE(switched_share(record));
}

TEST(Fits, FindLatencyAndRateOfEachSeries) {
  std::vector<Record> records;
  for (const std::size_t bytes : kSizes) {
    records.push_back(collective("all_reduce", bytes, 4, 1.5, 5e-6 + double(bytes) / 10e9));
    records.push_back(collective("broadcast", bytes, 4, 1, 3e-6));
  }
  records.push_back(collective("gather", 8, 4, 0.75, 1e-6));  // one size is no line
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a"}));
  ASSERT_THAT(found.fits, SizeIs(2));
  EXPECT_EQ(found.fits[0].series, "all_reduce/fp32/ranks:4/op:sum/place:out/impl:mpi");
  EXPECT_NEAR(found.fits[0].latency_seconds.value(), 5e-6, 1e-12);
  EXPECT_NEAR(found.fits[0].bytes_per_second.value(), 10e9, 1);
  EXPECT_NEAR(found.fits[0].bus_bytes_per_second.value(), 15e9, 1);
  EXPECT_NEAR(found.fits[0].r2.value(), 1, 1e-9);
  EXPECT_EQ(found.fits[0].points, 4);
  EXPECT_FALSE(found.fits[1].bytes_per_second);
  EXPECT_FALSE(found.fits[1].r2);
}

TEST(Fits, ASmallMessageCountsAsMuchAsALargeOne) {
  std::vector<Record> records;
  for (const std::size_t bytes : kSizes) {
    const double late = bytes == 1048576 ? 1.1 : 1;
    records.push_back(collective("all_reduce", bytes, 4, 1.5, late * (5e-6 + double(bytes) / 1e9)));
  }
  // By plain least squares the last one, 105 us late, would turn the line until the latency is 2.8 us.
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a"}));
  EXPECT_NEAR(found.fits.at(0).latency_seconds.value(), 5e-6, 0.1e-6);
}

// The noise is as often above the line as below; what was quick by chance must not count more.
TEST(Fits, AreNotTurnedTowardsTheQuickPoints) {
  std::vector<Record> records;
  for (int i = 0; i < 40; ++i) {
    const std::size_t bytes = std::size_t{8} << (i / 2);
    records.push_back(
        collective("all_reduce", bytes + std::size_t(i % 2), 4, 1.5, (i % 2 ? 1.5 : 0.5) * (5e-6 + double(bytes) / 1e9)));
  }
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a"}));
  EXPECT_NEAR(found.fits.at(0).latency_seconds.value(), 5e-6, 0.1e-6);
  EXPECT_NEAR(found.fits.at(0).bytes_per_second.value(), 1e9, 0.02e9);
}

TEST(Fits, OfTwoSizesSayNothingOfHowWellTheyFit) {
  const std::vector<Record> records = {collective("all_reduce", 8, 2, 1, 1e-6), collective("all_reduce", 1 << 20, 2, 1, 9e-4)};
  const LatencyFit fit = analyze_communication(records, members({"a", "a"})).fits.at(0);
  EXPECT_FALSE(fit.r2);
  EXPECT_TRUE(fit.latency_seconds);
}

TEST(Fits, ALineThatWouldBeginBelowZeroHasNoLatency) {
  const std::vector<Record> records = {collective("all_reduce", 1000, 2, 1, 1e-6), collective("all_reduce", 2000, 2, 1, 4e-6),
                                       collective("all_reduce", 3000, 2, 1, 9e-6)};
  const LatencyFit fit = analyze_communication(records, members({"a", "a"})).fits.at(0);
  EXPECT_FALSE(fit.latency_seconds);
  EXPECT_TRUE(fit.bytes_per_second);
}

TEST(Fits, ALineThatWouldFallIsLevel) {
  const auto of = [](std::size_t bytes, double seconds) { return collective("all_reduce", bytes, 2, 1, seconds); };
  const LatencyFit two = analyze_communication({of(2048, 8e-3), of(8192, 2e-3)}, members({"a", "a"})).fits.at(0);
  EXPECT_DOUBLE_EQ(two.latency_seconds.value(), 5e-3) << "and not 10 ms, where the falling line begins";
  EXPECT_FALSE(two.bytes_per_second);
  const std::vector<Record> three = {of(1000, 3e-6), of(2000, 2e-6), of(3000, 1e-6)};
  const LatencyFit fit = analyze_communication(three, members({"a", "a"})).fits.at(0);
  EXPECT_DOUBLE_EQ(fit.latency_seconds.value(), 2e-6);
  EXPECT_EQ(fit.r2, 0);
}

TEST(Fits, PairsHaveOneWithinAHostAndOneBetweenHosts) {
  const auto records = ping_pong(4, {8, 1'000'000}, [](int a, int b, std::size_t bytes) {
    const bool within = a / 2 == b / 2;
    return (within ? 1e-6 : 20e-6) + double(bytes) / (within ? 5e9 : 1e9);
  });
  const Communication found = analyze_communication(records, members({"a", "a", "b", "b"}));
  ASSERT_THAT(found.fits, SizeIs(2));
  EXPECT_EQ(found.fits[0].series, "ping_pong/fp32/ranks:4/impl:mpi, within a host");
  EXPECT_EQ(found.fits[1].series, "ping_pong/fp32/ranks:4/impl:mpi, between hosts");
  EXPECT_NEAR(found.fits[1].latency_seconds.value(), 20e-6, 1e-12);
  EXPECT_NEAR(found.fits[1].bytes_per_second.value(), 1e9, 1);
  EXPECT_THAT(found.findings, IsEmpty());
}

TEST(Fits, APairWithinAnNvlinkDomainCrossesNoNetwork) {
  const auto records = ping_pong(4, {8, 1'000'000}, [](int a, int b, std::size_t bytes) {
    const bool linked = (a < 2) == (b < 2);
    return (linked ? 1e-6 : 20e-6) + double(bytes) / (linked ? 5e9 : 1e9);
  });
  auto ranks = members({"a", "b", "c", "d"});
  for (RankInfo& rank : ranks) rank.nvlink_domain = rank.rank < 2 ? "rack1/1" : "rack2/1";
  const Communication found = analyze_communication(records, ranks);
  ASSERT_THAT(found.fits, SizeIs(2));
  EXPECT_EQ(found.fits[0].series, "ping_pong/fp32/ranks:4/impl:mpi, within an NVLink domain");
  EXPECT_EQ(found.fits[1].series, "ping_pong/fp32/ranks:4/impl:mpi, between NVLink domains");
  EXPECT_NEAR(found.fits[0].latency_seconds.value(), 1e-6, 1e-12);
  EXPECT_NEAR(found.fits[1].latency_seconds.value(), 20e-6, 1e-12);
}

// Two hosts of 8 GPUs with 8 ports each, of which the probe got 48 GB/s: every port carries an eighth of the 1.875 S that leave
// the host. One ring in rank order would have one port: 48 GB/s in place of 384 GB/s.
TEST(Rings, UseAllPortsOfAHost) {
  Roofline roofline;
  roofline.at(resource::nvlink).first = 370e9;
  roofline.at(resource::network).first = 384e9;
  const auto reaching = [&](double busbw) {
    Record record = collective("all_reduce", 1'000'000'000, 16, 1.875, 1.875e9 / busbw, "nccl");
    record.message->ring = {{{{resource::nvlink, 1.875e9}, {resource::network, 1.875e9}}}};
    const auto found = analyze_communication({record}, members(std::vector<std::string>(16, "a")), roofline).rings;
    EXPECT_THAT(found, SizeIs(1));
    return found.empty() ? RingPrediction() : found[0];
  };
  EXPECT_NEAR(reaching(356e9).seconds, 1.875e9 / 370e9, 1e-9) << "NVLink is slower";
  EXPECT_NEAR(reaching(356e9).ratio, 0.962, 1e-3);
  EXPECT_NEAR(reaching(178e9).ratio, 0.481, 1e-3) << "half of the ports";
  roofline.at(resource::nvlink).first = 450e9;
  EXPECT_NEAR(reaching(356e9).ratio, 0.927, 1e-3) << "the network is slower";
}

TEST(Rings, AreAbsentWithoutEveryCeilingAndWhereNoRingDoesIt) {
  Record record = collective("all_reduce", 1'000'000, 16, 1.875, 1e-4, "nccl");
  Roofline roofline;
  roofline.at(resource::nvlink).first = 370e9;
  roofline.at(resource::network).theoretical = 400e9;
  EXPECT_THAT(analyze_communication({record}, members({"a"}), roofline).rings, IsEmpty());
  record.message->ring = {{{{resource::nvlink, 1.875e6}, {resource::network, 1.875e6}}}};
  EXPECT_THAT(analyze_communication({record}, members({"a"}), roofline).rings, IsEmpty()) << "the network was not measured";
  roofline.at(resource::network).first = 384e9;
  EXPECT_THAT(analyze_communication({record}, members({"a"}), roofline).rings, SizeIs(1));
  record.status = Status::wrong;
  EXPECT_THAT(analyze_communication({record}, members({"a"}), roofline).rings, IsEmpty());
}

/// busbw 10, 8, 6 GB/s at 1 MB and 12, 11, 9 at 4 MB for 2, 4, 8 ranks.
std::vector<Record> scaled(const std::string& family, int bus_rounds) {
  std::vector<Record> records;
  const double rates[2][3] = {{10e9, 8e9, 6e9}, {12e9, 11e9, 9e9}};
  for (int size = 0; size < 2; ++size) {
    for (int i = 0; i < 3; ++i) {
      const int ranks = 2 << i;
      const double bytes = size ? 4e6 : 1e6, factor = double(bus_rounds) * (ranks - 1) / ranks;
      // Made of whole chunks, sizes are not quite the same.
      records.push_back(
          collective(family, std::size_t(bytes) + std::size_t(i), ranks, factor, bytes * factor / rates[size][i]));
    }
  }
  return records;
}

ScalingRow scaling_row(const std::vector<ScalingRow>& rows, int ranks, bool large) {
  for (const ScalingRow& each : rows) {
    if (each.ranks == ranks && (each.bytes > 2'000'000) == large) return each;
  }
  return {};
}

// The size of an all-reduce is each rank's: the same for more ranks is more work in all.
TEST(Scaling, OfTheSameSizePerRankIsWeak) {
  std::vector<Record> records = scaled("all_reduce", 2);
  records.push_back(collective("all_reduce", 1'000'000, 1, 0, 1e-5));
  records.push_back(collective("all_gather", 1'000'000, 4, 0.75, 1e-3));  // one team does not scale
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"}));
  ASSERT_THAT(found.scaling, SizeIs(7));
  EXPECT_EQ(found.scaling[0].ranks, 1);
  EXPECT_FALSE(found.scaling[0].weak_efficiency);
  EXPECT_EQ(found.scaling[0].series.name(), "all_reduce/fp32/op:sum/place:out/impl:mpi");
  for (const ScalingRow& row : found.scaling) EXPECT_FALSE(row.strong_efficiency);
  EXPECT_NEAR(scaling_row(found.scaling, 2, false).weak_efficiency.value(), 1, 1e-3);
  EXPECT_NEAR(scaling_row(found.scaling, 4, false).weak_efficiency.value(), 0.8, 1e-3);
  EXPECT_NEAR(scaling_row(found.scaling, 8, true).weak_efficiency.value(), 0.75, 1e-3);
}

TEST(Scaling, OfTheSameTotalIsStrong) {
  std::vector<Record> records = scaled("all_gather", 1);
  for (Record& record : records) record.message->count /= static_cast<std::size_t>(record.message->ranks);
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"}));
  EXPECT_NEAR(scaling_row(found.scaling, 2, false).strong_efficiency.value(), 1, 1e-3);
  EXPECT_NEAR(scaling_row(found.scaling, 2, false).weak_efficiency.value(), 1, 1e-3);
  EXPECT_NEAR(scaling_row(found.scaling, 4, false).strong_efficiency.value(), 0.8, 1e-3);
  EXPECT_FALSE(scaling_row(found.scaling, 4, false).weak_efficiency);  // 0.5 MB on 2 ranks was not measured
  EXPECT_NEAR(scaling_row(found.scaling, 8, true).strong_efficiency.value(), 0.75, 1e-3);
  EXPECT_NEAR(scaling_row(found.scaling, 8, true).weak_efficiency.value(), 0.9, 1e-3);  // 9 GB/s at 4 MB against 10 at 1 MB
}

TEST(Overlaps, SayWhatIsHiddenAndWhatItCosts) {
  std::vector<Record> records = overlap_records(10e-3, 4e-3, 11e-3);
  Communication found = analyze_communication(records, members({"a", "b"}));
  ASSERT_THAT(found.overlaps, SizeIs(1));
  EXPECT_EQ(found.overlaps[0].series.name(), "overlap/fp32/n:1");
  EXPECT_NEAR(found.overlaps[0].hidden, 0.75, 1e-12);
  EXPECT_EQ(found.overlaps[0].covered, 1);
  EXPECT_NEAR(found.overlaps[0].slow_down.value(), 0.1, 1e-12);
  records = overlap_records(10e-3, 20e-3, 32e-3);
  found = analyze_communication(records, members({"a", "b"}));
  EXPECT_NEAR(found.overlaps[0].hidden, -0.2, 1e-12);
  EXPECT_FALSE(found.overlaps[0].slow_down);
  records.pop_back();
  EXPECT_THAT(analyze_communication(records, members({"a", "b"})).overlaps, IsEmpty());
}

// One NIC of 50 GB/s: the product lasts 15.7 % of the all-reduce. That is all it can hide, and it hides all of it.
TEST(Overlaps, AProductThatIsShorterThanTheAllReduceHidesWhatItCan) {
  std::vector<Record> records = overlap_records(1.57e-3, 10e-3, 10e-3);
  const Overlap found = analyze_communication(records, members({"a", "b"})).overlaps.at(0);
  EXPECT_NEAR(found.hidden, 1, 1e-9);
  EXPECT_NEAR(found.covered, 0.157, 1e-9);
  EXPECT_FALSE(found.slow_down);
  records = overlap_records(1.57e-3, 10e-3, 11.57e-3);
  EXPECT_NEAR(analyze_communication(records, members({"a", "b"})).overlaps.at(0).hidden, 0, 1e-9);
}

/// Multiplies the times of each block.
void set_blocks(std::vector<Record>& records, const std::function<double(int record, int block)>& factor) {
  for (int i = 0; i < 3; ++i) {
    Measurement& measurement = *records[i].measurement;
    double by_sample = 1;  // equal ones would be those of a coarse clock
    for (Sample& sample : measurement.samples) {
      sample.seconds = measurement.summary.median * factor(i, sample.block) * (by_sample += 1e-9);
    }
    measurement.summary = summarize(measurement.samples);
  }
}

// A clock that falls slows all three alike, and they are measured beside each other.
TEST(Overlaps, WhatSlowsAllThreeIsNotInTheInterval) {
  std::vector<Record> records = overlap_records(10e-3, 4e-3, 11e-3);
  set_blocks(records, [](int, int block) { return 1 + 0.05 * block; });
  Overlap found = analyze_communication(records, members({"a", "b"})).overlaps.at(0);
  EXPECT_GT(relative_half_width(records[0].measurement->summary).value(), 0.08);
  EXPECT_NEAR(found.hidden, 0.75, 1e-6);
  EXPECT_LT(found.hidden_half_width.value(), 1e-6);

  records = overlap_records(10e-3, 4e-3, 11e-3);
  set_blocks(records, [](int record, int block) { return record == 2 ? 1 + 0.01 * (block - 2) : 1; });
  found = analyze_communication(records, members({"a", "b"})).overlaps.at(0);
  EXPECT_NEAR(found.hidden, 0.75, 1e-6);
  EXPECT_NEAR(found.hidden_half_width.value(), 2.77645 * std::sqrt(2.5) * 0.01 / std::sqrt(5) * 11 / 4, 1e-4);

  records[2].measurement->of_rank = 1;
  EXPECT_FALSE(analyze_communication(records, members({"a", "b"})).overlaps.at(0).hidden_half_width)
      << "blocks of different devices";

  records = overlap_records(10e-3, 4e-3, 11e-3);
  for (Record& record : records) record.measurement->samples.resize(4);
  EXPECT_FALSE(analyze_communication(records, members({"a", "b"})).overlaps.at(0).hidden_half_width) << "one block";
}

TEST(Pairs, EachIsTheSlowerOfItsTwoRanksInOneDirection) {
  const auto records = ping_pong(5, {8}, [](int a, int b, std::size_t) { return a * 1e-6 + b * 1e-7; });
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a", "a"}));
  ASSERT_THAT(found.pairs, SizeIs(10));
  for (const PairTime& pair : found.pairs) {
    EXPECT_LT(pair.a, pair.b);
    EXPECT_DOUBLE_EQ(pair.seconds, pair.a * 1e-6 + pair.b * 1e-7);
  }
}

TEST(Pairs, AreComparedWithTheLowerQuartileOfTheirKind) {
  auto records = ping_pong(5, {8}, [](int a, int b, std::size_t) { return (10 + 5 * a + b) * 1e-7; });
  for (Record& record : records) {
    for (auto& rank : record.measurement->ranks) {
      if (!rank) continue;
      rank->interval_low = 0.9 * rank->median;
      rank->interval_high = 1.2 * rank->median;
    }
  }
  const auto found = relative_pair_times(records, Places(members({"a", "a", "a", "a", "a"})));
  ASSERT_THAT(found, SizeIs(1));
  const PairsOf<int>& pairs = found.begin()->second.at(8);
  ASSERT_THAT(pairs, SizeIs(10));
  for (const auto& [pair, time] : pairs) {
    const double times = (10.0 + 5 * pair.first + pair.second) / 13;  // the third of ten
    EXPECT_DOUBLE_EQ(time.times, times);
    EXPECT_DOUBLE_EQ(time.low, 0.9 * times);
    EXPECT_DOUBLE_EQ(time.high, 1.2 * times);
  }
}

TEST(Communication, NothingFollowsFromNothing) {
  const Json json = to_json(analyze_communication({}, {}));
  EXPECT_EQ(json.dump(), R"({"fits":[],"rings":[],"pairs":[],"scaling":[],"overlaps":[],"slowest":[],"groups":[],)"
                         R"("slow":"one rank has no link and no peer to compare with"})");
}

}  // namespace
}  // namespace roofmark
