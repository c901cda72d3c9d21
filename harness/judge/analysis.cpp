// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/above_roof.hpp"
#include "harness/judge/changed_bits.hpp"
#include "harness/judge/contradictions.hpp"
#include "harness/judge/empirical_ceilings.hpp"
#include "harness/judge/findings_by_rank.hpp"
#include "harness/judge/link_rates.hpp"
#include "harness/judge/ranks/unused_nvlink.hpp"
#include "harness/judge/slow_clock.hpp"
#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

namespace {

/// Places every ok record. A rate above a theoretical ceiling is a finding and makes the ceiling doubtful: the result was
/// verified, so it is the count, the clock or the table that is wrong.
void place_records(std::vector<Record>& records, Roofline& roofline, std::vector<Finding>& findings) {
  for (Record& record : records) {
    if (record.status != Status::ok) continue;
    const Measurement& measurement = *record.measurement;
    const double seconds = measurement.summary.median;
    const auto clock_hz = measurement.slowest_clock_hz();
    // A copy is no kernel: the roof of their launches says nothing of it. Nor of what is no work, which may be many launches.
    const bool launches = measurement.timed == Timed::device && !record.work.phases.empty() && !record.transfer;
    const auto path = launches ? std::optional(measurement.path) : std::nullopt;
    record.placement = place(record.work, roofline, seconds, path, clock_hz);
    for (const Excess& excess : above_theoretical(record.work, roofline, seconds, clock_hz)) {
      Ceiling& ceiling = roofline.at(excess.resource);
      ceiling.doubtful = true;
      const Unit unit = excess.resource.unit;
      const bool boosted = excess.ceiling > ceiling.theoretical_at_most.value_or(*ceiling.theoretical);
      findings.push_back({FindingKind::above_theoretical,
                          fmt::format("{}: {} is {:.3g} times the theoretical ceiling of {} ({}{}): "
                                      "a count, a clock or a table is wrong",
                                      excess.resource.title, format_rate(excess.rate, unit), excess.rate / excess.ceiling,
                                      format_rate(excess.ceiling, unit), ceiling.theoretical_source,
                                      boosted ? ", at the observed " + format_clock(*clock_hz) : ""),
                          record.name(), excess.rate / excess.ceiling,
                          fmt::format("{} exceeds its theoretical ceiling {:.3g} times", excess.resource.title,
                                      excess.rate / excess.ceiling)});
    }
  }
}

/// Of several devices each record has the samples of its slowest one: the blocks of different devices are no pairs. Then the
/// ratio is that of the numerator's device.
Ratio ratio_of(const Measurement& numerator, const Measurement& denominator) {
  const auto of_device = [&](const Measurement& measurement) -> std::optional<double> {
    const auto rank = static_cast<std::size_t>(numerator.of_rank.value_or(0));
    if (rank >= measurement.ranks.size() || !measurement.ranks[rank]) return std::nullopt;
    return measurement.ranks[rank]->median;
  };
  const auto own = of_device(numerator), other = of_device(denominator);
  if (numerator.of_rank != denominator.of_rank && own && other) return {*other / *own, {}, {}};
  return ratio_interval(numerator.samples, denominator.samples);
}

std::vector<ComparisonResult> compare(const std::vector<Record>& records, const std::vector<Comparison>& comparisons) {
  const auto find = [&](const CaseName& name) -> const Record* {
    for (const Record& record : records) {
      if (same_case(record, name) && record.status == Status::ok) return &record;
    }
    return nullptr;
  };
  std::vector<ComparisonResult> results;
  for (const Comparison& comparison : comparisons) {
    const Record* numerator = find(comparison.numerator);
    const Record* denominator = find(comparison.denominator);
    if (!numerator || !denominator) continue;
    const Ratio ratio = ratio_of(*numerator->measurement, *denominator->measurement);
    const auto scaled = [&](std::optional<double> times) {
      return times ? std::optional(*times * comparison.work_ratio) : times;
    };
    results.push_back({comparison, ratio.ratio * comparison.work_ratio, scaled(ratio.low), scaled(ratio.high)});
  }
  return results;
}

void find_drift(const Roofline& roofline, std::vector<Finding>& findings) {
  for (const Ceiling& ceiling : roofline.ceilings()) {
    const auto drift = ceiling.drift(), unexplained = ceiling.unexplained_drift();
    if (!ceiling.moved()) continue;
    const bool partly = *unexplained != *drift;
    findings.push_back(
        {FindingKind::drift,
         fmt::format("{}: the ceiling moved by {:+.1f} % between the start and the end of the run{}", ceiling.resource.title,
                     100 * *drift, partly ? fmt::format("; its clock explains all but {:+.1f} %", 100 * *unexplained) : ""),
         {},
         std::abs(std::log1p(*unexplained)),
         fmt::format("{} drifted by {:.{}f} %{}", ceiling.resource.title, 100 * std::abs(*unexplained),
                     std::abs(*unexplained) < 0.0995 ? 1 : 0, partly ? " beyond its clock" : "")});
  }
}

/// The energy counter against the power readings, over a second or more.
void find_energy_mismatch(const Record& record, std::vector<Finding>& findings) {
  constexpr double kEnoughSeconds = 1, kTolerance = 0.05;
  const auto& telemetry = record.measurement->telemetry;
  if (!telemetry || !telemetry->energy_joules || !telemetry->integrated_joules || telemetry->seconds < kEnoughSeconds) return;
  const double ratio = *telemetry->energy_joules / *telemetry->integrated_joules;
  if (std::abs(ratio - 1) <= kTolerance) return;
  findings.push_back({FindingKind::energy,
                      fmt::format("the energy counter gives {:.1f} J, the power readings {:.1f} J, over {:.1f} s",
                                  *telemetry->energy_joules, *telemetry->integrated_joules, telemetry->seconds),
                      record.name(), std::abs(ratio - 1)});
}

/// "3 dips of the rate, 14 s in all; the deepest ..."
Finding finding_of(const Dips& dips) {
  const std::string deepest =
      fmt::format("to {} of that of the median second, {:.0f} s after the start, for {:.0f} s", format_share(dips.deepest),
                  std::floor(dips.deepest_after), std::ceil(dips.deepest_seconds));
  return {FindingKind::dips,
          dips.count == 1 ? "the rate dipped " + deepest
                          : fmt::format("{} dips of the rate, {:.0f} s in all; the deepest {}", dips.count,
                                        std::ceil(dips.seconds), deepest),
          {},
          1 - dips.deepest,
          fmt::format("the rate dipped to {}", format_share(dips.deepest))};
}

/// How far the rate fell under sustained load of one device.
std::vector<Finding> decays(const Sustained& rates) {
  constexpr double kDecay = 0.95, kExplained = 0.9;
  // A step of 15 MHz, 1 % of a low clock, for each of the two clocks, and 1 % for the rates.
  constexpr double kTolerance = 0.03;
  std::vector<Finding> found;
  const std::string_view clock = rates.clock == ClockDomain::memory ? "memory clock" : "clock";
  const std::string fall =
      fmt::format("{} {} of the rate in the first second",
                  rates.settled_after_seconds ? fmt::format("after {} s the rate is", std::ceil(*rates.settled_after_seconds))
                                              : "the rate never settled; in the last quarter it was",
                  format_share(rates.settled_of_burst));
  if (rates.settled_of_burst < kDecay) {
    const std::string explained = rates.explained_by_clock ? fmt::format("the lower {} explains {} of the drop", clock,
                                                                         format_share(*rates.explained_by_clock))
                                  : rates.clock == ClockDomain::none ? "no device clock limits it"
                                                                     : fmt::format("the {} was not read at both times", clock);
    // Of a small drop, what the clocks may be off is a large share.
    const bool per_clock_held = rates.rate_per_clock_ratio && std::abs(*rates.rate_per_clock_ratio - 1) <= kTolerance;
    const bool by_clock = rates.explained_by_clock.value_or(0) >= kExplained || per_clock_held;
    found.push_back(
        {by_clock ? FindingKind::decay_by_clock : FindingKind::decay,
         fmt::format("{}; {}", fall, explained),
         {},
         1 - rates.settled_of_burst,
         fmt::format("the sustained rate is {} of the rate in the first second", format_share(rates.settled_of_burst))});
  }
  if (const auto& ratio = rates.rate_per_clock_ratio; ratio && std::abs(*ratio - 1) > kTolerance) {
    found.push_back({FindingKind::rate_per_clock,
                     fmt::format("{}; the rate per {} is {} of that in the first second", fall, clock, format_share(*ratio)),
                     {},
                     std::abs(*ratio - 1),
                     fmt::format("the rate per {} {} to {}", clock, *ratio < 1 ? "fell" : "rose", format_share(*ratio))});
  }
  if (rates.dips && rates.dips->count > 0) found.push_back(finding_of(*rates.dips));
  return found;
}

void find_decay(const Record& record, std::vector<Finding>& findings) {
  FindingsByRank found(record);
  bool by_rank = false;
  const auto& ranks = record.measurement->ranks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank] || !ranks[rank]->sustained) continue;
    by_rank = true;
    for (const Finding& one : decays(*ranks[rank]->sustained)) found.add(static_cast<int>(rank), one);
  }
  if (!by_rank && record.sustained) {
    for (const Finding& one : decays(*record.sustained)) found.add({}, one);
  }
  found.move_to(findings);
}

