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

TEST(Timeouts, ProbesBesideAShortLoadAreShort) {
  RunOptions options;
  options.selection.suite = SuiteName::sustained;
  const auto seconds = [&] { return settings_of(options, Backend::cpu).effort.max_seconds; };
  EXPECT_EQ(seconds(), 1);
  options.selection.seconds = 3600;
  EXPECT_EQ(seconds(), 1);
  options.selection.seconds = 5;
  EXPECT_DOUBLE_EQ(seconds(), 0.1);
}

}  // namespace
}  // namespace roofmark
