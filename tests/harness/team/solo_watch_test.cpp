// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/solo_watch.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <future>

namespace roofmark {
namespace {

TEST(SoloWatch, SaysWhatTheProcessHangsIn) {
  std::promise<std::string> said;
  SoloWatch watch(0.01, [&](const Standstill& found) { said.set_value(found.reason); });
  watch.doing("timing");
  EXPECT_EQ(said.get_future().get(), "no progress for 0.01 s in timing");
}

TEST(SoloWatch, TakesAnotherTimeout) {
  std::promise<std::string> said;
  SoloWatch watch(3600, [&](const Standstill& found) { said.set_value(found.reason); });
  watch.doing("opening");
  watch.set_timeout(0.01);
  auto reason = said.get_future();
  ASSERT_EQ(reason.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(reason.get(), "no progress for 0.01 s in opening");
}

TEST(SoloWatch, NamesAPartUntilTheNextOne) {
  for (const bool further : {false, true}) {
    std::promise<std::string> said;
    SoloWatch watch(0.05, [&](const Standstill& found) { said.set_value(found.reason); });
    watch.doing("timing");
    watch.rest();
    watch.named_part("waiting for a peer");
    if (further) watch.part();
    EXPECT_EQ(said.get_future().get(),
              further ? "no progress for 0.05 s in timing" : "no progress for 0.05 s in timing: waiting for a peer");
  }
}

TEST(SoloWatch, StaysSilentWhileThereIsProgressOrRest) {
  bool stood_still = false;
  {
    SoloWatch watch(3600, [&](const Standstill&) { stood_still = true; });
    watch.doing("timing");
    watch.part();
    watch.rest();
  }
  EXPECT_FALSE(stood_still);
}

TEST(SoloWatch, WatchesOnlyFromTheFirstStepAndAgainAfterARest) {
  std::promise<std::string> said;
  // A busy machine may not get from step() to rest() at once.
  SoloWatch watch(1, [&](const Standstill& found) { said.set_value(found.reason); });
  auto reason = said.get_future();
  EXPECT_EQ(reason.wait_for(std::chrono::milliseconds(1200)), std::future_status::timeout) << "nothing is under way yet";
  watch.step();
  watch.rest();
  EXPECT_EQ(reason.wait_for(std::chrono::milliseconds(1200)), std::future_status::timeout) << "it rests";
  watch.step();
  EXPECT_EQ(reason.get(), "no progress for 1 s");
}

TEST(SoloWatch, OfAnInterruptedProcessIsShortOfPatience) {
  std::atomic<bool> interrupted = false;
  std::promise<std::string> said;
  SoloWatch watch(
      3600, [&](const Standstill& found) { said.set_value(found.reason); }, [&] { return interrupted.load(); });
  watch.doing("timing");
  auto reason = said.get_future();
  EXPECT_EQ(reason.wait_for(std::chrono::milliseconds(1200)), std::future_status::timeout) << "nothing has gone wrong";
  interrupted = true;
  ASSERT_EQ(reason.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_THAT(reason.get(), testing::MatchesRegex("interrupted without progress for [0-9]+ s in timing"));
}

}  // namespace
}  // namespace roofmark
