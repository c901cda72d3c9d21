// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/transfers.hpp"

#include <gmock/gmock.h>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kLatency = 2e-6, kRate = 55e9;

Record moved(const char* operation, std::vector<Resource> links, double bytes, double seconds) {
  Phase phase;
  for (const Resource& link : links) phase.push_back({link, bytes});
  Record record = ok_record("any", operation, {{phase}}, seconds);
  record.shape = {{"bytes", std::to_string(static_cast<std::size_t>(bytes))}, {"memory", "pinned"}, {"impl", "engine"}};
  record.name = case_name(record.family, record.operation, record.type, record.shape);
  return record;
}
double line(double bytes) { return kLatency + bytes / kRate; }
Record in(double bytes, double seconds) { return moved("in", {resource::host_to_device}, bytes, seconds); }
Record out(double bytes, double seconds) { return moved("out", {resource::device_to_host}, bytes, seconds); }
Record both(double bytes, double seconds) {
  return moved("both", {resource::host_to_device, resource::device_to_host}, bytes, seconds);
}

TEST(Transfers, SizesOfOneSeriesGiveItsLine) {
  std::vector<Record> records;
  for (const double bytes : {64.0, 65536.0, 1e6, 268e6}) records.push_back(in(bytes, line(bytes)));
  records.back().placement.emplace().of_theoretical = 0.87;
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.series, SizeIs(1));
  const TransferSeries& series = found.series.front();
  EXPECT_EQ(series.name, "any/in/fp32/memory:pinned/impl:engine");
  EXPECT_THAT(series.links, ElementsAre(resource::host_to_device));
  EXPECT_THAT(series.how, ElementsAre("pinned", "engine"));
  ASSERT_TRUE(series.fit);
  EXPECT_NEAR(*series.fit->latency_seconds, kLatency, 1e-3 * kLatency);
  EXPECT_NEAR(*series.fit->bytes_per_second, kRate, 1e-3 * kRate);
  EXPECT_GT(*series.fit->r2, 0.9999);
  EXPECT_NEAR(*series.half_size_bytes, kLatency * kRate, 1e-2 * kLatency * kRate);
  EXPECT_NEAR(line(*series.half_size_bytes), 2 * *series.half_size_bytes / kRate, 1e-8) << "half of the rate";
  EXPECT_EQ(series.bytes, 268e6);
  EXPECT_EQ(series.largest, records.back().name);
  EXPECT_DOUBLE_EQ(series.bytes_per_second, 268e6 / line(268e6));
  EXPECT_EQ(series.of_theoretical, 0.87);
  EXPECT_THAT(found.contention, IsEmpty());
}

TEST(Transfers, OneSizeHasARateAndNoLine) {
  const Transfers found = transfers_of({in(1e6, 1e-4)});
  ASSERT_THAT(found.series, SizeIs(1));
  EXPECT_FALSE(found.series.front().fit || found.series.front().half_size_bytes);
  EXPECT_DOUBLE_EQ(found.series.front().bytes_per_second, 1e10);
}

TEST(Transfers, ANumberInItsNameIsSaidWithItsKey) {
  Record record = in(1e6, 1e-4);
  record.shape = {{"bytes", "1000000"}, {"from", "0"}, {"to", "1"}, {"impl", "memcpy"}};
  EXPECT_THAT(transfers_of({record}).series.front().how, ElementsAre("from 0", "to 1", "memcpy"));
}

TEST(Transfers, OtherWorkIsNone) {
  Record mixed = in(1e6, 1e-4);
  mixed.work.phases.front().push_back({resource::dram, 1e6});
  Record probe = in(1e6, 1e-4), failed = in(2e6, 1e-4), message = in(3e6, 1e-4), two_phases = in(4e6, 1e-4);
  probe.raises = resource::host_to_device;
  failed.status = Status::wrong;
  failed.measurement.reset();
  message.message.emplace();
  two_phases.work.phases.push_back(two_phases.work.phases.front());
  Record uneven = both(5e6, 1e-4);
  uneven.work.phases.front().back().amount /= 2;
  EXPECT_THAT(transfers_of({mixed, probe, failed, message, two_phases, uneven}).series, IsEmpty());
}

TEST(Transfers, LinksThatShareNothingHaveAFactorOfOne) {
  const std::vector<Record> records = {in(1e6, 1e-4), out(1e6, 1e-4), both(1e6, 1e-4), both(2e6, 2e-4)};
  const Transfers found = transfers_of(records);
  ASSERT_THAT(found.contention, SizeIs(1)) << "of the other size neither link was measured alone";
  EXPECT_DOUBLE_EQ(found.contention.front().factor, 1);
  EXPECT_EQ(found.contention.front().together, records[2].name);
  EXPECT_THAT(found.contention.front().alone, ElementsAre(records[0].name, records[1].name));
}

TEST(Transfers, OfSeveralSizesTheLargestShowsWhatLinksShare) {
  const Transfers found =
      transfers_of({in(64, 1e-6), out(64, 1e-6), both(64, 3e-6), in(1e6, 1e-4), out(1e6, 1e-4), both(1e6, 1e-4)});
  ASSERT_THAT(found.contention, SizeIs(1));
  EXPECT_DOUBLE_EQ(found.contention.front().factor, 1);
}

TEST(Transfers, ASharedLinkIsSeen) {
  // Alone 10 and 5 GB/s; together 2 x 4 GB/s: 8 / 15.
  const Transfers found = transfers_of({in(1e6, 1e-4), out(1e6, 2e-4), both(1e6, 2.5e-4)});
  ASSERT_THAT(found.contention, SizeIs(1));
  EXPECT_NEAR(found.contention.front().factor, 8.0 / 15, 1e-12);
}

}  // namespace
}  // namespace roofmark
