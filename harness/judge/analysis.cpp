// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/judge/ranks/communication.hpp"
#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

constexpr double kDriftLimit = 0.02;
constexpr double kClockLimit = 0.05;

void raise_ceilings(Roofline& roofline, const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (record.status != Status::ok || !record.raises) continue;
    const double rate = record.work.total(*record.raises) / record.measurement->summary.median;
    Ceiling& ceiling = roofline.at(*record.raises);
    std::optional<double>& best = record.pass == 1 ? ceiling.first : ceiling.last;
    std::string& by = record.pass == 1 ? ceiling.first_by : ceiling.last_by;
    if (!best || rate > *best) {
      best = rate;
      by = record.name;
    }
  }
}

/// The clock is observed after the block. Where throttling began within it, its samples ran at the clock of before.
std::optional<double> highest_clock(const Block& block) {
  const bool throttled = !block.after.throttle_reasons.empty();
  return block.clock_hz && throttled ? std::max(block.clock_hz, block.before.sm_clock_hz) : block.clock_hz;
}

void place_records(const Roofline& roofline, std::vector<Record>& records) {
  for (Record& record : records) {
    if (record.status != Status::ok) continue;
    const Measurement& measurement = *record.measurement;
    std::optional<double> highest_clock_hz;
    for (const Block& block : measurement.blocks) highest_clock_hz = std::max(highest_clock_hz, highest_clock(block));
    Placement placement =
        place(record.work, roofline, measurement.summary.median, measurement.path, measurement.clock_hz, highest_clock_hz);
    if (placement.impossible.empty()) {
      record.placement = std::move(placement);
    } else {
      record.status = Status::wrong;
      record.reason = "impossible rate: " + placement.impossible;
      record.measurement.reset();
      record.placement.reset();
    }
  }
}

std::vector<ComparisonResult> compare(const std::vector<Record>& records, const std::vector<Comparison>& comparisons) {
  const auto find = [&](const std::string& name) -> const Record* {
    for (const Record& record : records) {
      if (record.name == name && record.status == Status::ok) return &record;
    }
    return nullptr;
  };
  std::vector<ComparisonResult> results;
  for (const Comparison& comparison : comparisons) {
    const Record* numerator = find(comparison.numerator);
    const Record* denominator = find(comparison.denominator);
    if (!numerator || !denominator) continue;
    const Ratio ratio = ratio_interval(numerator->measurement->samples, denominator->measurement->samples);
    results.push_back({comparison, ratio.ratio, ratio.low, ratio.high});
  }
  return results;
}

void find_drift(const Roofline& roofline, std::vector<Finding>& findings) {
  for (const Ceiling& ceiling : roofline.ceilings()) {
    const auto drift = ceiling.drift();
    if (drift && std::abs(*drift) > kDriftLimit) {
      findings.push_back({"drift",
                          fmt::format("the {} ceiling moved by {:+.1f} % between the start and the end of the run",
                                      ceiling.resource.title, 100 * *drift),
                          {}});
    }
  }
}

void find_in_record(const Record& record, const Roofline& roofline, std::vector<Finding>& findings) {
  const auto note = [&](std::string kind, std::string text) {
    findings.push_back({std::move(kind), std::move(text), record.name});
  };
  if (record.fingerprint && !record.fingerprint->deterministic) {
    note("nondeterministic", "three launches on the same data gave different bits, so there is no fingerprint");
  }
  if (!record.measurement) return;
  const Measurement& measurement = *record.measurement;
  if (!measurement.settled) note("unsettled", "two warm-up windows never agreed within 1 %");
  if (measurement.void_samples) {
    note("gate", fmt::format("{} samples are void: the gate had to open by itself", measurement.void_samples));
  }
  if (measurement.cache_by == "partly") {
    note("cache", fmt::format("only {} copies of the operands fit, less than 4 times the last-level cache: partly warm",
                              measurement.slots));
  }
  std::map<std::string, int> reasons;
  for (const Block& block : measurement.blocks) {
    std::vector<std::string> both = block.before.throttle_reasons;
    both.insert(both.end(), block.after.throttle_reasons.begin(), block.after.throttle_reasons.end());
    std::sort(both.begin(), both.end());
    both.erase(std::unique(both.begin(), both.end()), both.end());
    for (const std::string& reason : both) ++reasons[reason];
  }
  std::optional<double> peak_clock;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (ceiling.theoretical_clock_hz) peak_clock = std::max(peak_clock.value_or(0), *ceiling.theoretical_clock_hz);
  }
  const bool slow = peak_clock && measurement.clock_hz && *measurement.clock_hz < (1 - kClockLimit) * *peak_clock;
  const std::string fall = slow ? fmt::format("the clock fell by {:.0f} % to {:.0f} MHz",
                                              100 * (1 - *measurement.clock_hz / *peak_clock), *measurement.clock_hz / 1e6)
                                : std::string("the clock held");
  for (const auto& [reason, blocks] : reasons) {
    note("throttle", fmt::format("{} under: {} (in {} of {} blocks)", fall, reason, blocks, measurement.blocks.size()));
  }
  if (reasons.empty() && slow) note("clock", fall + ", and the driver names no reason");
  // A launch-bound case may beat the launch ceiling by its noise; only ceilings of the device are worth a word.
  if (!record.placement || !record.placement->of_empirical || record.raises) return;
  // Where the network itself reduces, what is left on the wire counts.
  const double share = switched_share(record).value_or(*record.placement->of_empirical);
  if (share > 1.02) {
    note("above_roof", fmt::format("reached {:.0f} % of the empirical {} roof: the probe missed the ceiling, or a cache helped",
                                   100 * share, find_resource(record.placement->bound_by).title));
  }
}

}  // namespace

Analysis analyze(Roofline theoretical, std::vector<Record>& records, const std::vector<Comparison>& comparisons) {
  Analysis analysis;
  analysis.roofline = std::move(theoretical);
  // A probe whose rate is impossible must not raise a roof, so the probes are judged on the theoretical ceilings first.
  place_records(analysis.roofline, records);
  raise_ceilings(analysis.roofline, records);
  place_records(analysis.roofline, records);
  analysis.comparisons = compare(records, comparisons);
  find_drift(analysis.roofline, analysis.findings);
  for (const Record& record : records) find_in_record(record, analysis.roofline, analysis.findings);
  return analysis;
}

int exit_status(const std::vector<Record>& records) {
  const auto any = [&](Status status) {
    return std::any_of(records.begin(), records.end(), [&](const Record& r) { return r.status == status; });
  };
  if (any(Status::wrong)) return 1;
  return any(Status::failed) || any(Status::not_run) ? 3 : 0;
}

}  // namespace roofmark
