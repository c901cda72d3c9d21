// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/host.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/machine/json.hpp"

namespace roofmark {
namespace {

TEST(RateEnvironment, IsWhatTheProgramWasStartedWith) {
  // ctest starts all tests with this one.
  const char* given = std::getenv("OMP_WAIT_POLICY");
  EXPECT_EQ(rate_environment().value("OMP_WAIT_POLICY", ""), given ? given : "");
  EXPECT_FALSE(rate_environment().contains("HOME"));

  constexpr const char* kOwn = "NCCL_DEBUG_SUBSYS";
  if (std::getenv(kOwn)) GTEST_SKIP() << kOwn << " is set";
  setenv(kOwn, "INIT,TUNING", 1);
  EXPECT_FALSE(rate_environment().contains(kOwn)) << "the program's own";
  unsetenv(kOwn);
}

}  // namespace
}  // namespace roofmark
