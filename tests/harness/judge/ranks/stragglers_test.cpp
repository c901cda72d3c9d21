// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/stragglers.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "harness/judge/ranks/communication.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> texts(const Communication& found, FindingKind kind) {
  std::vector<std::string> all;
  for (const Finding& finding : found.findings) {
    if (finding.kind == kind) all.push_back(finding.text);
  }
  return all;
}

TEST(Stragglers, OfThreeHostsTheOneWithTheSlowLinkAlone) {
  const auto records = ping_pong(3, {8, 1'000'000}, [](int a, int b, std::size_t bytes) {
    return (b == 2 ? 10.0 + a : 1.0) * (1e-5 + double(bytes) / 1e9);
  });
  const Communication found = analyze_communication(records, members({"A", "B", "C"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_rank);
  EXPECT_THAT(found.findings[0].text, AllOf(HasSubstr("rank 2 (C): its best pair between hosts takes 10.00 times the median"),
                                            HasSubstr("slow at 2 of 2 sizes")));
  ASSERT_THAT(found.slowest, SizeIs(1));
  EXPECT_EQ(found.slowest[0].of, "ranks, by the best pair between hosts");
  EXPECT_EQ(found.slowest[0].who, "rank 2 (C)");
  EXPECT_EQ(found.slowest[0].among, 3);
  EXPECT_DOUBLE_EQ(found.slowest[0].times_fastest, 10);
  EXPECT_FALSE(found.slowest[0].mads);
}

TEST(Stragglers, NobodyForOneSizeAloneOfMany) {
  const auto records = ping_pong(3, {8, 1000, 1'000'000}, [](int, int b, std::size_t bytes) {
    return (b == 2 && bytes == 1000 ? 10.0 : 1.0) * (1e-5 + double(bytes) / 1e9);
  });
  EXPECT_THAT(analyze_communication(records, members({"A", "B", "C"})).findings, IsEmpty());
}

/// 1 %, never the same.
double noise(int a, int b) { return 1 + 0.01 * std::sin(12.9898 * a + 78.233 * b); }

TEST(Stragglers, ARankByHowManyDeviations) {
  const auto records =
      ping_pong(8, {1024}, [](int a, int b, std::size_t) { return 1e-6 * noise(a, b) * (a == 5 || b == 5 ? 3.2 : 1); });
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_THAT(found.findings[0].text,
              AllOf(HasSubstr("rank 5 (a): its best pair within a host takes 3.2"), HasSubstr("MADs above it (1.02 kB)")));
}

TEST(Stragglers, AHostOfSeveralRanksStandsForItsRanks) {
  std::vector<std::string> hosts;
  for (int i = 0; i < 8; ++i) hosts.push_back("node" + std::to_string(i / 2));
  const auto records = ping_pong(members(hosts), {1024}, [](int a, int b, std::size_t) {
    if (a / 2 == b / 2) return 1e-6 * noise(a, b);
    return 9e-6 * noise(a, b) * (a / 2 == 3 || b / 2 == 3 ? 2 : 1);
  });
  const Communication found = analyze_communication(records, members(hosts));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_host);
  EXPECT_THAT(found.findings[0].text, HasSubstr("node3: its best pair between hosts takes 2.0"));
}

TEST(Stragglers, ALinkThatItsRanksDoNotExplain) {
  const auto records =
      ping_pong(8, {1024}, [](int a, int b, std::size_t) { return 1e-6 * noise(a, b) * (a == 1 && b == 6 ? 2.5 : 1); });
  const Communication found = analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_link);
  EXPECT_THAT(found.findings[0].text, HasSubstr("rank 1 (a) and rank 6 (a): this pair takes 2.4"));
}

// What disturbs a record to its end is not in its interval.
TEST(Stragglers, ALinkThatIsSlowAtOneSizeAloneIsNot) {
  const auto found = [](const std::set<std::size_t>& slow_sizes) {
    auto records = ping_pong(8, {8, 65536, 1'000'000, 32'000'000, 64'000'000}, [&](int a, int b, std::size_t bytes) {
      return (1e-5 + double(bytes) / 400e9) * noise(a, b) * (a == 1 && b == 6 && slow_sizes.contains(bytes) ? 1.5 : 1);
    });
    for (Record& record : records) {
      for (auto& rank : record.measurement->ranks) {
        if (!rank) continue;
        rank->interval_low = rank->median * 0.99;
        rank->interval_high = rank->median * 1.01;
      }
    }
    return analyze_communication(records, members(std::vector<std::string>(8, "a"))).findings;
  };
  EXPECT_THAT(found({64'000'000}), IsEmpty());
  EXPECT_THAT(found({8, 64'000'000}), IsEmpty()) << "of 28 pairs";
  EXPECT_THAT(found({32'000'000, 64'000'000}), SizeIs(1));
  EXPECT_THAT(found({8, 65536, 1'000'000}), SizeIs(1));
}

