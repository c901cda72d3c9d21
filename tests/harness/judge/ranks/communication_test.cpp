// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/communication.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "harness/result/json.hpp"
#include "harness/result/team_json.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kSizes[] = {8, 1024, 65536, 1048576};

std::vector<std::string> texts(const Communication& found, FindingKind kind) {
  std::vector<std::string> all;
  for (const Finding& finding : found.findings) {
    if (finding.kind == kind) all.push_back(finding.text);
  }
  return all;
}

TEST(BusBandwidth, IsThatOfOneTripOfAnOkRecord) {
  Record record = collective("all_reduce", 8'000'000, 4, 1.5, 2e-3);
  auto found = bus_bandwidth(record);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->seconds, 2e-3);
  EXPECT_DOUBLE_EQ(found->algbw, 4e9);
  EXPECT_DOUBLE_EQ(found->busbw, 6e9);
  record.message->trips = 2;
  EXPECT_DOUBLE_EQ(bus_bandwidth(record)->algbw, 8e9);
  record.message.reset();
  EXPECT_FALSE(bus_bandwidth(record));
  record = collective("all_reduce", 8, 4, 1.5, 1);
  record.status = Status::wrong;
  EXPECT_FALSE(bus_bandwidth(record));
}

TEST(BusBandwidth, ANetworkThatReducesIsPlacedByTheBytesLeftOnTheWire) {
  Record record = collective("all_reduce", 8'000'000, 8, 1.75, 2e-3);
  record.work = {{{{resource::nvlink, 14e6}}}};
  record.placement = Placement{};
  record.placement->bound_by = "nvlink";
  record.placement->of_empirical = 1.4;
  EXPECT_FALSE(switched_share(record));
  record.message->switched_bytes = 8e6;
  EXPECT_DOUBLE_EQ(switched_share(record).value(), 0.8);
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

TEST(Rings, ArePredictedFromSendRecv) {
  std::vector<Record> records;
  for (const std::size_t bytes : kSizes) {
    records.push_back(collective("send_recv", bytes, 4, 1, 2e-6 + double(bytes) / 8e9));
    records.push_back(collective("send_recv", bytes, 2, 1, 1e-6 + double(bytes) / 9e9));  // another team
  }
  records.push_back(collective("all_reduce", 1'000'000, 4, 1.5, 100e-6));
  records.push_back(collective("all_gather", 1'000'000, 4, 0.75, 100e-6));
  records.push_back(collective("broadcast", 1'000'000, 4, 1, 100e-6));
  records.push_back(collective("all_reduce", 1'000'000, 4, 1.5, 100e-6, "nccl"));  // nobody measured its neighbours
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a"}));
  ASSERT_THAT(found.rings, SizeIs(3));
  EXPECT_NEAR(found.rings[0].seconds, 6 * 2e-6 + 1.5e6 / 8e9, 1e-12);
  EXPECT_NEAR(found.rings[0].ratio, (6 * 2e-6 + 1.5e6 / 8e9) / 100e-6, 1e-6);
  EXPECT_NEAR(found.rings[1].seconds, 3 * 2e-6 + 0.75e6 / 8e9, 1e-12);
  EXPECT_NEAR(found.rings[2].seconds, 3 * 2e-6 + 1e6 / 8e9, 1e-12);
}

TEST(Rings, ArePredictedFromTheSlowestNeighboursWithoutSendRecv) {
  // 0-1-2-3-0: the link 2-3 is the slowest of the ring, 0-2 is slower still and not in it.
  auto records = ping_pong(4, {8, 1'000'000}, [](int a, int b, std::size_t bytes) {
    const double slower = a == 2 && b == 3 ? 2 : a == 0 && b == 2 ? 9 : 1;
    return slower * (1e-6 + double(bytes) / 4e9);
  });
  records.push_back(collective("all_reduce", 1'000'000, 4, 1.5, 1e-3));
  Record halves = collective("all_reduce", 1'000'000, 2, 1, 1e-3);
  halves.message->groups = {{0, 1}, {2, 3}};
  records.push_back(halves);
  halves.message->groups = {{0, 1}};
  records.push_back(halves);
  records.push_back(collective("send_recv", 1'000'000, 4, 1, 1e-3));
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a"}));
  ASSERT_THAT(found.rings, SizeIs(4));
  EXPECT_NEAR(found.rings[0].seconds, 6 * 2e-6 + 1.5e6 / 2e9, 1e-9);
  EXPECT_NEAR(found.rings[1].seconds, 2 * 2e-6 + 1e6 / 2e9, 1e-9);
  EXPECT_NEAR(found.rings[2].seconds, 2 * 1e-6 + 1e6 / 4e9, 1e-9);
  EXPECT_NEAR(found.rings[3].seconds, 1 * 2e-6 + 1e6 / 2e9, 1e-9);
}

TEST(Scaling, ComparesBusBandwidthsOfTheSameSizeAndOfAsMuchForEachRank) {
  std::vector<Record> records;
  // busbw 10, 8, 6 GB/s at 1 MB and 12, 11, 9 at 4 MB for 2, 4, 8 ranks.
  const double rates[2][3] = {{10e9, 8e9, 6e9}, {12e9, 11e9, 9e9}};
  for (int size = 0; size < 2; ++size) {
    for (int i = 0; i < 3; ++i) {
      const int ranks = 2 << i;
      const double bytes = size ? 4e6 : 1e6, factor = 2.0 * (ranks - 1) / ranks;
      // Made of whole chunks, sizes are not quite the same.
      records.push_back(
          collective("all_reduce", std::size_t(bytes) + std::size_t(i), ranks, factor, bytes * factor / rates[size][i]));
    }
  }
  records.push_back(collective("all_reduce", 1'000'000, 1, 0, 1e-5));
  records.push_back(collective("all_gather", 1'000'000, 4, 0.75, 1e-3));  // one team does not scale
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"}));
  ASSERT_THAT(found.scaling, SizeIs(7));
  EXPECT_EQ(found.scaling[0].ranks, 1);
  EXPECT_FALSE(found.scaling[0].strong_efficiency);
  EXPECT_EQ(found.scaling[0].series, "all_reduce/fp32/op:sum/place:out/impl:mpi");
  const auto row = [&](int ranks, bool large) {
    for (const ScalingRow& each : found.scaling) {
      if (each.ranks == ranks && (each.bytes > 2'000'000) == large) return each;
    }
    return ScalingRow{};
  };
  EXPECT_NEAR(row(2, false).strong_efficiency.value(), 1, 1e-3);
  EXPECT_NEAR(row(2, false).weak_efficiency.value(), 1, 1e-3);
  EXPECT_NEAR(row(4, false).strong_efficiency.value(), 0.8, 1e-3);
  EXPECT_FALSE(row(4, false).weak_efficiency);  // 0.5 MB on 2 ranks was not measured
  EXPECT_NEAR(row(8, true).strong_efficiency.value(), 0.75, 1e-3);
  EXPECT_NEAR(row(8, true).weak_efficiency.value(), 0.9, 1e-3);  // 9 GB/s at 4 MB against 10 at 1 MB
}

TEST(Overlaps, SayWhatIsHiddenAndWhatItCosts) {
  std::vector<Record> records;
  for (const auto& [operation, seconds] :
       std::vector<std::pair<std::string, double>>{{"gemm", 10e-3}, {"all_reduce", 4e-3}, {"both", 11e-3}}) {
    records.push_back(ok_record("overlap", operation, {}, seconds));
  }
  Communication found = analyze_communication(records, members({"a", "b"}));
  ASSERT_THAT(found.overlaps, SizeIs(1));
  EXPECT_EQ(found.overlaps[0].series, "overlap/fp32/n:1");
  EXPECT_NEAR(found.overlaps[0].hidden, 0.75, 1e-12);
  EXPECT_NEAR(found.overlaps[0].slow_down.value(), 0.1, 1e-12);
  EXPECT_FALSE(found.overlaps[0].hidden_half_width);
  for (Record& record : records) {
    record.measurement->summary.interval_low = record.measurement->summary.median - 1e-4;
    record.measurement->summary.interval_high = record.measurement->summary.median + 1e-4;
  }
  found = analyze_communication(records, members({"a", "b"}));
  EXPECT_NEAR(found.overlaps[0].hidden_half_width.value(), std::sqrt(3.0) * 1e-4 / 4e-3, 1e-12);
  records[1].measurement->summary.median = 20e-3;
  records[2].measurement->summary.median = 32e-3;
  found = analyze_communication(records, members({"a", "b"}));
  EXPECT_NEAR(found.overlaps[0].hidden, -0.1, 1e-12);
  EXPECT_FALSE(found.overlaps[0].slow_down);
  records.pop_back();
  EXPECT_THAT(analyze_communication(records, members({"a", "b"})).overlaps, IsEmpty());
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

TEST(Guilty, OfThreeHostsTheOneWithTheSlowLinkAlone) {
  const auto records = ping_pong(3, {8, 1'000'000}, [](int a, int b, std::size_t bytes) {
    return (b == 2 ? 10.0 + a : 1.0) * (1e-5 + double(bytes) / 1e9);
  });
  const Communication found = analyze_communication(records, members({"A", "B", "C"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_rank);
  EXPECT_THAT(found.findings[0].text, AllOf(HasSubstr("rank 2 (C): its best pair between hosts takes 10.00 times the median"),
                                            HasSubstr("slow at 2 of 2 sizes")));
  ASSERT_THAT(found.slowest, SizeIs(1));
  EXPECT_EQ(found.slowest[0].of, "ranks, by the best pair between hosts");
  EXPECT_EQ(found.slowest[0].who, "rank 2 (C)");
  EXPECT_EQ(found.slowest[0].among, 3);
  EXPECT_DOUBLE_EQ(found.slowest[0].times_fastest, 10);
  EXPECT_FALSE(found.slowest[0].mads);
}

TEST(Guilty, NobodyForOneSizeAloneOfMany) {
  const auto records = ping_pong(3, {8, 1000, 1'000'000}, [](int, int b, std::size_t bytes) {
    return (b == 2 && bytes == 1000 ? 10.0 : 1.0) * (1e-5 + double(bytes) / 1e9);
  });
  EXPECT_THAT(analyze_communication(records, members({"A", "B", "C"})).findings, IsEmpty());
}

/// 1 %, never the same.
double noise(int a, int b) { return 1 + 0.01 * std::sin(12.9898 * a + 78.233 * b); }

TEST(Guilty, ARankByHowManyDeviations) {
  const auto records =
      ping_pong(8, {1024}, [](int a, int b, std::size_t) { return 1e-6 * noise(a, b) * (a == 5 || b == 5 ? 3.2 : 1); });
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_THAT(found.findings[0].text,
              AllOf(HasSubstr("rank 5 (a): its best pair within a host takes 3.2"), HasSubstr("MADs above it (1.02 kB)")));
}

TEST(Guilty, AHostOfSeveralRanksIsNamedOnceAndItsRanksAreNot) {
  std::vector<std::string> hosts;
  for (int i = 0; i < 8; ++i) hosts.push_back("node" + std::to_string(i / 2));
  const auto records = ping_pong(8, {1024}, [](int a, int b, std::size_t) {
    if (a / 2 == b / 2) return 1e-6 * noise(a, b);
    return 9e-6 * noise(a, b) * (a / 2 == 3 || b / 2 == 3 ? 2 : 1);
  });
  const Communication found = analyze_communication(records, members(hosts));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_node);
  EXPECT_THAT(found.findings[0].text, HasSubstr("node3: its best pair between hosts takes 2.0"));
}

TEST(Guilty, ALinkThatItsRanksDoNotExplain) {
  const auto records =
      ping_pong(8, {1024}, [](int a, int b, std::size_t) { return 1e-6 * noise(a, b) * (a == 1 && b == 6 ? 2.5 : 1); });
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a", "b", "b", "b", "b"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_link);
  EXPECT_THAT(found.findings[0].text, HasSubstr("rank 1 (a) and rank 6 (b): this pair takes 2.49 times"));
}

// Every rank has one near neighbour; most pairs are farther apart, and none of them is at fault.
TEST(Guilty, NobodyWhereMostPairsAreFartherApart) {
  const auto records =
      ping_pong(8, {1024}, [](int a, int b, std::size_t) { return 1e-6 * noise(a, b) * (a / 4 == b / 4 ? 1 : 1.5); });
  EXPECT_THAT(analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"})).findings, IsEmpty());
}

TEST(Guilty, NobodyWithinTenPercentHoweverLittleTheOthersSpread) {
  for (const double slower : {1.09, 1.11}) {
    const auto records = ping_pong(8, {8}, [&](int, int b, std::size_t) { return 1e-6 * (b == 7 ? slower : 1); });
    const auto found = analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"})).findings;
    EXPECT_EQ(found.size(), slower > 1.1 ? 1U : 0U) << slower;
  }
}

TEST(Guilty, OfFewOneMustBeSlowerByAQuarter) {
  for (const double slower : {1.2, 1.3}) {
    const auto records = ping_pong(3, {8, 64}, [&](int, int b, std::size_t) { return 1e-6 * (b == 2 ? slower : 1); });
    const auto found = analyze_communication(records, members({"a", "a", "a"})).findings;
    EXPECT_EQ(found.size(), slower > 1.25 ? 1U : 0U) << slower;
  }
}

TEST(Guilty, NobodyByWhatTheRanksDoTogether) {
  Record record = ok_record("overlap", "both", {}, 1);
  record.measurement->ranks = {RankTimes{1, 1, {}, {}}, RankTimes{3, 3, {}, {}}};
  EXPECT_THAT(analyze_communication({record}, members({"a", "b"})).slowest, IsEmpty());
}

TEST(Guilty, NobodyOfTwoButByHowMuchTheyDiffer) {
  const auto pairs = ping_pong(2, {8, 64}, [](int, int, std::size_t) { return 1e-6; });
  EXPECT_THAT(analyze_communication(pairs, members({"a", "b"})).slowest, IsEmpty());
  Record record = ok_record("stream", "copy", {}, 1);
  record.measurement->ranks = {RankTimes{1, 1, {}, {}}, RankTimes{3, 3, {}, {}}};
  const Communication found = analyze_communication({record, record}, members({"a", "b"}));
  EXPECT_THAT(found.findings, IsEmpty());
  ASSERT_THAT(found.slowest, SizeIs(1));
  EXPECT_EQ(found.slowest[0].of, "ranks, each alone");
  EXPECT_EQ(found.slowest[0].who, "rank 1 (b)");
  EXPECT_DOUBLE_EQ(found.slowest[0].times_median, 1.5);
  EXPECT_DOUBLE_EQ(found.slowest[0].times_fastest, 3);
  EXPECT_FALSE(found.slowest[0].mads);
}

Record alone(const std::string& operation, const std::vector<double>& medians) {
  Record record = ok_record("stream", operation, {}, 1);
  for (const double median : medians) record.measurement->ranks.emplace_back(RankTimes{median, median, {}, {}});
  return record;
}

TEST(Guilty, ARankThatIsSlowAlone) {
  std::vector<Record> records = {alone("copy", {1, 1.01, 0.99, 1.5, 1.002}), alone("triad", {1, 1.01, 0.99, 1.3, 1.002}),
                                 alone("read", {1, 1.01, 0.99, 1.001, 1.002})};
  const auto found = analyze_communication(records, members({"a", "a", "a", "b", "b"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_rank);
  EXPECT_THAT(found.findings[0].text, AllOf(HasSubstr("rank 3 (b): slower than the median of the ranks in 2 of 3 cases"),
                                            HasSubstr("1.50 times"), HasSubstr("stream/copy/")));
}

TEST(Guilty, OneUnluckyCaseOfManyNamesNobody) {
  std::vector<Record> records(39, alone("copy", {1, 1.01, 0.99, 1.001}));
  records.push_back(alone("copy", {1, 1.01, 0.99, 1.5}));
  EXPECT_THAT(analyze_communication(records, members({"a", "a", "b", "b"})).findings, IsEmpty());
  records.push_back(alone("copy", {1, 1.01, 0.99, 1.5}));
  records.push_back(alone("copy", {1, 1.01, 0.99, 1.5}));
  EXPECT_THAT(analyze_communication(records, members({"a", "a", "b", "b"})).findings, SizeIs(1));
}

TEST(Guilty, AHostWhoseRanksAreAllSlowAlone) {
  const std::vector<Record> records = {alone("copy", {1, 1.01, 1.003, 0.99, 1.4, 1.41, 1, 1.002})};
  const auto found = analyze_communication(records, members({"a", "a", "b", "b", "c", "c", "d", "d"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_node);
  EXPECT_THAT(found.findings[0].text, HasSubstr("c: slower than the median of the hosts in 1 of 1 cases"));
}

TEST(Guilty, ARankWithOtherBits) {
  std::vector<Record> records(5, alone("copy", {1, 1, 1}));
  for (int i = 0; i < 5; ++i) records[std::size_t(i)].fingerprint = Fingerprint{"h", "k", true, {}};
  records[1].fingerprint->differing_ranks = {2};
  records[3].fingerprint->differing_ranks = {2};
  auto found = texts(analyze_communication(records, members({"a", "a", "b"})), FindingKind::fingerprint);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], HasSubstr("rank 2 (b): other bits than most ranks in 2 of 5 cases"));
  for (Record& record : records) {
    record.measurement->ranks.pop_back();
    record.fingerprint->differing_ranks = {0, 1};
  }
  found = texts(analyze_communication(records, members({"a", "a"})), FindingKind::fingerprint);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0], AllOf(HasSubstr("any of them may be the wrong one"), HasSubstr(", ...")));
}

TEST(Communication, NothingFollowsFromNothing) {
  const Json json = to_json(analyze_communication({}, {}));
  EXPECT_EQ(json.dump(), R"({"fits":[],"rings":[],"pairs":[],"scaling":[],"overlaps":[],"slowest":[]})");
}

}  // namespace
}  // namespace roofmark
