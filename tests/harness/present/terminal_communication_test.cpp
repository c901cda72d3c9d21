// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal_communication.hpp"

#include <gmock/gmock.h>

#include <iterator>
#include <sstream>

#include "harness/present/tables.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string tables(const std::vector<Record>& records, const std::vector<RankInfo>& team) {
  return communication_tables(records, analyze_communication(records, team), team, {});
}

/// The words of the line that begins with a text.
std::vector<std::string> words_of(const std::string& text, const std::string& beginning) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(beginning, 0) != 0) continue;
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

Record passed(Record record) {
  record.verification_before = Verification::within(0, 0, "");
  return record;
}

TEST(CommunicationTables, HaveTheColumnsOfNcclTests) {
  Record out = passed(collective("all_reduce", 8'000'000, 4, 1.5, 2e-3)),
         in = passed(collective("all_reduce", 8'000'000, 4, 1.5, 1e-3, "mpi", "in"));
  out.placement = Placement{};
  out.placement->bound_by = "interprocess";
  out.placement->of_empirical = 0.75;
  out.measurement->summary.p95 = 2.5e-3;
  const std::string text = tables({out, in}, members({"a", "a", "a", "a"}));
  EXPECT_THAT(text, StartsWith("all_reduce/fp32/impl:mpi  redop:sum  ranks:4\n"));
  EXPECT_THAT(text, ContainsRegex("\n +out-of-place +in-place\nsize +count +time +algbw +busbw +#wrong +time +algbw +busbw "
                                  "+#wrong\n"));
  EXPECT_THAT(words_of(text, "8000000"),
              ElementsAre("8000000", "2000000", "2000.0", "4.00", "6.00", "0", "1000.0", "8.00", "12.00", "0"));
  EXPECT_THAT(text, ContainsRegex("\nroof interprocess\n +out-of-place\nsize +of roof +p95\n.*\n8000000 +75.0 % +2500.0\n"));
  in.placement = out.placement;
  in.placement->of_empirical = 0.9;
  EXPECT_THAT(tables({out, in}, members({"a", "a", "a", "a"})),
              ContainsRegex("\n +out-of-place +in-place\nsize +of roof +p95 +of roof\n.*\n8000000 +75.0 % +2500.0 +90.0 %\n"));
  EXPECT_THAT(tables({in}, members({"a", "a", "a", "a"})), ContainsRegex("roof interprocess\n +in-place\nsize +of roof"));
}

// The largest size may have room for the call in place alone.
TEST(CommunicationTables, ACallInPlaceAloneStandsUnderInPlace) {
  Record out = passed(collective("all_reduce", 8'000'000, 4, 1.5, 2e-3)),
         in = passed(collective("all_reduce", 16'000'000, 4, 1.5, 4e-3, "mpi", "in"));
  for (Record* record : {&out, &in}) {
    record->placement = Placement{};
    record->placement->bound_by = "interprocess";
    record->placement->of_empirical = record == &out ? 0.75 : 0.069;
    record->measurement->summary.p95 = 4.5e-3;
  }
  EXPECT_THAT(tables({out, in}, members({"a", "a", "a", "a"})),
              ContainsRegex("\n +out-of-place +in-place\nsize +of roof +p95 +of roof\n.*\n8000000 +75.0 % +4500.0 *\n"
                            "16000000 {20,}6.9 %\n"));
}

