// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/tables.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Tables, TablesShowOkRecordsAlone) {
  auto records = placed_records();
  const Analysis analysis = analyze({}, records, {});
  const std::string table = records_table(records, {});
  EXPECT_THAT(table, StartsWith("gemm  blas  fp32  n:1")) << "the probes of the ceilings are last";
  EXPECT_THAT(table, HasSubstr("50.0 TFLOP/s"));
  EXPECT_THAT(table, HasSubstr("50.0 %"));
  EXPECT_THAT(table, Not(HasSubstr("copy")));
  EXPECT_THAT(table, Not(HasSubstr("\033")));
  EXPECT_THAT(ceilings_table(analysis.roofline, {}), HasSubstr("1.00 TB/s"));
  // What is said to bind is found in the table of ceilings.
  EXPECT_THAT(table, HasSubstr("  bound by fp32_fma  FLOP/B 1000\n"));
  EXPECT_THAT(ceilings_table(analysis.roofline, {}), HasSubstr("fp32 FMA  fp32_fma  "));
}

TEST(Tables, ColourOnlyWhereItIsWanted) {
  auto records = placed_records();
  analyze({}, records, {});
  EXPECT_THAT(records_table(records, {true, true, 100}), HasSubstr("\033[1m"));
}

TEST(Tables, ADoubtfulCeilingIsMarked) {
  Roofline roofline;
  roofline.at(resource::dram).first = 1e12;
  roofline.at(resource::dram).theoretical = 0.9e12;
  EXPECT_THAT(ceilings_table(roofline, {}), Not(HasSubstr("?")));
  roofline.at(resource::dram).doubtful = true;
  EXPECT_THAT(ceilings_table(roofline, {}), AllOf(HasSubstr(" 900 GB/s ? "), HasSubstr("\n? doubtful: ")));
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

Record attention(const std::string& type, const std::string& queries, const std::string& mask, const std::string& impl) {
  Record record = ok_record("attention", "x", {{{{resource::fp16_tensor_fp16, 5e9}, {resource::dram, 1e8}}}}, 123.4e-6);
  set_name(record, fmt::format("attention/{}/batch:16/heads:128/kv_heads:8/queries:{}/keys:{}/d:128/mask:{}/impl:{}/cache:cold",
                               type, queries, queries, mask, impl));
  Summary& summary = record.measurement->summary;
  summary.interval_low = 0.99 * summary.median;
  summary.interval_high = 1.01 * summary.median;
  record.measurement->clock_hz = queries == "8192" ? 1980e6 : 1455e6;
  return record;
}

TEST(Tables, ADriftThatTheClockExplainsIsMarked) {
  Roofline roofline;
  Ceiling& ceiling = roofline.at(resource::bf16_tensor);
  ceiling.first = 8e14;
  ceiling.last = 7.2e14;
  EXPECT_THAT(ceilings_table(roofline, {}), AllOf(HasSubstr(" -10.0 %\n"), Not(HasSubstr("*"))));
  ceiling.first_clock_hz = 2e9;
  ceiling.last_clock_hz = 1.8e9;
  EXPECT_THAT(ceilings_table(roofline, {}), AllOf(HasSubstr(" -10.0 % *\n"), HasSubstr("\n* the SM clock explains ")));
  ceiling.last = 6.5e14;
  EXPECT_THAT(ceilings_table(roofline, {}), Not(HasSubstr("*"))) << "not enough of it: a finding says what is left";
  ceiling.last = 7.9e14;
  EXPECT_THAT(ceilings_table(roofline, {}), Not(HasSubstr("*"))) << "too little to explain";
}

TEST(Tables, WhatIsConstantOverATableStandsAboveIt) {
  std::vector<Record> records = {attention("bf16", "8192", "causal", "cudnn"), attention("bf16", "8192", "none", "cudnn")};
  const std::string table = records_table(records, {});
  EXPECT_THAT(table, StartsWith("attention  bf16  batch:16  heads:128  kv_heads:8  queries:8192  keys:8192  d:128  impl:cudnn  "
                                "cache:cold  clock 1980 MHz\n"
                                "mask    median  +- 95 %"));
  EXPECT_THAT(table, HasSubstr("\ncausal  123 us   1.00 %\n"));
  EXPECT_THAT(table, Not(HasSubstr("of roof"))) << "no record has one";
}

TEST(Tables, TablesWithOtherKeysAreTablesOfTheirOwn) {
  auto records = placed_records();
  set_name(records[1], "ceilings/fma/fp32");
  const std::string table = records_table(records, {});
  EXPECT_THAT(table, HasSubstr("\n\nceilings  dram_read  fp32  n:1"));
  EXPECT_THAT(table, HasSubstr("\n\nceilings  fma  fp32"));
}

TEST(Tables, ARowThatIsTooWideLosesItsColumnsOfLeastWorthAndSaysSo) {
  std::vector<Record> records;
  for (const char* type : {"fp16", "bf16"}) {
    for (const char* queries : {"1024", "8192"}) {
      for (const char* mask : {"causal", "none"}) {
        for (const char* impl : {"tiled_wgmma", "naive"}) records.push_back(attention(type, queries, mask, impl));
      }
    }
  }
  Roofline roofline;
  roofline.at(resource::fp16_tensor_fp16).first = roofline.at(resource::dram).first = 66.9e12;
  roofline.at(resource::fp16_tensor_fp16).theoretical = roofline.at(resource::dram).theoretical = 66.9e12;
  analyze(roofline, records, {});
  for (const int columns : {60, 80, 100, 120}) {
    const std::string all = records_table(records, {false, false, columns});
    EXPECT_LE(widest(all), std::size_t(columns)) << all;
    EXPECT_EQ(occurrences(all, "123 us"), records.size()) << all;
    EXPECT_EQ(occurrences(all, "causal"), records.size() / 2) << all;
    EXPECT_THAT(all, HasSubstr("of roof"));
  }
  EXPECT_THAT(records_table(records, {false, false, 80}), HasSubstr("not shown at this width, but in the file: "));
  EXPECT_THAT(records_table(records, {false, false, 200}), Not(HasSubstr("left out")));
}

TEST(Tables, TheShareOfTheRoofFollowsTheKeys) {
  std::vector<Record> records = placed_records();
  records.push_back(records[2]);
  set_name(records.back(), "gemm/blas/fp32/n:2");
  analyze({}, records, {});
  EXPECT_THAT(records_table(records, {}), HasSubstr("\nn  of roof   median"));
}

TEST(Tables, AnUncertainRowIsGrey) {
  std::vector<Record> records = {attention("bf16", "8192", "causal", "cudnn"), attention("bf16", "8192", "none", "cudnn")};
  Summary& summary = records[1].measurement->summary;
  summary.interval_low = 0.7 * summary.median;
  summary.interval_high = 1.3 * summary.median;
  const std::string table = records_table(records, {true, true, 120});
  EXPECT_THAT(table, HasSubstr("\033[90mnone "));
  EXPECT_THAT(table, Not(HasSubstr("\033[90mcausal")));
}

TEST(Tables, CallsThatTheHostTimedHaveTheirPercentilesInOneTable) {
  std::vector<Record> records = {ok_record("cost", "x", {}, 4.2e-6), attention("bf16", "8192", "none", "cudnn")};
  set_name(records[0], "cost/launch/int32/kernel:empty/until:finish/impl:cuda");
  records[0].measurement->timed = Timed::completion;
  records[0].measurement->summary.p95 = 5e-6;
  records[0].measurement->summary.maximum = 80e-6;
  EXPECT_EQ(calls_table(records, {}),
            "single calls, by the host's clock\n"
            "call                                  p50      p95  maximum  calls\n"
            "launch kernel:empty until:finish  4.20 us  5.00 us  80.0 us     20\n");
  EXPECT_THAT(records_table(records, {}), Not(HasSubstr("cost")));
  EXPECT_EQ(calls_table({records[1]}, {}), "");
  EXPECT_EQ(
      call_lines_table(
          {{parse_case_name("cost/graph_launch/int32/width:1/until:return/impl:cuda"), "nodes", 2e-6, 3e-8, 0.9987, 4}}, {}),
      "costs over a count: time = fixed + count x each\n"
      "call                               count    fixed     each      r2  points\n"
      "graph_launch width:1 until:return  nodes  2.00 us  30.0 ns  0.9987       4\n");
  const CallLine graph{
      parse_case_name("cost/launch_all/int32/by:graph/until:return/impl:cuda"), "kernels", 8e-6, 1e-6, 1, 6, 2.4,
      parse_case_name("cost/launch_all/int32/by:stream/until:return/impl:cuda")};
  EXPECT_THAT(call_lines_table({graph}, {}), HasSubstr("launch_all by:graph until:return: faster than launch_all "
                                                       "by:stream until:return from kernels:3 on\n"));
}

TEST(Tables, AComparisonSaysWhatItCompares) {
  const std::vector<ComparisonResult> results = {
      {{"tuned against default", "algo", parse_case_name("gemm/bf16/m:64/n:64/algo:tuned"),
        parse_case_name("gemm/bf16/m:64/n:64/algo:default")},
       1.5,
       1.4,
       1.6},
      {{"tuned against default", "algo", parse_case_name("gemm/bf16/m:128/n:64/algo:tuned"),
        parse_case_name("gemm/bf16/m:128/n:64/algo:default")},
       1.25,
       {},
       {}}};
  EXPECT_EQ(comparisons_table(results, {}),
            "algo tuned against default: gemm  bf16  n:64  algo:tuned\n"
            "m    times faster   95 % interval\n"
            "64          1.500  1.400 .. 1.600\n"
            "128         1.250               -\n");
}

TEST(Tables, DependentAccessesHaveTheirRateAndWhatOneTakes) {
  std::vector<Record> records = {ok_record("latency", "chase", {{{{resource::l2_access, 7e3}}}}, 1e-3)};
  records.front().measurement->clock_hz = 2e9;
  EXPECT_THAT(records_table(records, {}),
              testing::AllOf(HasSubstr("7.00 M accesses/s"), HasSubstr("per access"), HasSubstr("143 ns"), HasSubstr("285.7")));
  records = {ok_record("stream", "copy", {{{{resource::dram, 1e9}}}}, 1e-3)};
  EXPECT_THAT(records_table(records, {}), Not(HasSubstr("per access")));
}

TEST(Tables, WhatIsOnNoLevelOfALadderIsNamed) {
  const auto point = [](std::size_t bytes, double seconds, const char* resource) {
    return LadderPoint{{"", seconds, {}, resource}, bytes};
  };
  const LadderLevel inner{"l1_access", 1, 4096, 16384, 65536, 1e-9, {}, 2};
  const LadderLevel outer{"dram_access", 1, 1 << 24, 1 << 27, {}, 170e-9, {}, 2};
  EXPECT_THAT(
      ladders_table({{parse_case_name("latency/chase/int8/load:ca/impl:own"),
                      {point(4096, 1e-9, "l1_access"), point(16384, 1e-9, "l1_access"), point(65536, 4.4e-9, "l2_access"),
                       point(1 << 24, 170e-9, "l3_access"), point(1 << 27, 170e-9, "dram_access")},
                      {inner, outer}}},
                    {}),
      HasSubstr("chase load:ca: on no level: 65.5 kB (4.40 ns); no level found of l2_access, l3_access\n"));
}

TEST(Tables, LatenciesOverSmsHaveALinePerLevel) {
  const auto from_sm = [](int sm, double seconds) { return SmLatency{{"", seconds, {}, "l2_access"}, sm}; };
  const SmLatencies near_and_far{parse_case_name("latency/chase/int8/load:cg/impl:own"),
                                 {from_sm(4, 130e-9), from_sm(0, 140e-9), from_sm(1, 250e-9)},
                                 {{{0, 4}, 135e-9, 270}, {{1}, 250e-9, {}}}};
  EXPECT_EQ(sm_latencies_table({near_and_far}, {}),
            "dependent accesses from each SM to the same line: latency  chase  int8  load:cg  impl:own\n"
            "level  SMs  cycles  latency        fastest        slowest\n"
            "1        2   270.0   135 ns  130 ns (SM 4)  140 ns (SM 0)\n"
            "2        1       -   250 ns  250 ns (SM 1)  250 ns (SM 1)\n");
}

TEST(Tables, LatenciesBesideALoadHaveALinePerLoad) {
  const LoadedLatency idle{{"", 350e-9, 2e9, "dram_access"}, 0, 0.0};
  const LoadedLatency full{{"", 900e-9, {}, "dram_access"}, 4.1e12, 0.95};
  EXPECT_EQ(loaded_latencies_table(
                {{parse_case_name("latency/chase/int8/bytes:268435456/impl:own"), resource::dram, {idle, full}}}, {}),
            "dependent accesses under load on DRAM: latency  chase  int8  bytes:268435456  impl:own\n"
            "load       of roof  cycles  latency\n"
            "0 B/s        0.0 %   700.0   350 ns\n"
            "4.10 TB/s   95.0 %       -   900 ns\n");
}

TEST(Tables, ALadderHasALinePerLevel) {
  const LadderLevel cache{"l2_access", 1, 524288, 16777216, 33554432, 141e-9, 280.04, 6};
  const LadderLevel far{"l2_access", 2, 33554432, 47453132, 67108864, 252e-9, 500, 2};
  const LadderLevel memory{"dram_access", 1, 67108864, 536870912, {}, 345e-9, {}, 7};
  EXPECT_EQ(ladders_table({{parse_case_name("latency/chase/int8/load:ca/impl:own"), {}, {cache, far, memory}}}, {}),
            "ladder of dependent accesses: latency  chase  int8  load:ca  impl:own\n"
            "level                    capacity  cycles  latency               rate  sizes\n"
            "l2_access      16.8 MB to 33.6 MB   280.0   141 ns  7.09 M accesses/s      6\n"
            "l2_access (2)  47.5 MB to 67.1 MB   500.0   252 ns  3.97 M accesses/s      2\n"
            "dram_access                     -       -   345 ns  2.90 M accesses/s      7\n"
            "(2), (3): further steps within a level: a farther part of the cache, or memory beyond the reach of a TLB\n");
}

}  // namespace
}  // namespace roofmark
