// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Whatever a run holds, no line of its text is wider than the terminal.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "harness/present/cells.hpp"
#include "harness/present/run.hpp"
#include "harness/present/terminal_communication.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kHosts = {"node-with-a-long-name-0001", "node-with-a-long-name-0001",
                                         "node-with-a-long-name-0002", "node-with-a-long-name-0003"};

Record with_all(Record record) {
  Summary& summary = record.measurement->summary;
  summary.interval_low = 0.8 * summary.median;
  summary.interval_high = 1.25 * summary.median;
  summary.p95 = summary.p99 = 1.05 * summary.median;
  record.measurement->clock_hz = 1980e6;
  record.verification_before = Verification::within(0, 1, "");
  return record;
}

Record attention(int queries) {
  Record record =
      ok_record("attention", "x", {{{{resource::fp16_tensor_fp16, 5e9}, {resource::dram, 1e8 * queries}}}}, queries * 1e-6);
  set_name(record,
           fmt::format(
               "attention/bf16/batch:16/heads:128/kv_heads:8/queries:{}/keys:{}/d:128/mask:causal/impl:tiled_wgmma/cache:cold",
               queries, 131072 / queries));
  return with_all(std::move(record));
}

Record lasting() {
  Record record = ok_record("sustained", "gemm", {{{{resource::fp16_tensor, 1e12}}}}, 1e-3);
  set_name(record, "sustained/gemm/fp16/m:16384/n:16384/k:16384/impl:cublaslt/layout:tn/cache:cold");
  Sustained& rates = record.sustained.emplace();
  rates.burst_rate = rates.settled_rate = 800;
  rates.settled_of_burst = 0.8;
  rates.settled_after_seconds = 123;
  rates.dips = {123, 12345, 0.3, 100, 100};
  rates.burst_clock_hz = rates.settled_clock_hz = 1980e6;
  rates.burst_power_watts = rates.settled_power_watts = 700;
  rates.rate_per_clock_ratio = rates.explained_by_clock = 0.9;
  return with_all(std::move(record));
}

/// Every table of one device and of a team, and findings of many kinds.
roofmark::Run everything() {
  roofmark::Run run;
  run.header.facts.device.name = "NVIDIA H200 with a name that somebody made longer than any that is sold";
  run.header.facts.host.name = kHosts[0];
  run.header.facts.suite = "baseline";
  run.header.scope = {
      212, 31, {"--filter '^(attention|gemm)/bf16/.*impl:(tiled|naive)'", "0.05 s per case instead of 1 s"}, ""};
  run.header.scope.text = describe_scope(run.header.scope, "baseline", true);
  run.header.health = {
      {"persistence mode", "off", "the driver unloads between programs, which slows every start; nvidia-smi -pm 1 as root"},
      {"other processes", "1234567 python, 1234568 another-program-with-a-long-name",
       "they slow down every case: stop them, or wait", 3},
      {"power limit", "unknown", ""}};
  for (const Resource& resource : kResources) {
    Ceiling& ceiling = run.header.theoretical.at(resource);
    ceiling.theoretical = ceiling.datasheet = resource.unit == Unit::launch ? 450e3 : 66.9e12;
    ceiling.theoretical_source = "132 SMs x 1980 MHz x 1024 FLOPs per clock per SM at compute capability 9.0 (a source)";
  }
  for (const Resource& resource : kResources) {
    for (const int pass : {1, 2}) {
      Record probe = ok_record("ceilings", std::string(resource.id), {{{{resource, pass == 1 ? 1e12 : 0.5e12}}}}, 1e-2);
      if (resource.unit == Unit::launch) probe.work.phases.front().front().amount = 4500;
      probe.sets_ceiling = {resource};
      probe.pass = pass;
      run.records.push_back(with_all(probe));
    }
  }
  for (const int queries : {1024, 4096, 8192}) run.records.push_back(attention(queries));
  run.comparisons = {{"tiled against naive", "impl", run.records[run.records.size() - 1], run.records[run.records.size() - 2]},
                     {"tiled against naive", "impl", run.records[run.records.size() - 3], run.records[run.records.size() - 2]}};
  run.records.push_back(lasting());
  Record wrong = attention(2048);
  wrong.status = Status::wrong;
  wrong.measurement.reset();
  wrong.reason =
      "wrong result: element 123456789 of 987654321 is 1.25 and should be 1.5, error 3.5 in units of u x sum of |terms|";
  run.records.push_back(wrong);
  run.footer = RunFooter{"2026-01-02T03:04:05Z", true, false, {}, {1, 2, 3, 4, 5}, 4000, {}, {}};
  run.footer->findings = {{FindingKind::foreign_process,
                           "other programs used 1.02 cores on average, beside the 2 of this run "
                           "(counted on all 64 CPUs of the machine)",
                           "", 1.02, "other programs used 1.02 cores"}};
  return run;
}

