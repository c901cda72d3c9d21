// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/transfers.hpp"

#include <gmock/gmock.h>

#include "tests/harness/transfer_records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Transfers, SizesOfOneSeriesGiveItsLine) {
  std::vector<Record> records;
  for (const double bytes : {64.0, 65536.0, 1e6, 268e6}) records.push_back(copy_in(bytes, line_seconds(bytes)));
  records.back().placement.emplace().of_theoretical = 0.87;
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.series, SizeIs(1));
  const TransferSeries& series = found.series.front();
  EXPECT_EQ(series.name, "any/in/fp32/memory:pinned/impl:engine");
  EXPECT_THAT(series.links, ElementsAre(resource::host_to_device));
  EXPECT_THAT(series.how, ElementsAre("pinned", "engine"));
  ASSERT_TRUE(series.fit);
  EXPECT_NEAR(*series.fit->latency_seconds, kLinkLatency, 1e-3 * kLinkLatency);
  EXPECT_NEAR(*series.fit->bytes_per_second, kLinkRate, 1e-3 * kLinkRate);
  EXPECT_GT(*series.fit->r2, 0.9999);
  EXPECT_NEAR(*series.half_size_bytes, kLinkLatency * kLinkRate, 1e-2 * kLinkLatency * kLinkRate);
  EXPECT_NEAR(line_seconds(*series.half_size_bytes), 2 * *series.half_size_bytes / kLinkRate, 1e-8) << "half of the rate";
  EXPECT_EQ(series.bytes, 268e6);
  EXPECT_EQ(series.largest, records.back().name());
  EXPECT_DOUBLE_EQ(series.bytes_per_second, 268e6 / line_seconds(268e6));
  EXPECT_EQ(series.of_theoretical, 0.87);
  EXPECT_THAT(found.contention, IsEmpty());
}

TEST(Transfers, OneSizeHasARateAndNoLine) {
  const Transfers found = transfers_of({copy_in(1e6, 1e-4)});
  ASSERT_THAT(found.series, SizeIs(1));
  EXPECT_FALSE(found.series.front().fit || found.series.front().half_size_bytes);
  EXPECT_DOUBLE_EQ(found.series.front().bytes_per_second, 1e10);
}

TEST(Transfers, ANumberInItsNameIsSaidWithItsKey) {
  Record record = copy_in(1e6, 1e-4);
  record.shape = {{"bytes", "1000000"}, {"from", "0"}, {"to", "1"}, {"impl", "memcpy"}};
  EXPECT_THAT(transfers_of({record}).series.front().how, ElementsAre("from 0", "to 1", "memcpy"));
}

TEST(Transfers, OtherWorkIsNone) {
  Record mixed = copy_in(1e6, 1e-4);
  mixed.work.phases.front().push_back({resource::dram, 1e6});
  Record probe = copy_in(1e6, 1e-4), failed = copy_in(2e6, 1e-4), other = copy_in(4e6, 1e-4);
  probe.sets_ceiling = {resource::host_to_device};
  failed.status = Status::wrong;
  failed.measurement.reset();
  other.transfer.reset();
  EXPECT_THAT(transfers_of({mixed, probe, failed, other}).series, IsEmpty());
}

TEST(Transfers, LinksThatShareNothingHaveAFactorOfOne) {
  const std::vector<Record> records = {copy_in(1e6, 1e-4), copy_out(1e6, 1e-4), copy_both(1e6, 1e-4), copy_both(2e6, 2e-4)};
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.contention, SizeIs(1)) << "of the other size neither link was measured alone";
  EXPECT_DOUBLE_EQ(found.contention.front().factor, 1);
  EXPECT_EQ(found.contention.front().together, records[2].name());
  EXPECT_THAT(found.contention.front().alone, ElementsAre(records[0].name(), records[1].name()));
}

TEST(Transfers, OfSeveralSizesTheLargestShowsWhatLinksShare) {
  const Transfers found = transfers_of({copy_in(64, 1e-6), copy_out(64, 1e-6), copy_both(64, 3e-6), copy_in(1e6, 1e-4),
                                        copy_out(1e6, 1e-4), copy_both(1e6, 1e-4)});
  ASSERT_THAT(found.contention, SizeIs(1));
  EXPECT_DOUBLE_EQ(found.contention.front().factor, 1);
}

TEST(Transfers, ASharedLinkIsSeen) {
  // Alone 10 and 5 GB/s; together 4 GB/s each.
  const Transfers found = transfers_of({copy_in(1e6, 1e-4), copy_out(1e6, 2e-4), copy_both(1e6, 2.5e-4)});
  ASSERT_THAT(found.contention, SizeIs(1));
  EXPECT_NEAR(found.contention.front().factor, 4.0 / 5, 1e-12);
}

TEST(Transfers, ANarrowerLinkIsNoContention) {
  const Transfers found = transfers_of({copy_in(1e6, 1e-4), copy_out(1e6, 2e-4), copy_both(1e6, 2e-4)});
  ASSERT_THAT(found.contention, SizeIs(1));
  EXPECT_DOUBLE_EQ(found.contention.front().factor, 1);
}

TEST(Transfers, SeveralGpusAreHeldAgainstEachAlone) {
  // 50 and 40 GB/s alone; both at once 30 GB/s each.
  const Endpoint second = gpu_endpoint(1);
  Record one = copy_in(1e9, 1e9 / 50e9), other = moved("in", {{kHost, second}}, 1e9, 1e9 / 40e9);
  Record all = moved("in", {{kHost, kGpu}, {kHost, second}}, 1e9, 1e9 / 30e9);
  other.shape.insert(other.shape.end() - 1, {"gpu", "1"});
  all.shape.insert(all.shape.end() - 1, {"gpu", "all"});
  const Transfers found = transfers_of({one, other, all});
  ASSERT_THAT(found.contention, SizeIs(1));
  EXPECT_NEAR(found.contention.front().factor, 30.0 / 40, 1e-12);
  EXPECT_THAT(found.contention.front().alone, ElementsAre(one.name(), other.name()));
  ASSERT_THAT(found.series, SizeIs(3));
  EXPECT_THAT(found.series.back().how, ElementsAre("pinned", "gpu all", "engine"));
  EXPECT_EQ(found.series.back().flows, 2U);
  EXPECT_NEAR(found.series.back().bytes_per_second, 30e9, 1) << "of one link";
  EXPECT_NEAR(found.series.back().sum_bytes_per_second, 60e9, 1);
}

}  // namespace
}  // namespace roofmark
