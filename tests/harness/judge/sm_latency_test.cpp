// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/sm_latency.hpp"

#include <gtest/gtest.h>

#include <random>

#include "harness/judge/ladder.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

constexpr double kSmClock = 2e9;

Record from_sm(int sm, double cycles, const std::string& load = "cg") {
  Record record = ok_record("latency", "chase", {{{{resource::l2_access, 1000}}}}, 1000 * cycles / kSmClock);
  record.shape = {{"bytes", "128"}, {"stride", "128"}, {"load", load}, {"sm", std::to_string(sm)}, {"impl", "own"}};
  record.measurement->clock_hz = kSmClock;
  return record;
}

TEST(SmLatencies, NearAndFarPartsAreTwoLevels) {
  // Even SMs are near. Within a part an SM is up to 7 % farther than another one.
  std::mt19937 random(3);
  std::uniform_real_distribution<double> farther(1, 1.07);
  std::vector<Record> records;
  for (int sm = 0; sm < 132; ++sm) records.push_back(from_sm(sm, (sm % 2 == 0 ? 260 : 480) * farther(random)));
  const std::vector<SmLatencies> all = sm_latencies(records);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].series.name(), "latency/chase/fp32/bytes:128/stride:128/load:cg/impl:own");
  ASSERT_EQ(all[0].levels.size(), 2U);
  EXPECT_NEAR(*all[0].levels[0].cycles, 269, 5);
  EXPECT_NEAR(*all[0].levels[1].cycles, 497, 8);
  EXPECT_NEAR(all[0].levels[0].seconds, 269 / kSmClock, 5 / kSmClock);
  for (int i = 0; i < 66; ++i) {
    EXPECT_EQ(all[0].levels[0].sms[i], 2 * i);
    EXPECT_EQ(all[0].levels[1].sms[i], 2 * i + 1);
  }
}

TEST(SmLatencies, SmsThatDifferByLittleAreOneLevel) {
  std::vector<Record> records;
  for (int sm = 0; sm < 16; ++sm) records.push_back(from_sm(sm, 180 + 5 * sm));
  const SmLatencies found = sm_latencies(records).at(0);
  ASSERT_EQ(found.levels.size(), 1U);
  EXPECT_EQ(found.levels[0].sms.size(), 16U);
  EXPECT_DOUBLE_EQ(*found.levels[0].cycles, 217.5);
  EXPECT_EQ(found.points.front().sm, 0);
  EXPECT_EQ(found.points.back().sm, 15);
}

TEST(SmLatencies, OneSmThatIsFarAwayIsALevel) {
  const SmLatencies found = sm_latencies({from_sm(7, 300), from_sm(5, 200), from_sm(6, 201)}).at(0);
  ASSERT_EQ(found.levels.size(), 2U);
  EXPECT_EQ(found.levels[0].sms, (std::vector{5, 6}));
  EXPECT_EQ(found.levels[1].sms, std::vector{7});
}

TEST(SmLatencies, SeriesAreToldApartAndAreNoLadders) {
  std::vector<Record> records = {from_sm(0, 200), from_sm(0, 300, "atom"), from_sm(1, 200)};
  records.push_back(from_sm(2, 200));
  records.back().status = Status::failed;
  records.back().measurement.reset();
  const std::vector<SmLatencies> all = sm_latencies(records);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].points.size(), 2U);
  EXPECT_EQ(all[1].points.size(), 1U);
  EXPECT_TRUE(ladders_of(records).empty());
}

}  // namespace
}  // namespace roofmark
