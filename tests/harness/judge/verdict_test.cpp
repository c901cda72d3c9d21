// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/verdict.hpp"

#include <gmock/gmock.h>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<Record> records_of(const std::vector<Status>& statuses) {
  std::vector<Record> records(statuses.size());
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    records[i].operation = std::to_string(i);
    records[i].status = statuses[i];
  }
  return records;
}

const RunScope kWhole{2, 2, {}, ""};

RunVerdict judged(const std::vector<Status>& statuses, const std::vector<Finding>& findings = {},
                  const std::optional<RunEnd>& ended = {}, const std::string& slow = {}) {
  return judge_run(kWhole, records_of(statuses), findings, ended, slow);
}

TEST(Verdict, AQuietWholeRunIsGoodAndNeedsNothing) {
  const RunVerdict verdict = judged({Status::ok, Status::unsupported});
  EXPECT_EQ(verdict.trust, Trust::good);
  EXPECT_EQ(verdict.headline, "1 ok, 1 unsupported");
  EXPECT_THAT(verdict.advice, IsEmpty());
}

TEST(Verdict, WhereNoCaseIsPossibleNothingIsGood) {
  std::vector<Record> records = records_of({Status::ok, Status::unsupported, Status::unsupported});
  EXPECT_EQ(judge_run({52, 3, {}, ""}, records, {}, {}, "").trust, Trust::good);
  records[0].sets_ceiling.emplace();
  const RunVerdict verdict = judge_run({52, 3, {}, ""}, records, {}, {}, "");
  EXPECT_EQ(verdict.trust, Trust::bad) << "ceilings alone were not what was wanted";
  EXPECT_THAT(verdict.advice, HasSubstr("have not passed"));
  records[1].status = records[2].status = Status::ok;
  records[0].status = Status::unsupported;
  EXPECT_EQ(judge_run({52, 3, {}, ""}, records, {}, {}, "").trust, Trust::good) << "a ceiling may be";
}

TEST(Verdict, ACeilingThatIsMeasuredTwiceCountsOnceByItsWorsePass) {
  std::vector<Record> records = records_of({Status::ok, Status::ok, Status::ok});
  records[2].operation = records[0].operation;
  EXPECT_EQ(judge_run(kWhole, records, {}, {}, "").headline, "2 ok");
  records[2].status = Status::failed;
  EXPECT_EQ(judge_run(kWhole, records, {}, {}, "").headline, "1 ok, 1 failed");
}

TEST(Verdict, ASelectionIsNeverReadAsTheWholeSuite) {
  const RunScope scope{52, 2, {"--filter 'gemm'"}, ""};
  const RunVerdict verdict = judge_run(scope, records_of({Status::ok, Status::ok}), {}, {}, "");
  EXPECT_EQ(verdict.headline, "2 ok (2 of 52 cases, --filter 'gemm')");
  EXPECT_THAT(verdict.advice, HasSubstr("run the whole suite"));
}

// Pairs that are measured again alone.
TEST(Verdict, CasesThatTheRunAddedAreCountedApart) {
  const std::vector<Record> records = records_of({Status::ok, Status::ok, Status::ok});
  EXPECT_EQ(judge_run(kWhole, records, {}, {}, "").headline, "3 ok (1 more than the suite's)");
  EXPECT_EQ(judge_run({52, 2, {"--filter 'x'"}, ""}, records, {}, {}, "").headline,
            "3 ok (2 of 52 cases and 1 more, --filter 'x')");
}

TEST(Verdict, AChangedSuiteIsNotReadAsTheSuite) {
  const RunScope scope{2, 2, {"--data zeros"}, ""};
  EXPECT_EQ(judge_run(scope, records_of({Status::ok, Status::ok}), {}, {}, "").headline, "2 ok (--data zeros)");
}

TEST(Verdict, DoubtsAreNamedByTheWorstOfEachKindAndTheirCauseFirst) {
  const std::vector<Finding> findings = {{FindingKind::drift, "long", "", 0.03, "L2 drifted by 3 %"},
                                         {FindingKind::drift, "long", "", 0.2, "DRAM drifted by 20 %"},
                                         {FindingKind::unsettled, "note", ""},
                                         {FindingKind::throttle, "what it delivers within its limits", ""},
                                         {FindingKind::foreign_process, "long", "", 1.02, "other programs used 1.02 cores"}};
  const RunVerdict verdict = judged({Status::ok, Status::ok}, findings);
  EXPECT_EQ(verdict.trust, Trust::doubtful);
  EXPECT_EQ(verdict.headline, "2 ok; the roofs are in doubt: other programs used 1.02 cores, DRAM drifted by 20 % (1 more)");
  EXPECT_EQ(verdict.advice, type_of(FindingKind::foreign_process).advice);
}

TEST(Verdict, RanksThatShareACoreExplainTheOtherRates) {
  const RunVerdict verdict = judged({Status::ok, Status::ok}, {{FindingKind::gate, "", "", 9, "9 samples of a case are void"},
                                                               {FindingKind::shared_cores, "", "", 2, "ranks share cores"}});
  EXPECT_EQ(verdict.headline, "2 ok; rates are in doubt: ranks share cores, 9 samples of a case are void");
  EXPECT_EQ(verdict.advice, type_of(FindingKind::shared_cores).advice);
}