// Every rank has one near neighbour; most pairs are farther apart, and none of them is slow.
TEST(Stragglers, NobodyWhereMostPairsAreFartherApart) {
  const auto records =
      ping_pong(8, {1024}, [](int a, int b, std::size_t) { return 1e-6 * noise(a, b) * (a / 4 == b / 4 ? 1 : 1.5); });
  EXPECT_THAT(analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"})).findings, IsEmpty());
}

TEST(Stragglers, NobodyWithinTenPercentHoweverLittleTheOthersSpread) {
  for (const double slower : {1.09, 1.11}) {
    const auto records = ping_pong(8, {8}, [&](int, int b, std::size_t) { return 1e-6 * (b == 7 ? slower : 1); });
    const auto found = analyze_communication(records, members({"a", "a", "a", "a", "a", "a", "a", "a"})).findings;
    EXPECT_EQ(found.size(), slower > 1.1 ? 1U : 0U) << slower;
  }
}

TEST(Stragglers, OfFewOneMustBeSlowerByAQuarter) {
  for (const double slower : {1.2, 1.3}) {
    const auto records = ping_pong(3, {8, 64}, [&](int, int b, std::size_t) { return 1e-6 * (b == 2 ? slower : 1); });
    const auto found = analyze_communication(records, members({"a", "a", "a"})).findings;
    EXPECT_EQ(found.size(), slower > 1.25 ? 1U : 0U) << slower;
  }
}

TEST(Stragglers, NobodyByWhatTheRanksDoTogether) {
  Record record = overlap_records(1, 1, 1).back();
  record.measurement->ranks = {RankTimes{1, 1, {}, {}}, RankTimes{3, 3, {}, {}}};
  EXPECT_THAT(analyze_communication({record}, members({"a", "b"})).slowest, IsEmpty());
}

TEST(Stragglers, NobodyOfTwoButByHowMuchTheyDiffer) {
  const auto pairs = ping_pong(2, {8, 64}, [](int, int, std::size_t) { return 1e-6; });
  EXPECT_THAT(analyze_communication(pairs, members({"a", "b"})).slowest, IsEmpty());
  Record record = ok_record("stream", "copy", {}, 1);
  record.measurement->ranks = {RankTimes{1, 1, {}, {}}, RankTimes{3, 3, {}, {}}};
  const Communication found = analyze_communication({record, record}, members({"a", "b"}));
  EXPECT_THAT(found.findings, IsEmpty());
  ASSERT_THAT(found.slowest, SizeIs(1));
  EXPECT_EQ(found.slowest[0].of, "ranks, each alone");
  EXPECT_EQ(found.slowest[0].who, "rank 1 (b)");
  EXPECT_DOUBLE_EQ(found.slowest[0].times_median, 1.5);
  EXPECT_DOUBLE_EQ(found.slowest[0].times_fastest, 3);
  EXPECT_FALSE(found.slowest[0].mads);
}

Record alone(const std::string& how, const std::vector<double>& medians) {
  Record record = ok_record("stream", how, {}, 1);
  for (const double median : medians) record.measurement->ranks.emplace_back(RankTimes{median, median, {}, {}});
  return record;
}

TEST(Stragglers, ARankThatIsSlowAlone) {
  std::vector<Record> records = {alone("copy", {1, 1.01, 0.99, 1.5, 1.002}), alone("triad", {1, 1.01, 0.99, 1.3, 1.002}),
                                 alone("read", {1, 1.01, 0.99, 1.3, 1.002}), alone("add", {1, 1.01, 0.99, 1.001, 1.002})};
  const auto found = analyze_communication(records, members({"a", "a", "a", "b", "b"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_rank);
  EXPECT_THAT(found.findings[0].text, AllOf(HasSubstr("rank 3 (b): slower than the median of the ranks in 3 of 4 cases"),
                                            HasSubstr("1.50 times"), HasSubstr("stream/copy/")));
}

TEST(Stragglers, NobodyForOneUnluckyCaseOfMany) {
  std::vector<Record> records(39, alone("copy", {1, 1.01, 0.99, 1.001}));
  records.push_back(alone("copy", {1, 1.01, 0.99, 1.5}));
  EXPECT_THAT(analyze_communication(records, members({"a", "a", "b", "b"})).findings, IsEmpty());
  for (int more = 0; more < 4; ++more) records.push_back(alone("copy", {1, 1.01, 0.99, 1.5}));
  EXPECT_THAT(analyze_communication(records, members({"a", "a", "b", "b"})).findings, SizeIs(1));
}

// As in the suite smoke: one value of 200 is 30 % high by chance.
TEST(Stragglers, NobodyForTwoUnluckyCasesOfFew) {
  const std::vector<double> healthy = {1, 1.01, 0.99, 1.001}, unlucky = {1, 1.01, 0.99, 1.4};
  const auto findings = [&](int unlucky_cases, int cases) {
    std::vector<Record> records(static_cast<std::size_t>(cases - unlucky_cases), alone("copy", healthy));
    for (int i = 0; i < unlucky_cases; ++i) records.push_back(alone("copy", unlucky));
    return analyze_communication(records, members({"a", "a", "b", "b"})).findings;
  };
  EXPECT_THAT(findings(2, 20), IsEmpty());
  EXPECT_THAT(findings(3, 20), SizeIs(1));
  EXPECT_THAT(findings(1, 2), IsEmpty());
  EXPECT_THAT(findings(3, 3), SizeIs(1));
  EXPECT_THAT(findings(2, 2), IsEmpty()) << "of a thousand healthy ranks, some have as many";
  EXPECT_THAT(findings(1, 1), IsEmpty());
}

/// `count` cases that a resource limits, of ranks of which the last is slower.
std::vector<Record> limited_by(const Resource& resource, int count, std::vector<double> medians, double slower) {
  medians.back() *= slower;
  std::vector<Record> records(static_cast<std::size_t>(count), alone("copy", medians));
  for (Record& record : records) record.placement.emplace().bound_by = resource.id;
  return records;
}

const std::vector<double> kFour = {1, 1.01, 0.99, 1.002};

std::vector<Record> joined(std::vector<Record> records, const std::vector<Record>& more) {
  records.insert(records.end(), more.begin(), more.end());
  return records;
}

std::vector<Finding> of_four(const std::vector<Record>& records) {
  return analyze_communication(records, members({"a", "a", "a", "a"})).findings;
}

// As of the four GPUs of a GB200 tray, one of which is a fifth slower: no single case says so, and all together do.
TEST(Stragglers, OfFewARankThatIsSlowAgainAndAgain) {
  const auto found = of_four(limited_by(resource::bf16_tensor, 20, kFour, 1.2));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, FindingKind::slow_rank);
  EXPECT_THAT(found[0].ranks, testing::ElementsAre(3));
  EXPECT_THAT(found[0].text,
              AllOf(HasSubstr("rank 3 (a): slower than the median of the ranks in 20 of 20 cases that the device limits, each "
                              "rank alone; the worst takes 1.20 times the median"),
                    HasSubstr("stream/copy/")));
  EXPECT_THAT(of_four(limited_by(resource::bf16_tensor, 20, kFour, 1.09)), IsEmpty());
  const auto three = analyze_communication(limited_by(resource::dram, 20, {1, 1.01, 1.005}, 1.2), members({"a", "a", "a"}));
  EXPECT_THAT(three.findings, SizeIs(1));
  const auto two = analyze_communication(limited_by(resource::dram, 20, {1, 1.01}, 1.2), members({"a", "a"}));
  EXPECT_THAT(two.findings, IsEmpty());
}

TEST(Stragglers, OfFewARankThatIsSlowInAFifthOfTheCasesThatTheDeviceLimits) {
  const auto healthy = [](int count) { return limited_by(resource::dram, count, kFour, 1); };
  EXPECT_THAT(of_four(joined(limited_by(resource::l2, 4, kFour, 1.2), healthy(16))), SizeIs(1));
  EXPECT_THAT(of_four(joined(limited_by(resource::l2, 4, kFour, 1.2), healthy(17))), IsEmpty());
  EXPECT_THAT(of_four(limited_by(resource::l2, 9, kFour, 1.2)), IsEmpty()) << "too few cases to say that it repeats";
  // What a device's slot or host limits differs between healthy devices, and dilutes nothing.
  EXPECT_THAT(of_four(limited_by(resource::host_to_device, 20, kFour, 1.2)), IsEmpty());
  EXPECT_THAT(of_four(joined(limited_by(resource::l2, 10, kFour, 1.2), limited_by(resource::host_to_device, 90, kFour, 1))),
              SizeIs(1));
  EXPECT_THAT(of_four(std::vector<Record>(20, alone("copy", {1, 1.01, 0.99, 1.2}))), IsEmpty()) << "limited by nothing known";
}

// Of 165 cases, 5 are of attention: far less than one case of 20.
TEST(Stragglers, ARankThatIsSlowInMostOfOneKindOfCases) {
  const std::vector<double> eight = {1, 1.01, 0.99, 1.002, 1.003, 0.995, 1.004, 1};
  const auto attention = [&](int count, double slower) {
    std::vector<Record> records = limited_by(resource::bf16_tensor, count, eight, slower);
    for (Record& record : records) record.family = "attention";
    return records;
  };
  const auto all = [&](const std::vector<Record>& of_attention) {
    const auto records = joined(joined(of_attention, limited_by(resource::dram, 150, eight, 1)),
                                limited_by(resource::bf16_tensor, 10, eight, 1));
    return analyze_communication(records, members(std::vector<std::string>(8, "a"))).findings;
  };
  const auto found = all(attention(5, 4));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, FindingKind::slow_rank);
  EXPECT_THAT(found[0].ranks, testing::ElementsAre(7));
  EXPECT_THAT(found[0].text, HasSubstr("rank 7 (a): slower than the median of the ranks in 5 of 5 cases of attention that the "
                                       "device limits, each rank alone; the worst takes 3.99 times the median"));
  EXPECT_THAT(all(attention(5, 1.2)), IsEmpty()) << "healthy GPUs of one model differ by some percent where power limits them";
  EXPECT_THAT(all(attention(2, 4)), IsEmpty()) << "too few to be more than bad luck";
  EXPECT_THAT(all(joined(attention(2, 4), attention(1, 1))), IsEmpty()) << "as few, of a larger family";
  EXPECT_THAT(all(joined(attention(3, 4), attention(2, 1))), SizeIs(1));
  EXPECT_THAT(all(joined(attention(3, 4), attention(3, 1))), IsEmpty()) << "in half of them, not in most";
}

TEST(Stragglers, ARankThatIsSlowInMostOfWhatOneResourceLimits) {
  std::vector<Record> records =
      joined(limited_by(resource::fp8_tensor, 4, kFour, 1.45), limited_by(resource::dram, 150, kFour, 1));
  const auto found = of_four(records);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].text, HasSubstr("in 4 of 4 cases limited by fp8 tensor, each rank alone"));
  // GPUs that share a switch while all copy are slower than others, and healthy.
  EXPECT_THAT(of_four(joined(limited_by(resource::host_to_device, 5, kFour, 2), limited_by(resource::dram, 150, kFour, 1))),
              IsEmpty());
}

