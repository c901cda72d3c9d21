// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/call_lines.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Record call(int nodes, const char* width, double seconds, Timed timed = Timed::call) {
  Record record;
  record.family = "calls";
  record.operation = "replay";
  record.type = DataType::int32;
  record.shape = {{"nodes", std::to_string(nodes)}, {"width", width}, {"until", "return"}};
  record.status = Status::ok;
  record.measurement.emplace().summary.median = seconds;
  record.measurement->timed = timed;
  return record;
}

TEST(CallLines, HaveAFixedPartAndOnePerUnit) {
  std::vector<Record> records;
  for (const int nodes : {1, 10, 100, 1000}) records.push_back(call(nodes, "1", 2e-6 + 3e-8 * nodes));
  records.push_back(call(100, "32", 9e-6));  // two widths make no line
  const auto lines = call_lines(records, {});
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].series.name(), "calls/replay/int32/width:1/until:return");
  EXPECT_EQ(lines[0].key, "nodes");
  EXPECT_NEAR(lines[0].fixed_seconds, 2e-6, 1e-12);
  EXPECT_NEAR(lines[0].each_seconds, 3e-8, 1e-14);
  EXPECT_NEAR(lines[0].r2.value(), 1, 1e-9);
  EXPECT_EQ(lines[0].points, 4);
}

// Of one rank, or of ranks that share a GPU, they cross no link.
TEST(CallLines, AreNotOfCollectivesWithoutWork) {
  std::vector<Record> records;
  for (const int bytes : {8, 1024, 32768}) {
    records.push_back(call(bytes, "1", 1e-6 + 1e-9 * bytes, Timed::device));
    records.back().message = Message{};
  }
  EXPECT_THAT(call_lines(records, {}), IsEmpty());
  for (Record& record : records) record.message.reset();
  EXPECT_THAT(call_lines(records, {}), SizeIs(1));
}

TEST(CallLines, OfTwoThatAreComparedTheFlatterOneSaysFromWhichCountItIsFaster) {
  std::vector<Record> records;
  std::vector<Comparison> comparisons;
  const auto lines = [&](double fixed) {
    records.clear();
    comparisons.clear();
    for (const int nodes : {1, 10, 100}) {
      records.push_back(call(nodes, "1", fixed + 1e-6 * nodes));
      records.push_back(call(nodes, "2", 1e-6 + 3e-6 * nodes));
      comparisons.push_back({"width", "width", records[records.size() - 2], records.back()});
    }
    return call_lines(records, comparisons);
  };
  auto found = lines(9e-6);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_NEAR(found[0].faster_from.value(), 4, 1e-6);
  EXPECT_EQ(found[0].than, found[1].series);
  EXPECT_FALSE(found[1].faster_from);
  std::swap(comparisons[0].numerator, comparisons[0].denominator);
  comparisons.resize(1);
  found = call_lines(records, comparisons);
  EXPECT_NEAR(found[0].faster_from.value(), 4, 1e-6) << "whichever is named first";
  EXPECT_EQ(lines(0)[0].faster_from, 0);
  EXPECT_EQ(lines(1.4e-6)[0].faster_from, 1) << "below the least count: from that one on";
  EXPECT_FALSE(lines(300e-6)[0].faster_from) << "beyond the largest";
  lines(1e-6);
  for (std::size_t i = 0; i < records.size(); i += 2) {
    records[i].measurement->summary.median = 0.99 * records[i + 1].measurement->summary.median;
  }
  for (const CallLine& line : call_lines(records, comparisons)) EXPECT_FALSE(line.faster_from) << "1 % apart";
  lines(9e-6);
  records[2].measurement->summary.median = 1e-3;  // no straight line any more
  for (const CallLine& line : call_lines(records, comparisons)) EXPECT_FALSE(line.faster_from) << line.series.name();
  EXPECT_FALSE(call_lines(records, {})[0].faster_from);
}

TEST(CallLines, AreOfOkCallsThatTheHostTimed) {
  std::vector<Record> records;
  for (const int nodes : {1, 10, 100}) records.push_back(call(nodes, "1", 1e-6 * nodes, Timed::device));
  EXPECT_THAT(call_lines(records, {}), SizeIs(1)) << "no work, as barriers";
  for (Record& record : records) record.work = {{{{resource::dram, 1}}}};
  EXPECT_THAT(call_lines(records, {}), IsEmpty());
  records = {call(1, "1", 1e-6), call(10, "1", 1e-5), call(100, "1", 1e-4)};
  records[1].status = Status::failed;
  records[1].measurement.reset();
  EXPECT_THAT(call_lines(records, {}), IsEmpty());
}

}  // namespace
}  // namespace roofmark
