// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/settings.hpp"

#include <gtest/gtest.h>

namespace roofmark {
namespace {

TEST(Timeouts, OpeningHasAMinuteWhateverTheSuite) {
  RunOptions options;
  options.selection.suite = SuiteName::smoke;
  EXPECT_EQ(timeout_seconds(options), 20);
  EXPECT_EQ(opening_seconds(options), 60);
  options.selection.suite = SuiteName::baseline;
  EXPECT_EQ(timeout_seconds(options), 120);
  EXPECT_EQ(opening_seconds(options), 120);
  options.timeout = 5;
  EXPECT_EQ(timeout_seconds(options), 5);
  EXPECT_EQ(opening_seconds(options), 5) << "as the user says";
}

}  // namespace
}  // namespace roofmark