TEST(Stragglers, OfFewHostsOneThatIsSlowAgainAndAgain) {
  const auto found = analyze_communication(limited_by(resource::bf16_tensor, 20, {1, 1.01, 1, 0.99, 1.2, 1.2}, 1),
                                           members({"a", "a", "b", "b", "c", "c"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_host);
  EXPECT_THAT(found.findings[0].text, HasSubstr("c: slower than the median of the hosts in 20 of 20 cases that the device"));
}

TEST(Stragglers, AHostWhoseRanksAreAllSlowAlone) {
  const std::vector<Record> records(3, alone("copy", {1, 1.01, 1.003, 0.99, 1.4, 1.41, 1, 1.002}));
  const auto found = analyze_communication(records, members({"a", "a", "b", "b", "c", "c", "d", "d"}));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].kind, FindingKind::slow_host);
  EXPECT_THAT(found.findings[0].text, HasSubstr("c: slower than the median of the hosts in 3 of 3 cases"));
}

TEST(Stragglers, OfAHostHalfOfWhoseRanksAreSlowTheRanks) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < 16; ++rank) hosts.push_back("node" + std::to_string(rank / 2));
  std::vector<double> medians;
  for (int rank = 0; rank < 16; ++rank) medians.push_back(rank == 3 ? 1.3 : 1 + 0.001 * rank);
  const auto found = analyze_communication(std::vector<Record>(20, alone("copy", medians)), members(hosts)).findings;
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, FindingKind::slow_rank);
  EXPECT_THAT(found[0].ranks, testing::ElementsAre(3));
}

