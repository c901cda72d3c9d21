// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/host.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

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

}  // namespace
}  // namespace roofmark