TEST(CommunicationTables, FitATerminalOf120Columns) {
  std::vector<Record> records;
  const auto add = [&](int ranks, const Shape& more) {
    for (const char* place : {"out", "in"}) {
      records.push_back(passed(collective("all_reduce", std::size_t{16} << 30, ranks, 1.75, 71.58e-3, "nccl", place, more)));
      Record& record = records.back();
      record.work = {{{{resource::nvlink, 3e10, 1e10}}}};
      record.placement = Placement{};
      record.placement->bound_by = "interprocess";
      record.placement->of_empirical = record.placement->of_theoretical = 1.234;
      record.measurement->summary.p95 = record.measurement->summary.p99 = 71.6e-3;
    }
  };
  add(8, {{"buffer", "symmetric"}});
  add(72, {{"group", "node"}});
  std::istringstream lines(tables(records, {}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
}

TEST(CommunicationTables, AWrongRecordHasItsCountAndNoBandwidth) {
  Record out = passed(collective("all_reduce", 4096, 4, 1.5, 2e-5)),
         in = collective("all_reduce", 4096, 4, 1.5, 2e-5, "mpi", "in");
  in.status = Status::wrong;
  in.measurement.reset();
  in.verification_before = Verification::within(3, 0, "");
  in.verification_before->wrong = 17;
  const std::vector<std::string> line = words_of(tables({out, in}, members({"a", "a", "a", "a"})), "4096");
  EXPECT_THAT(line, ElementsAre("4096", "1024", "20.00", "0.20", "0.31", "0", "-", "-", "-", "17"));
  const TerminalStyle colour{false, true, 100};
  EXPECT_THAT(communication_tables({out, in}, {}, {}, colour), ContainsRegex("\033\\[31m4096 .*17\033"));
  // Alone it still stands there.
  EXPECT_THAT(tables({in}, members({"a", "a", "a", "a"})),
              AllOf(HasSubstr("in-place"), Not(HasSubstr("out-of-place")), HasSubstr("17")));
}

TEST(CommunicationTables, OneEachFamilyAndTypeWithItsVariants) {
  std::vector<Record> records;
  records.push_back(collective("all_reduce", 1024, 4, 1.5, 1e-5));
  records.push_back(collective("broadcast", 1024, 4, 1, 1e-5));
  records.push_back(collective("all_reduce", 1024, 2, 1, 1e-5, "mpi", "out", {{"group", "node"}}));
  records.push_back(collective("all_reduce", 2048, 4, 1.5, 1e-5));
  records.back().pass = 2;
  records.push_back(collective("all_reduce", 4096, 4, 1.5, 1e-5));
  records.back().status = Status::failed;
  const std::string text = tables(records, members({"a", "a", "b", "b"}));
  EXPECT_EQ(text.find("all_reduce/fp32/impl:mpi"), 0U);
  EXPECT_THAT(text, ContainsRegex("\n\nbroadcast/fp32/impl:mpi"));
  EXPECT_THAT(text, HasSubstr("group:node"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("2048")), Not(HasSubstr("4096"))));
  EXPECT_THAT(records_table(records, {}), IsEmpty());
}

TEST(CommunicationTables, TheSizesOfATeamStandTogether) {
  std::vector<Record> records;
  for (const std::size_t bytes : {1024, 2048}) {
    for (const int ranks : {4, 2}) records.push_back(collective("all_reduce", bytes, ranks, 1, 1e-5));
  }
  EXPECT_THAT(tables(records, {}), ContainsRegex("\n1024 .* 4 .*\n2048 .* 4 .*\n1024 .* 2 .*\n2048 .* 2 "));
}

TEST(CommunicationTables, SayWhatIsLeftOnTheWireWhereTheNetworkReduces) {
  Record record = collective("all_reduce", 8'000'000, 8, 1.75, 2e-3, "nccl");
  record.work = {{{{resource::nvlink, 14e6, 6e6}}}};
  record.placement = Placement{};
  record.placement->bound_by = "nvlink";
  record.placement->of_empirical = 1.4;
  EXPECT_THAT(tables({record}, {}), AllOf(HasSubstr("on the wire"), HasSubstr("140.0 %"), HasSubstr("80.0 %")));
}

double pair_seconds(int a, int b, std::size_t bytes) {
  return (a / 2 == b / 2 ? 1e-6 : 5e-6) + static_cast<double>(bytes) / 1e9;
}

TEST(CommunicationTables, TheMatrixHasBordersBetweenHosts) {
  const std::string text = tables(ping_pong(4, {8, 1'000'000}, pair_seconds), members({"a", "a", "b", "b"}));
  EXPECT_THAT(words_of(text, "0 a"), ElementsAre("0", "a", ".", "1.01", "|", "5.01", "5.01"));
  EXPECT_THAT(text, ContainsRegex("one way, 8 B, us +0 +1 +\\| +2 +3\n"));
  EXPECT_THAT(text, ContainsRegex("\n1 a .*\n\n2 b "));
  EXPECT_THAT(text, HasSubstr("one way, 1.00 MB, GB/s"));
  EXPECT_THAT(text, HasSubstr("within a host"));
  EXPECT_THAT(text, ContainsRegex("ranks, by the best pair between hosts +rank [0-3] \\([ab]\\) +4 +1.000 +1.000\n"));
  EXPECT_THAT(text, Not(HasSubstr("#wrong")));  // rounds that went well are in the matrix
}

TEST(CommunicationTables, OfManyRanksTheWorstPairs) {
  std::vector<std::string> hosts(17, "a");
  const auto records = ping_pong(17, {8}, [](int a, int b, std::size_t) { return (a == 3 && b == 9 ? 7 : 1) * 1e-6; });
  const std::string text = tables(records, members(hosts));
  EXPECT_THAT(text, ContainsRegex("the worst 10 of 136 pairs +us\nrank 3 \\(a\\) and rank 9 \\(a\\) +7.00\n"));
}

TEST(CommunicationTables, FitScalingAndOverlap) {
  std::vector<Record> records;
  for (const std::size_t bytes : {std::size_t{1024}, std::size_t{1'048'576}}) {
    for (const int ranks : {2, 4}) {
      const double seconds = 1e-5 + double(bytes) / (ranks == 2 ? 8e9 : 4e9);
      records.push_back(collective("all_reduce", bytes, ranks, 2.0 * (ranks - 1) / ranks, seconds));
      records.push_back(collective("all_gather", bytes, ranks, 1.0 * (ranks - 1) / ranks, seconds));
      records.back().message->count /= static_cast<std::size_t>(ranks);
    }
  }
  records.push_back(collective("all_reduce", 2'097'152, 4, 1.5, 1e-5 + 2'097'152 / 4e9));
  records.push_back(collective("all_gather", 2'097'152, 4, 0.75, 1e-5 + 2'097'152 / 4e9));
  records.back().message->count /= 4;
  for (const Record& record : overlap_records(10e-3, 4e-3, 11e-3)) records.push_back(record);
  const std::string text = tables(records, members({"a", "a", "a", "a"}));
  EXPECT_THAT(words_of(text, "all_reduce/fp32/ranks:4/"),
              ElementsAre("all_reduce/fp32/ranks:4/op:sum/place:out/impl:mpi", "10.0", "us", "4.00", "GB/s", "6.00", "GB/s",
                          "1.0000", "3"));
  EXPECT_THAT(text, ContainsRegex("all_reduce/fp32/op:sum/place:out/impl:mpi +1.05 MB +4 +- +77.8 % "));
  // The size of an all-reduce is that of each rank; as much a rank of an all-gather is another size.
  EXPECT_THAT(text, Not(ContainsRegex("all_reduce/fp32/op:sum/place:out/impl:mpi +2.10 MB +4 ")));
  EXPECT_THAT(text, ContainsRegex("all_gather/fp32/op:sum/place:out/impl:mpi +1.05 MB +4 +77.8 % +- "));
  EXPECT_THAT(text, ContainsRegex("all_gather/fp32/op:sum/place:out/impl:mpi +2.10 MB +4 +- +[0-9.]+ % "));
  EXPECT_THAT(text, Not(ContainsRegex("1.02 kB +4")));
  EXPECT_THAT(text, ContainsRegex("overlap/fp32/n:1 +75.0 % +0.0 % +100.0 % +10.0 % +10.0 ms +4.00 ms +11.0 ms\n"));
}

TEST(CommunicationTables, OneRankAloneHasNoBandwidthAndNoFit) {
  std::vector<Record> records;
  for (const std::size_t bytes : {1024, 2048, 4096}) records.push_back(passed(collective("all_reduce", bytes, 1, 0, 1e-8)));
  const std::string text = tables(records, members({"a"}));
  EXPECT_THAT(text, AllOf(HasSubstr("time"), HasSubstr("0.01"), Not(HasSubstr("bw")), Not(HasSubstr("latency"))));
}

TEST(CommunicationTables, AMatrixThatIsTooWideShowsTheWorstPairs) {
  const auto records = ping_pong(12, {8}, [](int, int, std::size_t) { return 1e-6; });
  const auto all = [&](int columns) {
    const std::vector<RankInfo> team = members(std::vector<std::string>(12, "a-host-with-a-name"));
    return communication_tables(records, analyze_communication(records, team), team, {false, false, columns});
  };
  EXPECT_THAT(all(120), Not(HasSubstr("the worst")));
  EXPECT_THAT(all(80), HasSubstr("the worst 10 of 66 pairs"));
}

TEST(CommunicationTables, NothingOfNothing) { EXPECT_EQ(tables({}, {}), ""); }

}  // namespace
}  // namespace roofmark