TEST(Fingerprints, OfARankWithOtherBits) {
  std::vector<Record> records(5, alone("copy", {1, 1, 1}));
  for (int i = 0; i < 5; ++i) records[std::size_t(i)].fingerprint = Fingerprint{"h", "k", true, {}};
  records[1].fingerprint->differing_ranks = {2};
  records[3].fingerprint->differing_ranks = {2};
  auto found = texts(analyze_communication(records, members({"a", "a", "b"})), FindingKind::fingerprint);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], HasSubstr("rank 2 (b): bits differ from most ranks in 2 of 5 cases"));
  for (Record& record : records) {
    record.measurement->ranks.pop_back();
    record.fingerprint->differing_ranks = {0, 1};
  }
  found = texts(analyze_communication(records, members({"a", "a"})), FindingKind::fingerprint);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0], AllOf(HasSubstr("any may be wrong"), HasSubstr(", ...")));
}

std::string slow(const std::vector<Record>& records, const std::vector<std::string>& hosts) {
  return analyze_communication(records, members(hosts)).slow;
}

TEST(WhoIsSlow, IsAlwaysAnsweredInOneLine) {
  const auto even = [](int, int, std::size_t) { return 1e-6; };
  EXPECT_EQ(slow(ping_pong(4, {8, 1024}, even), {"a", "b", "c", "d"}), "no rank, host or pair stands out");
  auto some = rounds_of_pairs(4);
  some.pop_back();
  EXPECT_EQ(slow(ping_pong(some, {8, 1024}, even), {"a", "b", "c", "d"}),
            "no rank, host or pair stands out (4 of 6 pairs were measured)");
  EXPECT_EQ(slow(ping_pong(4, {8, 1024}, even), {"a", "a", "b", "b"}),
            "no rank or pair stands out; with two hosts, the slow one cannot be told from the fast one");
  EXPECT_EQ(slow(ping_pong(2, {8}, even), {"a", "b"}), "with two ranks, the slow one cannot be told from the fast one");
  EXPECT_EQ(slow({collective("all_reduce", 8, 4, 1.5, 1e-6)}, {"a", "b", "c", "d"}),
            "this run did not check for slow ranks: rounds of pairs are among the cases of the suites baseline and full "
            "(--suite baseline --filter '^ping_pong')");
  EXPECT_EQ(slow({collective("all_reduce", 8, 1, 0, 1e-6)}, {"a"}), "one rank has no link and no peer to compare with");
  const auto records = ping_pong(3, {8, 1'000'000}, [](int, int b, std::size_t) { return (b == 2 ? 10.0 : 1.0) * 1e-5; });
  EXPECT_EQ(slow(records, {"A", "B", "C"}), "slow: rank 2 (C) (10.00 times the median)");
}