/// What timing adds against a sample; of one that is the mean of several batches, against one of them. A slope over several
/// cases has no part in it: that of a ceiling, and that of what is no work (call_lines).
void find_overhead(const Record& record, double overhead_seconds, std::vector<Finding>& findings) {
  constexpr double kLimit = 0.01;
  if (record.work.phases.empty() || (record.sets_ceiling && record.sets_ceiling->by == SetsCeiling::By::slope)) return;
  const Measurement& measurement = *record.measurement;
  const double timed = measurement.summary.median * measurement.launches_per_sample / measurement.batches_per_sample;
  const double share = overhead_seconds / timed;
  if (!(share > kLimit)) return;
  findings.push_back({FindingKind::overhead,
                      fmt::format("a {0} takes {1}, timing overhead adds {2}: up to {3} of the {0}",
                                  measurement.batches_per_sample > 1 ? "batch" : "sample", format_seconds(timed),
                                  format_seconds(overhead_seconds), format_share(share)),
                      record.name(), share});
}

void find_in_record(const Record& record, const Roofline& roofline, std::optional<double> overhead_seconds,
                    const PowerLimits& power_limits, std::vector<Finding>& findings) {
  const auto note = [&](FindingKind kind, std::string text, double size = 0, std::string brief = {}) {
    findings.push_back({kind, std::move(text), record.name(), size, std::move(brief)});
  };
  if (record.fingerprint && !record.fingerprint->deterministic) {
    note(FindingKind::nondeterministic, "three launches on the same data gave different bits, so there is no fingerprint");
  }
  if (!record.measurement) return;
  const Measurement& measurement = *record.measurement;
  const bool by_host = measurement.timed != Timed::device;  // a scatter of single calls is the result
  if (!measurement.settled && !record.sustained && !by_host)
    note(FindingKind::unsettled, "no two warm-up windows agreed within 1 %");
  if (measurement.void_samples) {
    note(FindingKind::gate, fmt::format("{} samples are void: the launch gate timed out", measurement.void_samples),
         measurement.void_samples, fmt::format("{} samples of a case are void", measurement.void_samples));
  }
  if (measurement.cache_by == "partly") {
    note(FindingKind::cache,
         fmt::format("{} copies of the operands are less than 4 times the last-level cache: partly warm", measurement.slots));
  }
  if (overhead_seconds && !by_host) find_overhead(record, *overhead_seconds, findings);
  find_slow_clock(record, roofline, findings);
  find_held_power(record, power_limits, findings);
  find_energy_mismatch(record, findings);
  find_decay(record, findings);
}

