// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "bench/program/commands.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

std::vector<Group> listed(const std::string& family, const std::string& unsupported = "") {
  Case c;
  c.family = family;
  c.unsupported = unsupported;
  return {{{c}, {}}};
}

std::string error_of(std::vector<Group> ceilings, std::vector<Group> suite, const std::string& filter) {
  try {
    filtered(std::move(ceilings), std::move(suite), filter);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, AFilterThatMatchesNothingIsNamed) {
  EXPECT_THAT(error_of(listed("ceilings"), listed("stream"), "gemm"), HasSubstr("--filter 'gemm' matches no case"));
  EXPECT_THAT(error_of({}, listed("stream"), "("), HasSubstr("not a regular expression"));
}

TEST(Plan, WithoutAnyCaseTheFilterIsNotBlamed) {
  EXPECT_EQ(error_of({}, {}, ""), "this suite has no case that fits the device and its free memory");
  EXPECT_EQ(error_of(listed("ceilings"), {}, "gemm"), "this suite has no case that fits the device and its free memory");
}

TEST(Plan, AnUnsupportedCaseStaysWithItsReason) {
  const Plan plan = filtered(listed("ceilings"), listed("stream", "needs 2.00 GB, the device has 1.00 GB"), "stream");
  ASSERT_EQ(plan.suite.size(), 1U);
  EXPECT_EQ(plan.suite[0].cases[0].unsupported, "needs 2.00 GB, the device has 1.00 GB");
}

TEST(Plan, AFilterOfProbesAloneMeasuresTheCeilings) {
  const Plan plan = filtered(listed("ceilings"), listed("stream"), "ceilings");
  EXPECT_EQ(plan.ceilings.size(), 1U);
  EXPECT_TRUE(plan.suite.empty());
}

}  // namespace
}  // namespace roofmark