TEST(WhoIsSlow, NamesWhatWasCompared) {
  const std::vector<Record> suite(3, alone("copy", {1, 1.01, 0.99, 1}));
  EXPECT_EQ(slow(suite, {"a", "a", "a", "a"}), "no rank stands out");
  EXPECT_EQ(slow(suite, {"a", "b", "c", "d"}), "no rank or host stands out");
  Record lost = suite.front();
  for (const std::size_t rank : {1, 2}) lost.measurement->ranks[rank].reset();
  const std::string too_few = "fewer than three ranks, or cases, have results: too few to tell a slow rank from a fast one";
  EXPECT_EQ(slow({lost, lost, lost}, {"a", "a", "a", "a"}), too_few);
  EXPECT_EQ(slow({suite.front()}, {"a", "a", "a", "a"}), too_few);
  Record interrupted = suite.front();
  interrupted.status = Status::not_run;
  EXPECT_EQ(slow({interrupted}, {"a", "a", "a", "a"}), "no case has results of several ranks, which would show a slow one");
}

/// The kinds that nobody could be named by are not among them.
TEST(Communication, SaysWhatWasCompared) {
  using Kinds = std::set<FindingKind>;
  const auto compared = [](const std::vector<Record>& records, const std::vector<std::string>& hosts) {
    return analyze_communication(records, members(hosts)).compared;
  };
  const auto even = [](int, int, std::size_t) { return 1e-6; };
  const Kinds of_two = {FindingKind::fingerprint, FindingKind::missing_result};
  EXPECT_EQ(compared({alone("copy", {1, 2})}, {"a", "a"}), of_two);
  EXPECT_EQ(compared(ping_pong(2, {8}, even), {"a", "a"}), of_two);
  Kinds of_ranks = of_two;
  of_ranks.insert(FindingKind::slow_rank);
  EXPECT_EQ(compared({3, alone("copy", {1, 1.01, 0.99})}, {"a", "a", "a"}), of_ranks);
  EXPECT_EQ(compared({2, alone("copy", {1, 1.01, 0.99})}, {"a", "a", "a"}), of_two) << "two slow cases are chance";
  Kinds of_pairs = of_ranks;
  of_pairs.insert(FindingKind::slow_link);
  EXPECT_EQ(compared(ping_pong(4, {8}, even), {"a", "a", "a", "a"}), of_pairs);
  of_pairs.insert(FindingKind::slow_host);
  EXPECT_EQ(compared(ping_pong(4, {8}, even), {"a", "b", "c", "d"}), of_pairs);
}

}  // namespace
}  // namespace roofmark