bool crosses_host_link(const Record& record) {
  return record.measurement &&
         (record.work.total(resource::host_to_device) > 0 || record.work.total(resource::device_to_host) > 0);
}

/// An idle link rests at a lower speed, so the best state under any transfer counts: before a block, transfers already run. A
/// host link above what PCIe carries is another one (NVLink-C2C), beside which PCIe idles.
void find_link_training(const std::vector<Record>& records, const Roofline& roofline, std::vector<Finding>& findings) {
  constexpr double kSame = 0.99;
  const Record* best = nullptr;
  double trained = 0, most = 0;
  for (const Record& record : records) {
    if (!crosses_host_link(record)) continue;
    for (const Block& block : record.measurement->blocks) {
      if (!block.before.pcie_bytes_per_second || !block.before.pcie_bytes_per_second_at_most) continue;
      most = std::max(most, *block.before.pcie_bytes_per_second_at_most);
      if (*block.before.pcie_bytes_per_second <= trained) continue;
      trained = *block.before.pcie_bytes_per_second;
      best = &record;
    }
  }
  if (!best || trained >= kSame * most) return;
  const Ceiling* const link = roofline.find(resource::host_to_device);
  if (link && link->theoretical && *link->theoretical * kSame > most) return;
  findings.push_back(
      {FindingKind::link_training,
       fmt::format("under load the PCIe link runs at {} in each direction, {} of the {} that both ends support",
                   format_rate(trained, Unit::byte), format_share(trained / most), format_rate(most, Unit::byte)),
       best->name(), 1 - trained / most, fmt::format("the PCIe link runs at {} of its rate", format_share(trained / most))});
}

