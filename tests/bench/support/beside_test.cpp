// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/beside.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace roofmark {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

/// A launch whose work takes `alone`, or with something beside it `beside`; one of these takes `once` alone and `slower` beside
/// the work.
struct MadeUp {
  double alone = 1, beside = 1, once = 0.047, slower = once;
  int launches = 0;

  Repetitions find() {
    return repetitions_beside(
        [this](int count) {
          ++launches;
          return count == 0 ? alone : std::max(beside, count * slower);
        },
        once);
  }
};

TEST(Beside, RepetitionsFillTheTimeOfTheWorkAndEndBeforeIt) {
  for (const double once : {0.01, 0.024, 0.03, 0.047}) {
    MadeUp made{.once = once};
    const Repetitions found = made.find();
    EXPECT_LE(found.count * once, made.beside) << once;
    EXPECT_LE(made.launches, 10) << once;
    if (once < 0.024) {
      EXPECT_EQ(found.count, 40) << "the launch queue is finite";
    } else {
      EXPECT_THAT(found.covered, AllOf(Ge(0.9), Le(1.0))) << once;
    }
    EXPECT_DOUBLE_EQ(found.covered, found.count * once / made.beside);
  }
}

TEST(Beside, WorkThatTakesLongerBesideThemIsFilledToo) {
  MadeUp made{.beside = 1.3};
  const Repetitions found = made.find();
  EXPECT_THAT(found.covered, AllOf(Ge(0.9), Le(1.0)));
  EXPECT_DOUBLE_EQ(found.covered, found.count * made.once / 1.3);
}

TEST(Beside, WhatTakesLongerBesideTheWorkEndsBeforeItAllTheSame) {
  for (const double times : {1.1, 1.5, 3.0}) {
    MadeUp made;
    made.slower = times * made.once;
    const Repetitions found = made.find();
    EXPECT_LE(found.count * made.slower, 1.03 * made.beside) << times;
    EXPECT_GE(found.count * made.slower, 0.8 * made.beside) << times;
  }
}

TEST(Beside, SomethingLongerThanTheWorkRunsOnce) {
  MadeUp made{.once = 5};
  EXPECT_EQ(made.find().count, 1);
}

}  // namespace
}  // namespace roofmark
