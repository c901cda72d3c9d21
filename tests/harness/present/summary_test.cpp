// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/summary.hpp"

#include <gmock/gmock.h>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Summary, FindingsStandBySeverityAreCountedAndAdvised) {
  std::vector<Finding> findings;
  for (int i = 0; i < 10; ++i) findings.push_back({FindingKind::throttle, "the clock fell", "gemm/" + std::to_string(i)});
  findings.push_back({FindingKind::above_theoretical, "DRAM: too fast", "stream/copy"});
  const std::string text = findings_text(findings, {});
  EXPECT_THAT(text, StartsWith("error: above_theoretical  stream/copy: DRAM: too fast\n  Verification passed"));
  EXPECT_THAT(
      text,
      HasSubstr("warning: throttle  gemm/2: the clock fell\nwarning: throttle  and 7 more like these\n  The samples are kept"));
  EXPECT_THAT(text, Not(HasSubstr("gemm/3")));
}

TEST(Summary, TheVerdictNamesEachCaseThatIsWrongWithItsReason) {
  const auto record = [](const std::string& name, Status status, const std::string& reason) {
    Record made;
    made.name = name;
    made.status = status;
    made.reason = reason;
    return made;
  };
  const std::vector<Record> records = {record("a", Status::ok, ""),
                                       record("b", Status::wrong, "element 3"),
                                       record("c", Status::failed, "no memory"),
                                       record("d", Status::not_run, "lost"),
                                       record("e", Status::not_run, "lost"),
                                       record("f", Status::unsupported, "no fp8")};
  EXPECT_EQ(verdict_text(records, {}),
            "wrong  b: element 3\n"
            "failed  c: no memory\n"
            "not run  d and 1 more: lost\n"
            "1 ok, 1 wrong, 1 failed, 2 not run, 1 unsupported\n");
}

}  // namespace
}  // namespace roofmark
