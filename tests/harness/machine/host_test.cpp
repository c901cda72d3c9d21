// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/host.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace roofmark {
namespace {

TEST(RateEnvironment, IsWhatTheProgramWasStartedWith) {
  // ctest starts all tests with this one.
  const char* given = std::getenv("OMP_WAIT_POLICY");
  const auto variables = rate_environment();
  const auto found = variables.find("OMP_WAIT_POLICY");
  EXPECT_EQ(found == variables.end() ? "" : found->second, given ? given : "");
  EXPECT_FALSE(variables.contains("HOME"));

  constexpr const char* kOwn = "NCCL_DEBUG_SUBSYS";
  if (std::getenv(kOwn)) GTEST_SKIP() << kOwn << " is set";
  setenv(kOwn, "INIT,TUNING", 1);
  EXPECT_FALSE(rate_environment().contains(kOwn)) << "the program's own";
  unsetenv(kOwn);
}

TEST(ProcessSeconds, AdvanceFromTheStartOfTheProcess) {
  const double first = process_seconds();
  EXPECT_GE(first, 0);
  EXPECT_LT(first, 86400);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the kernel counts hundredths
  EXPECT_GT(process_seconds(), first);
}

}  // namespace
}  // namespace roofmark
