// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "harness/judge/ranks/findings_of_ranks.hpp"
#include "harness/judge/ranks/missing_results.hpp"
#include "harness/measure/agreement.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

namespace {

/// What each device has of one case; null: nothing.
using Parts = std::vector<const Record*>;

/// The cases in the order of the first device that has them.
std::vector<Parts> parts_by_case(const std::vector<MeasuredDevice>& devices) {
  std::map<std::pair<CaseName, int>, std::size_t> places;
  std::vector<Parts> all;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (const Record& record : devices[i].run.records) {
      const auto [place, fresh] = places.try_emplace({record, record.pass}, all.size());
      if (fresh) all.emplace_back(devices.size());
      all[place->second][i] = &record;
    }
  }
  return all;
}

RankVerdict verdict_of(const MeasuredDevice& device, const Record* record) {
  if (record) return roofmark::verdict_of(*record);
  RankVerdict verdict;
  verdict.status = device.ended.empty() ? Status::unsupported : Status::not_run;
  verdict.reason = device.ended.empty() ? "this device does not have this case" : "the process ended: " + device.ended;
  return verdict;
}

std::vector<RankVerdict> verdicts_of(const std::vector<MeasuredDevice>& devices, const Parts& parts) {
  std::vector<RankVerdict> verdicts;
  for (std::size_t i = 0; i < parts.size(); ++i) verdicts.push_back(verdict_of(devices[i], parts[i]));
  return verdicts;
}

/// The index of the slowest ok record; absent where none is ok.
std::optional<std::size_t> slowest_of(const Parts& parts) {
  std::optional<std::size_t> slowest;
  const auto median = [&](std::size_t i) { return parts[i]->measurement->summary.median; };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] && parts[i]->status == Status::ok && (!slowest || median(i) > median(*slowest))) slowest = i;
  }
  return slowest;
}

std::vector<std::optional<RankTimes>> times_of(const Parts& parts) {
  std::vector<std::optional<RankTimes>> times(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i] || parts[i]->status != Status::ok) continue;
    times[i] = own_times(*parts[i], parts[i]->measurement->summary);
  }
  return times;
}

/// That of the majority, and whose bits differ from it.
std::optional<Fingerprint> fingerprint_of(const Parts& parts) {
  std::vector<std::optional<OutputBits>> bits(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i] || parts[i]->status != Status::ok || !parts[i]->fingerprint) continue;
    bits[i] = OutputBits{parts[i]->fingerprint->key, parts[i]->fingerprint->hash};
  }
  const std::vector<int> differing = differing_ranks(bits);
  std::optional<Fingerprint> found;
  bool agrees = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool differs = std::binary_search(differing.begin(), differing.end(), static_cast<int>(i));
    if (!bits[i] || (found && (agrees || differs))) continue;
    found = parts[i]->fingerprint;
    agrees = !differs;
  }
  if (found) found->differing_ranks = differing;
  return found;
}

Record merged(const std::vector<MeasuredDevice>& devices, const Parts& parts) {
  const std::vector<RankVerdict> verdicts = verdicts_of(devices, parts);
  const auto alike = [&](const RankVerdict& one) {
    return one.status == verdicts.front().status && one.reason == verdicts.front().reason;
  };
  const bool all_alike = std::all_of(verdicts.begin(), verdicts.end(), alike);
  const std::size_t worst = worst_of(verdicts);
  const auto slowest = slowest_of(parts);
  const bool ok = slowest && verdicts[worst].status != Status::wrong;
  const Record* stands = ok             ? parts[*slowest]
                         : parts[worst] ? parts[worst]
                                        : *std::find_if(parts.begin(), parts.end(), [](const Record* part) { return part; });
  Record record = *stands;
  for (std::size_t i = 0; i < verdicts.size() && !all_alike; ++i) record.rank_status.push_back(verdicts[i].status);
  if (ok) {
    if (parts.size() > 1) {
      record.measurement->ranks = times_of(parts);
      record.measurement->of_rank = devices[*slowest].rank.rank;
    }
    record.fingerprint = fingerprint_of(parts);
  } else if (!all_alike) {
    join_verdicts(record, verdicts, [&](int rank) { return devices[static_cast<std::size_t>(rank)].rank.device_id; });
    record.measurement.reset();
  }
  for (std::size_t i = 0; i < verdicts.size() && !all_alike; ++i) {
    if (verdicts[i].status == Status::ok) continue;
    record.notes.emplace_back(note_of_rank(devices[i].rank.rank), fmt::format("{} {}: {}", devices[i].rank.device_id,
                                                                              name(verdicts[i].status), verdicts[i].reason));
  }
  return record;
}