TEST(Verdict, TheHeadlineCountsEveryStatusInTheOrderOfTheTable) {
  const std::vector<Record> records =
      records_of({Status::unsupported, Status::not_run, Status::failed, Status::wrong, Status::ok, Status::ok});
  EXPECT_EQ(judge_run({6, 6, {}, ""}, records, {}, {}, "").headline, "2 ok, 1 wrong, 1 failed, 1 not run, 1 unsupported");
}

TEST(Verdict, WhatIsWrongOrUnmeasuredOrFaultyIsBad) {
  EXPECT_THAT(judged({Status::ok, Status::wrong}).advice, StartsWith("Do not use any number"));
  for (const Status status : {Status::wrong, Status::failed, Status::not_run}) {
    EXPECT_EQ(judged({Status::ok, status}).trust, Trust::bad);
  }
  const RunVerdict faulty = judged({Status::ok, Status::ok}, {{FindingKind::drift, "", "", 0.03, "DRAM drifted by 3 %"},
                                                              {FindingKind::xid, "", "", 1, "Xid 79"}});
  EXPECT_EQ(faulty.trust, Trust::bad);
  EXPECT_EQ(faulty.headline, "2 ok; the device reports faults: Xid 79; the roofs are in doubt: DRAM drifted by 3 %");
  EXPECT_EQ(faulty.advice, type_of(FindingKind::xid).advice);
  const std::vector<Finding> of_host = {{FindingKind::host_uncorrected_errors, "", "", 1, "node1: lost data"}};
  EXPECT_EQ(judged({Status::ok, Status::ok}, of_host).headline, "2 ok; the host reports faults: node1: lost data");
  EXPECT_EQ(judged({Status::ok, Status::ok}, of_host).trust, Trust::bad);
  EXPECT_TRUE(reports_faults(of_host));
}

TEST(Verdict, WhatOneRankDidNotMeasureHasNotPassed) {
  std::vector<Record> records = records_of({Status::ok, Status::ok});
  records[0].rank_status = {Status::ok, Status::unsupported};
  EXPECT_EQ(judge_run(kWhole, records, {}, {}, "").headline, "2 ok");
  records[1].rank_status = {Status::ok, Status::not_run};
  const RunVerdict verdict = judge_run(kWhole, records, {}, {}, "");
  EXPECT_EQ(verdict.trust, Trust::bad);
  EXPECT_EQ(verdict.headline, "1 ok, 1 not run");
  EXPECT_THAT(verdict.advice, StartsWith("Cases that were not measured"));
}

TEST(Verdict, NothingIsNeverWell) {
  const RunVerdict verdict = judge_run({52, 52, {}, ""}, {}, {}, {}, "");
  EXPECT_EQ(verdict.trust, Trust::bad);
  EXPECT_EQ(verdict.headline, "nothing was measured, 52 not reached");
}

TEST(Verdict, CasesWithoutARecordWereNotReached) {
  const RunVerdict verdict = judge_run({52, 3, {"--filter 'gemm'"}, ""}, records_of({Status::ok}), {}, {}, "");
  EXPECT_EQ(verdict.trust, Trust::bad);
  EXPECT_EQ(verdict.headline, "1 ok, 2 not reached (3 of 52 cases, --filter 'gemm')");
}

TEST(Verdict, ARunThatWasCutOffSaysWhereAndWhyFirst) {
  const RunVerdict verdict =
      judged({Status::ok, Status::not_run}, {}, RunEnd{"rank 3 (node1) ended unexpectedly", "all_reduce/fp32/bytes:8"});
  EXPECT_EQ(verdict.trust, Trust::bad);
  EXPECT_EQ(verdict.headline,
            "The run was cut off in all_reduce/fp32/bytes:8: rank 3 (node1) ended unexpectedly; 1 ok, 1 not run");
  EXPECT_THAT(verdict.advice, StartsWith("The measured cases are valid"));
  EXPECT_THAT(judged({Status::ok}, {}, RunEnd{"no progress for 120 s in gemm/x (timing)", "gemm/x"}).headline,
              StartsWith("The run was cut off: no progress for 120 s in gemm/x (timing); 1 ok"));
  EXPECT_THAT(judged({Status::ok, Status::wrong}, {}, RunEnd{"interrupted", ""}).advice, StartsWith("Do not use any number"));
}

TEST(Verdict, OfATeamItEndsWithWhoIsSlow) {
  EXPECT_EQ(judged({Status::ok, Status::ok}, {}, {}, "no rank, host or pair stands out").headline,
            "2 ok; no rank, host or pair stands out");
  const RunVerdict verdict =
      judged({Status::ok, Status::ok}, {{FindingKind::slow_rank, "", "", 2, "rank 1 (a)"}}, {}, "slow: rank 1 (a)");
  EXPECT_EQ(verdict.trust, Trust::doubtful);
  EXPECT_EQ(verdict.headline, "2 ok; slow: rank 1 (a)");
  EXPECT_EQ(verdict.advice, type_of(FindingKind::slow_rank).advice);
}

}  // namespace
}  // namespace roofmark
