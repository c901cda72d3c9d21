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

Case demanding(const std::string& family, const Resource& resource) {
  Case c;
  c.family = family;
  c.operation = resource.id;
  c.work = {{{{resource, 1}}}};
  if (family == "ceilings") c.raises = resource;
  return c;
}

TEST(Plan, SmokeMeasuresTheCeilingsThatItsCasesDemandOnceAndHasALimitOfItsOwn) {
  const std::vector<Group> ceilings = {{{demanding("ceilings", resource::dram)}, {}},
                                       {{demanding("ceilings", resource::exp)}, {}},
                                       {{demanding("ceilings", resource::stream_launch)}, {}}};
  const std::vector<Group> suite = {{{demanding("stream", resource::dram)}, {}}};
  Selection selection;
  selection.suite = SuiteName::smoke;
  const Plan smoke = arranged(ceilings, suite, selection, Backend::cuda);
  ASSERT_EQ(smoke.ceilings.size(), 2u);
  EXPECT_EQ(smoke.ceilings[0].cases[0].operation, "dram");
  EXPECT_EQ(smoke.ceilings[1].cases[0].operation, "stream_launch");
  EXPECT_FALSE(smoke.ceilings_again);
  EXPECT_EQ(smoke.limit_seconds, 20);
  EXPECT_EQ(arranged(ceilings, suite, selection, Backend::cpu).limit_seconds, 10);

  selection.suite = SuiteName::quick;
  const Plan quick = arranged(ceilings, suite, selection, Backend::cuda);
  EXPECT_EQ(quick.ceilings.size(), 3u);
  EXPECT_TRUE(quick.ceilings_again);
  EXPECT_FALSE(quick.limit_seconds);
}

TEST(Plan, ADurationIsDividedAmongTheCasesThatRun) {
  Case lasting = demanding("sustained", resource::dram), cannot = lasting, other = demanding("sustained", resource::fp64_fma);
  for (Case* c : {&lasting, &cannot, &other}) c->protocol.seconds = 1;
  cannot.type = DataType::bf16;
  cannot.unsupported = "no such product";
  const std::vector<Group> suite = {{{lasting}, {}}, {{cannot}, {}}, {{other}, {}}};
  Selection selection;
  selection.suite = SuiteName::sustained;
  EXPECT_EQ(arranged({}, suite, selection, Backend::cuda).suite[0].cases[0].protocol.seconds, 150);
  selection.seconds = 8;
  EXPECT_EQ(arranged({}, suite, selection, Backend::cuda).suite[2].cases[0].protocol.seconds, 4);
  selection.filter = "fp64_fma";
  EXPECT_EQ(arranged({}, suite, selection, Backend::cuda).suite[0].cases[0].protocol.seconds, 8);
}

}  // namespace
}  // namespace roofmark
