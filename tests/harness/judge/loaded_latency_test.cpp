// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/loaded_latency.hpp"

#include <gtest/gtest.h>

#include "harness/judge/ladder.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

Record beside(int percent, double bytes_per_second, double nanoseconds) {
  Record record = ok_record("latency", "chase", {{{{resource::dram_access, 500}}}}, 500 * nanoseconds * 1e-9);
  record.shape = {{"bytes", "268435456"}, {"stride", "128"}, {"background", std::to_string(percent)}};
  record.measurement->background = Background{resource::dram, bytes_per_second};
  return record;
}

TEST(LoadedLatencies, AreACurveOverWhatTheReadersReached) {
  Roofline roofline;
  roofline.at(resource::dram).theoretical = 4e12;
  std::vector<Record> records = {beside(100, 3.6e12, 900), beside(0, 0, 400), beside(50, 2e12, 480)};
  records[1].measurement->clock_hz = 2e9;
  const std::vector<LoadedLatencies> all = loaded_latencies(records, roofline);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].series.name(), "latency/chase/fp32/bytes:268435456/stride:128");
  EXPECT_EQ(all[0].background, resource::dram);
  ASSERT_EQ(all[0].points.size(), 3U);
  const double shares[] = {0, 0.5, 0.9}, nanoseconds[] = {400, 480, 900};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(*all[0].points[i].share_of_ceiling, shares[i]);
    EXPECT_NEAR(all[0].points[i].seconds * 1e9, nanoseconds[i], 1e-9);
  }
  EXPECT_NEAR(*all[0].points[0].cycles(), 800, 1e-9);
  EXPECT_FALSE(all[0].points[1].cycles());
  EXPECT_TRUE(ladders_of(records).empty());
}

TEST(LoadedLatencies, TheShareIsOfTheMeasuredCeilingWhereThereIsOne) {
  Roofline roofline;
  EXPECT_FALSE(loaded_latencies({beside(50, 2e12, 480)}, roofline).at(0).points.at(0).share_of_ceiling);
  roofline.at(resource::dram).theoretical = 4e12;
  roofline.at(resource::dram).first = 2.5e12;
  EXPECT_DOUBLE_EQ(*loaded_latencies({beside(50, 2e12, 480)}, roofline).at(0).points.at(0).share_of_ceiling, 0.8);
}

TEST(LoadedLatencies, NeedABackground) {
  std::vector<Record> records = {beside(0, 0, 400)};
  records[0].measurement->background.reset();
  EXPECT_TRUE(loaded_latencies(records, {}).empty());
}

}  // namespace
}  // namespace roofmark
