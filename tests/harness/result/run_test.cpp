// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/run.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

Run run_of(const std::vector<Status>& statuses) {
  Run run;
  for (const Status status : statuses) {
    run.records.push_back(ok_record("stream", std::to_string(run.records.size()), {}, 1));
    run.records.back().status = status;
  }
  run.header.scope = {statuses.size(), statuses.size(), {}, ""};
  run.footer.emplace().complete = true;
  return run;
}

int status_of(Run run) {
  const Conclusions conclusions = conclude(run);
  const int status = exit_status(run, conclusions);
  EXPECT_EQ(status != 0, conclusions.verdict.trust == Trust::bad) << conclusions.verdict.headline;
  return status;
}

/// As in the table of statuses and the text below it in docs/method.md.
TEST(Run, EndsWithZeroUnlessItsVerdictIsBad) {
  EXPECT_EQ(status_of(run_of({Status::ok, Status::unsupported})), 0);
  EXPECT_EQ(status_of(run_of({Status::ok, Status::wrong, Status::failed})), 1);
  EXPECT_EQ(status_of(run_of({Status::ok, Status::failed})), 3);
  EXPECT_EQ(status_of(run_of({Status::ok, Status::not_run})), 3);
  EXPECT_EQ(status_of(run_of({Status::unsupported})), 3);
  EXPECT_EQ(status_of(run_of({})), 3);

  roofmark::Run run = run_of({Status::ok, Status::unsupported});
  run.header.scope.by_name = true;
  EXPECT_EQ(status_of(run), 3) << "a case that was asked for by name";
  run = run_of({Status::ok, Status::ok});
  run.footer.reset();
  EXPECT_EQ(status_of(run), 3) << "cut off";
  run = run_of({Status::ok, Status::ok});
  run.records.pop_back();
  EXPECT_EQ(status_of(run), 3) << "a case without a record";
  run = run_of({Status::ok, Status::ok});
  run.header.findings.push_back({FindingKind::drift, "doubtful", {}});
  EXPECT_EQ(status_of(run), 0);
  run.header.findings.push_back({FindingKind::xid, "a fault", {}});
  EXPECT_EQ(status_of(run), 1);
  run = run_of({Status::ok, Status::ok});
  run.header.ranks.resize(2);
  run.records[0].rank_status = {Status::ok, Status::failed};
  EXPECT_EQ(status_of(run), 3) << "of another rank";
}

}  // namespace
}  // namespace roofmark
