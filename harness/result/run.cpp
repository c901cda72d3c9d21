// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/ranks/unused_nvlink.hpp"
#include "harness/model/exit_status.hpp"

namespace roofmark {

std::optional<RunEnd> Run::ended() const {
  if (footer) return footer->ended;
  return RunEnd{"no end is recorded: the run is still going, was killed, could not write, or the machine went down",
                in_progress};
}

std::vector<Finding> Conclusions::all_findings() const {
  std::vector<Finding> all = findings;
  all.insert(all.end(), communication.findings.begin(), communication.findings.end());
  return all;
}

namespace {

PowerLimits power_limits(const RunHeader& header) {
  const GpuFacts& gpu = header.facts.device.gpu;
  PowerLimits limits{{}, reaches_host_by_c2c(gpu)};
  for (const RankInfo& rank : header.ranks) limits.watts.push_back(rank.power_limit_watts);
  if (header.ranks.empty()) limits.watts.push_back(gpu.power_limit_watts);
  return limits;
}

}  // namespace

Conclusions conclude(Run& run) {
  Conclusions made;
  made.analysis = analyze(run.header.theoretical, run.records, run.comparisons, run.header.timing_overhead_seconds,
                          power_limits(run.header));
  made.findings = run.header.findings;
  const auto add = [&](const std::vector<Finding>& more) {
    made.findings.insert(made.findings.end(), more.begin(), more.end());
  };
  if (run.footer) {
    add(run.footer->findings);
    std::vector<CounterOwner> owners;
    for (const RankInfo& rank : run.header.ranks) {
      owners.push_back({fmt::format("{} of {}", rank.device_id, rank.host), rank.host});
    }
    // A run that was read from a result file has them among its header's.
    for (const Finding& finding : find_worse_counters(run.footer->counters, owners, run.footer->total_seconds)) {
      const auto same = [&](const Finding& other) { return other.kind == finding.kind && other.text == finding.text; };
      if (std::none_of(made.findings.begin(), made.findings.end(), same)) made.findings.push_back(finding);
    }
  }
  add(made.analysis.findings);
  add(find_unused_nvlink(run.records, run.header.ranks));
  made.transfers = transfers_of(run.records);
  add(made.transfers.findings);
  made.call_lines = call_lines(run.records, run.comparisons);
  made.ladders = ladders_of(run.records);
  made.sm_latencies = sm_latencies(run.records);
  made.loaded_latencies = loaded_latencies(run.records, made.analysis.roofline);
  if (!run.header.ranks.empty()) {
    made.communication = analyze_communication(run.records, run.header.ranks, made.analysis.roofline);
  }
  const std::string& slow = made.communication.slow.empty() ? made.transfers.slow : made.communication.slow;
  made.verdict = judge_run(run.header.scope, run.records, made.all_findings(), run.ended(), slow);
  return made;
}

int exit_status(const Run& run, const Conclusions& conclusions) {
  const int faults = reports_faults(conclusions.all_findings()) ? kWrong : kOk;
  const int lacks = conclusions.verdict.trust == Trust::bad ? kNotMeasured : kOk;
  return worse_exit(worse_exit(exit_status(run.records), faults), lacks);
}

}  // namespace roofmark