roofmark::Run team_run(int ranks) {
  roofmark::Run run = everything();
  std::vector<std::string> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(kHosts[2 + std::size_t(rank) % 2]);  // as many on each
  run.header.ranks = members(hosts);
  for (RankInfo& member : run.header.ranks) {
    member.device_id = fmt::format("cuda:{}", member.rank);
    member.device_name = "NVIDIA H200 SXM 141GB HBM3e";
    member.uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
    for (int i = 0; i < 6; ++i) member.nics.push_back({fmt::format("mlx5_{}:1", i), "InfiniBand", 50e9, {}});
  }
  for (const char* family : {"all_reduce", "broadcast"}) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20, std::size_t{16} << 30}) {
      for (const int part : {2, ranks}) {
        for (const char* place : {"out", "in"}) {
          Record record =
              with_all(collective(family, bytes, part, 1.75, 1e-5 + double(bytes) / 240e9, "nccl", place,
                                  {{"buffer", part == 2 || family == std::string("all_reduce") ? "symmetric" : "registered"}}));
          record.work = {{{{resource::nvlink, double(bytes), double(bytes) / 3}}}};
          run.records.push_back(record);
        }
      }
    }
  }
  for (const Record& record : ping_pong(run.header.ranks, {8, 1'000'000}, [](int a, int b, std::size_t bytes) {
         return (b == 3 ? 10.0 + a : 1.0) * (1e-5 + double(bytes) / 1e9);
       })) {
    run.records.push_back(record);
  }
  for (const Record& record : overlap_records(10e-3, 4e-3, 11e-3)) run.records.push_back(with_all(record));
  return run;
}

class Width : public testing::TestWithParam<int> {
 protected:
  TerminalStyle style() const { return {false, false, GetParam()}; }
  void expect_fits(const std::string& text) const {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(width(line), std::size_t(GetParam())) << line;
  }
};

TEST_P(Width, OfARunOnADevice) {
  roofmark::Run run = everything();
  const Conclusions conclusions = conclude(run);
  const std::string text = run_text(run, conclusions, style());
  expect_fits(text);
  for (const char* part : {"A selection of the baseline suite", "health", "ceiling", "attention", "times faster",
                           "settled/burst", "FLOP per byte", "warning: drift", "\nwrong  attention", "bad:", "in all:"}) {
    EXPECT_THAT(text, HasSubstr(part)) << text;
  }
}

TEST_P(Width, OfATeam) {
  for (const int ranks : {4, 16, 24}) {
    roofmark::Run run = team_run(ranks);
    const Conclusions conclusions = conclude(run);
    const std::string text = run_text(run, conclusions, style());
    expect_fits(text);
    for (const char* part : {"all_reduce/fp32/impl:nccl", "busbw", "latency + bytes / rate", "scaling", "one way, 8 B",
                             "overlap", "slowest of", "slow: "}) {
      EXPECT_THAT(text, HasSubstr(part)) << text;
    }
    expect_fits(ranks_table(run.header.ranks, style()));
  }
}

TEST_P(Width, TheTextGoesFromTheScopeToTheVerdict) {
  roofmark::Run run = everything();
  const Conclusions conclusions = conclude(run);
  const std::string text = run_text(run, conclusions, style());
  std::size_t before = 0;
  for (const char* part : {"A selection of the baseline suite", " measured ", "\nattention  ", "\nceilings ", "times faster",
                           "FLOP per byte", "\nhealth", "\nwarning: drift", "\nwrong  ", "\nbad: ", " in all: "}) {
    const std::size_t at = text.find(part, before);
    EXPECT_NE(at, std::string::npos) << part << text;
    before = at;
  }
}

INSTANTIATE_TEST_SUITE_P(Terminals, Width, testing::Values(80, 100, 120), testing::PrintToStringParamName());

}  // namespace
}  // namespace roofmark
