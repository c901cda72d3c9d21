// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/watchdog.hpp"

#include <gtest/gtest.h>

#include <future>

namespace roofmark {
namespace {

TEST(Watchdog, NamesWhatHangs) {
  std::promise<std::string> said;
  Watchdog watchdog(0.01, [&](const std::string& what) { said.set_value(what); });
  watchdog.watch("timing");
  EXPECT_EQ(said.get_future().get(), "timing");
}

TEST(Watchdog, StaysSilentWhileThereIsProgressOrRest) {
  bool barked = false;
  {
    Watchdog watchdog(3600, [&](const std::string&) { barked = true; });
    watchdog.watch("timing");
    watchdog.rest();
  }
  EXPECT_FALSE(barked);
}

}  // namespace
}  // namespace roofmark
