// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/time_limit.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

TEST(TimeLimit, NoGroupBeginsThatIsExpectedToExceedIt) {
  double now = 1000;  // what came before, such as opening the device, does not count
  TimeLimit limit(
      10, [&] { return now; }, "smoke");
  EXPECT_TRUE(limit.allows(100)) << "nothing is known yet";
  now = 1004;
  limit.took(2);
  EXPECT_TRUE(limit.allows(2)) << "4 s of the 6 that are left";
  EXPECT_FALSE(limit.allows(4));
  EXPECT_EQ(limit.refusal(4), "left out: it may take 8.0 s, but only 6.0 of the smoke suite's 10 s are left");
  now = 1004.1;
  limit.took(1);
  EXPECT_FALSE(limit.allows(3)) << "the slowest case counts";
  now = 1010.1;
  EXPECT_FALSE(limit.allows(1));
  EXPECT_EQ(limit.refusal(1), "left out: the smoke suite has used its 10 s");
}

TEST(TimeLimit, WithoutOneEverythingIsAllowed) {
  double now = 0;
  TimeLimit limit(
      {}, [&] { return now; }, "full");
  limit.took(1);
  now = 1e9;
  EXPECT_TRUE(limit.allows(1000));
}

}  // namespace
}  // namespace roofmark