RunHeader merged_header(const std::vector<MeasuredDevice>& devices) {
  const auto first = std::find_if(devices.begin(), devices.end(), std::mem_fn(&MeasuredDevice::recorded));
  if (first == devices.end()) throw std::invalid_argument("no device recorded anything");
  RunHeader header;
  header.facts = first->run.header.facts;
  header.scope = first->run.header.scope;
  std::vector<Roofline> rooflines;
  std::vector<FindingsOfRank> findings;
  std::vector<std::vector<Circumstance>> health;
  for (const MeasuredDevice& device : devices) {
    header.ranks.push_back(device.rank);
    // One that recorded nothing differs from no other.
    health.push_back((device.recorded() ? device : *first).run.header.health);
    if (!device.recorded()) continue;
    rooflines.push_back(device.run.header.theoretical);
    findings.push_back({&device.rank, device.run.header.findings});
    header.timing_overhead_seconds = std::max(header.timing_overhead_seconds, device.run.header.timing_overhead_seconds);
    header.facts.started_utc = std::min(header.facts.started_utc, device.run.header.facts.started_utc);
  }
  header.theoretical = lowest(rooflines);
  header.findings = join_findings(findings);
  header.health = team_health(health);
  return header;
}

/// Absent where no device reached its end.
std::optional<RunFooter> merged_footer(const std::vector<MeasuredDevice>& devices) {
  std::optional<RunFooter> footer;
  bool complete = true, interrupted = false;
  std::optional<RunEnd> ended;
  std::string finished;
  std::vector<FindingsOfRank> findings;
  std::vector<CounterChange> counters;
  std::vector<std::optional<RankTelemetry>> telemetry;
  for (const MeasuredDevice& device : devices) {
    const std::optional<RunFooter>& own = device.run.footer;
    complete = complete && own && own->complete;
    if (!own || own->ended) {
      const RunEnd end = own ? *own->ended : RunEnd{"its process ended: " + device.ended, device.run.in_progress};
      if (!ended) ended = RunEnd{"", end.case_name};
      ended->reason += fmt::format("{}{}: {}", ended->reason.empty() ? "" : "; ", device.rank.device_id, end.reason);
    }
    telemetry.push_back(rank_telemetry(own ? own->telemetry : device.run.seen.telemetry, devices.size()));
    if (own && own->telemetry_summary && telemetry.back()) telemetry.back()->summary = *own->telemetry_summary;
    for (CounterChange counter : own ? own->counters : device.run.seen.counters) {
      counter.rank = device.rank.rank;
      counters.push_back(std::move(counter));
    }
    if (!own) continue;
    interrupted = interrupted || own->interrupted;
    finished = std::max(finished, own->finished_utc);
    findings.push_back({&device.rank, own->findings});
    if (!footer || own->total_seconds > footer->total_seconds) footer = own;
  }
  if (!footer) return footer;
  footer->finished_utc = finished;
  footer->complete = complete;
  footer->interrupted = interrupted;
  footer->ended = std::move(ended);
  footer->findings = join_findings(findings);
  footer->counters = std::move(counters);
  footer->rank_telemetry = std::move(telemetry);
  // The series belongs to the device of the header.
  const std::optional<RunFooter>& first =
      std::find_if(devices.begin(), devices.end(), std::mem_fn(&MeasuredDevice::recorded))->run.footer;
  footer->telemetry = first ? first->telemetry : TelemetrySeries();
  footer->telemetry_summary = first ? first->telemetry_summary : std::nullopt;
  return footer;
}

}  // namespace

Run merge(const std::vector<MeasuredDevice>& devices) {
  Run run;
  run.header = merged_header(devices);
  for (const Parts& parts : parts_by_case(devices)) run.records.push_back(merged(devices, parts));
  for (const MeasuredDevice& device : devices) {
    for (const Comparison& comparison : device.run.comparisons) {
      const auto same = [&](const Comparison& other) {
        return other.name == comparison.name && other.numerator == comparison.numerator &&
               other.denominator == comparison.denominator;
      };
      if (std::none_of(run.comparisons.begin(), run.comparisons.end(), same)) run.comparisons.push_back(comparison);
    }
  }
  run.footer = merged_footer(devices);
  return run;
}

}  // namespace roofmark