/// The readings of these records that findings rest on.
FoundBy readings_of(const std::vector<Record>& records, const PowerLimits& power_limits) {
  auto read = FoundBy::nothing;
  const auto see = [&](const Sustained& rates) {
    read |= FoundBy::sustained;
    if (rates.rate_per_clock_ratio) read |= FoundBy::sustained_clock;
    if (rates.dips) read |= FoundBy::dips;
  };
  for (const Record& record : records) {
    if (record.sustained) see(*record.sustained);
    if (!record.measurement) continue;
    const Measurement& measurement = *record.measurement;
    for (const auto& rank : measurement.ranks) {
      if (rank && rank->sustained) see(*rank->sustained);
      if (rank && rank->throttled_share) read |= FoundBy::throttling;
    }
    if (measurement.clock_hz) read |= FoundBy::clock;
    if (shows_held_power(record, power_limits)) read |= FoundBy::power;
    if (const auto& telemetry = measurement.telemetry) {
      if (telemetry->throttled_share) read |= FoundBy::throttling;
      if (telemetry->energy_joules && telemetry->integrated_joules) read |= FoundBy::energy;
    }
    if (crosses_host_link(record) && std::any_of(measurement.blocks.begin(), measurement.blocks.end(), [](const Block& block) {
          return block.before.pcie_bytes_per_second && block.before.pcie_bytes_per_second_at_most;
        })) {
      read |= FoundBy::host_link;
    }
  }
  return read;
}

/// Without a reading that a finding rests on, its absence says nothing.
std::set<FindingKind> without_evidence(const std::vector<Record>& records, const PowerLimits& power_limits) {
  const FoundBy read = readings_of(records, power_limits);
  std::set<FindingKind> unseen;
  for (const FindingType& type : kFindingTypes) {
    if (type.is_found_by(kReadings) && !type.is_found_by(read)) unseen.insert(type.kind);
  }
  return unseen;
}

}  // namespace

Analysis analyze(Roofline theoretical, std::vector<Record>& records, const std::vector<Comparison>& comparisons,
                 std::optional<double> timing_overhead_seconds, const PowerLimits& power_limits) {
  Analysis analysis;
  analysis.roofline = std::move(theoretical);
  set_ceilings(analysis.roofline, records);
  place_records(records, analysis.roofline, analysis.findings);
  analysis.comparisons = compare(records, comparisons);
  find_drift(analysis.roofline, analysis.findings);
  find_contradictions(analysis.roofline, analysis.findings);
  find_link_training(records, analysis.roofline, analysis.findings);
  for (Finding& finding : find_above_roof(records, analysis.roofline)) analysis.findings.push_back(std::move(finding));
  for (Finding& finding : find_slow_links(analysis.roofline, records)) analysis.findings.push_back(std::move(finding));
  for (Finding& finding : find_changed_bits(records)) analysis.findings.push_back(std::move(finding));
  analysis.unseen = without_evidence(records, power_limits);
  if (judged_links(analysis.roofline, records).empty()) analysis.unseen.insert(FindingKind::link_rate);
  if (!tells_nvlink(records)) analysis.unseen.insert(FindingKind::nvlink_unused);
  for (const Record& record : records) {
    find_in_record(record, analysis.roofline, timing_overhead_seconds, power_limits, analysis.findings);
  }
  return analysis;
}

int exit_status(const std::vector<Record>& records) {
  int status = repeated_bits(records).changed.empty() ? kOk : kWrong;
  for (const Record& record : records) {
    const bool differs = record.status == Status::ok && record.fingerprint && !record.fingerprint->differing_ranks.empty();
    status = worse_exit(status, differs ? kWrong : type_of(record.status).exit_status);
  }
  return status;
}

}  // namespace roofmark
