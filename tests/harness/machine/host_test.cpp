// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/host.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

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

TEST(HostName, IsTheOneThatAContainerIsGiven) {
  const char* given = std::getenv("ROOFMARK_HOST");
  const std::string before = given ? given : "";
  setenv("ROOFMARK_HOST", "node7", 1);
  EXPECT_EQ(host_name(), "node7");
  setenv("ROOFMARK_HOST", "", 1);
  EXPECT_FALSE(host_name().empty());
  given ? setenv("ROOFMARK_HOST", before.c_str(), 1) : unsetenv("ROOFMARK_HOST");
}

}  // namespace
}  // namespace roofmark
