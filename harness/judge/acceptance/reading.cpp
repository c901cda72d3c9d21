// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one function per quantity of a rule.
#include "harness/judge/acceptance/reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/judge/ranks/missing_results.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

namespace {

/// The roofline whose theoretical ceilings are the vendor's figures.
Roofline by_datasheet(const Roofline& roofline) {
  Roofline sheet;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (ceiling.datasheet) sheet.at(ceiling.resource).theoretical = ceiling.datasheet;
  }
  return sheet;
}

/// Several ranks worked together: the time belongs to no single rank.
bool is_joint(const Record& record) { return record.message && record.message->ranks > 1; }

/// Of a device, or of any where none is given.
bool lacks_result_of(const Record& record, std::optional<std::size_t> device) {
  if (device) return lacks_result(record, *device);
  for (std::size_t rank = 0; record.measurement && rank < record.measurement->ranks.size(); ++rank) {
    if (lacks_result(record, rank)) return true;
  }
  return false;
}

/// Of one device where `device` is given. One rank's fault is not the other ranks', unless they had to work together.
Status status_on(const Record& record, std::optional<std::size_t> device) {
  if (device && *device < record.rank_status.size() && !is_joint(record)) {
    const Status own = record.rank_status[*device];
    if (own != Status::unsupported || record.status != Status::ok) return own;
  }
  // What a rank has no result of was not run there, whatever the reason.
  return lacks_result_of(record, device) ? Status::not_run : record.status;
}

/// What one device's own time makes of a value that stands for the slowest: that time / the device's. 1 where it measured
/// alone.
std::optional<double> faster_than_slowest(const Record& record, std::size_t device) {
  const auto& ranks = record.measurement->ranks;
  if (ranks.empty()) return 1.0;
  if (device >= ranks.size() || !ranks[device]) return std::nullopt;
  return record.measurement->summary.median / ranks[device]->median;
}

std::optional<double> share_of(const Record& record, Quantity quantity, const Roofline& roofline) {
  switch (quantity) {
    case Quantity::of_theoretical_clock:
      return record.placement->of_theoretical_clock;
    case Quantity::of_theoretical:
      return record.placement->of_theoretical;
    case Quantity::of_empirical:
      return record.placement->of_empirical;
    default: {
      const Measurement& measured = *record.measurement;
      return place(record.work, by_datasheet(roofline), measured.summary.median, measured.path, {}).of_theoretical;
    }
  }
}

/// The ceiling that a share is of, where one resource binds.
std::optional<double> ceiling_of(const Ceiling& ceiling, Quantity quantity) {
  if (quantity == Quantity::of_empirical) return ceiling.empirical();
  return quantity == Quantity::of_datasheet ? ceiling.datasheet : ceiling.theoretical;
}

const Ceiling* doubtful(const Work& work, const Roofline& roofline) {
  for (const Phase& phase : work.phases) {
    for (const Demand& demand : phase) {
      const Ceiling* ceiling = roofline.find(demand.resource);
      if (ceiling && ceiling->doubtful) return ceiling;
    }
  }
  return nullptr;
}

/// Sets the value, and an interval from the 95 % interval of the time (Summary, RankTimes), of a quantity that is `at_median`
/// at the median time and falls as the time rises, or rises with it.
template <class Times>
void set_by_time(RuleReading& reading, const Times& times, double at_median, bool falls) {
  reading.value = at_median;
  reading.low = reading.high = std::nullopt;
  reading.lacks_interval = !times.interval_low || !times.interval_high;
  if (reading.lacks_interval) return;
  const auto at = [&](double seconds) { return at_median * (falls ? times.median / seconds : seconds / times.median); };
  reading.low = at(falls ? *times.interval_high : *times.interval_low);
  // In older files, with widely spread blocks, the interval of the time reaches 0: a rate then has no upper end.
  if (!falls || *times.interval_low > 0) reading.high = at(falls ? *times.interval_low : *times.interval_high);
}

/// Sets a share of the theoretical roof at the observed clock.
void set_at_clock(RuleReading& reading, std::optional<double> share) {
  constexpr double kTolerance = 1.02;
  reading.value.reset();
  if (!share) {
    reading.why_not = "a ceiling, or the clock during the case, is unknown";
  } else if (*share > kTolerance) {
    reading.why_not = fmt::format("{} of the roof at the observed clock: the clock is doubtful", format_share(*share));
  } else {
    reading.value = share;
  }
}

/// The ceiling of the resource that binds.
const Ceiling* bound_of(const Record& record, const Roofline& roofline) {
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (ceiling.resource.id == record.placement->bound_by) return &ceiling;
  }
  return nullptr;
}

/// Adds the independent uncertainty of a measured roof that a share is of. Both are factors, so their logarithms add as
/// squares: a share stays above 0 however widely the blocks of a busy machine spread.
void widen_by_roof(RuleReading& reading, const Record& record, Quantity quantity, const Roofline& roofline) {
  const Ceiling* bound = bound_of(record, roofline);
  if (!bound || quantity != Quantity::of_empirical) return;
  const double half_width = bound->empirical_half_width().value_or(0);
  const auto end = [&](double rate) { return std::hypot(std::log(rate / *reading.value), half_width); };
  if (reading.low) *reading.low = *reading.value * std::exp(-end(*reading.low));
  if (reading.high) *reading.high = *reading.value * std::exp(end(*reading.high));
}

/// What a share that was reached in this time is of.
std::string base_of(const Record& record, Quantity quantity, const Roofline& roofline, double seconds, double share) {
  const Ceiling* bound = bound_of(record, roofline);
  const auto rate = bound ? ceiling_of(*bound, quantity) : std::nullopt;
  if (!rate) return "";
  const bool at_clock = quantity == Quantity::of_theoretical_clock && bound->resource.clock == ClockDomain::sm;
  // Of work in several phases the share is that of their sum.
  const double own = record.work.total(bound->resource) / seconds / share;
  return fmt::format("{} ({}{})", format_rate(at_clock ? own : *rate, bound->resource.unit), bound->resource.title,
                     at_clock ? ", at the observed clock" : "");
}

void read_share(RuleReading& reading, const Record& record, Quantity quantity, const Roofline& roofline) {
  const auto share = share_of(record, quantity, roofline);
  if (!share) {
    if (quantity == Quantity::of_theoretical_clock) return set_at_clock(reading, share);
    reading.why_not = "a ceiling that it needs is unknown";
    return;
  }
  if (const Ceiling* ceiling = doubtful(record.work, roofline); ceiling && quantity != Quantity::of_empirical) {
    reading.why_not =
        fmt::format("the theoretical ceiling of {} is doubtful: a verified result exceeds it", ceiling->resource.title);
    return;
  }
  if (quantity == Quantity::of_theoretical_clock) {
    set_at_clock(reading, share);
    if (!reading.value) return;
  }
  set_by_time(reading, record.measurement->summary, *share, true);
  widen_by_roof(reading, record, quantity, roofline);
  reading.base = base_of(record, quantity, roofline, record.measurement->summary.median, *share);
}

void read_rate(RuleReading& reading, const Record& record) {
  const Resource* bound = nullptr;
  for (const Phase& phase : record.work.phases) {
    for (const Demand& demand : phase) {
      if (!bound || demand.resource.id == record.placement->bound_by) bound = &demand.resource;
    }
  }
  if (!bound) {
    reading.why_not = "its work counts on no resource";
    return;
  }
  reading.unit = bound->unit;
  const Summary& summary = record.measurement->summary;
  set_by_time(reading, summary, record.work.total(*bound) / summary.median, true);
}

void read_busbw(RuleReading& reading, const Record& record) {
  const auto bandwidth = bus_bandwidth(record);
  if (bandwidth && bandwidth->busbw) return set_by_time(reading, record.measurement->summary, *bandwidth->busbw, true);
  reading.why_not = record.message ? "between fewer than two ranks nothing crosses a link" : "it is not a collective";
}

/// How many ranks, and records of other runs, have other bits is the judge's to count; here are this run's own.
double differing(const Record& record, std::optional<std::size_t> device) {
  const auto& ranks = record.fingerprint->differing_ranks;
  if (!device) return static_cast<double>(ranks.size());
  return static_cast<double>(std::count(ranks.begin(), ranks.end(), static_cast<int>(*device)));
}

/// Each rank of a team has its own.
void read_settled(RuleReading& reading, const Record& record, std::optional<std::size_t> device) {
  const auto& ranks = record.measurement->ranks;
  if (device && !ranks.empty()) {
    if (const auto& own = ranks.at(*device); own && own->sustained) reading.value = own->sustained->settled_of_burst;
  } else if (record.sustained) {
    reading.value = record.sustained->settled_of_burst;
  }
  if (!reading.value) reading.why_not = "it is not a sustained case";
}

/// Profiles name a reason with underscores.
void read_share_of_time(RuleReading& reading, const Measurement& measured, std::string reason,
                        std::optional<std::size_t> device) {
  std::replace(reason.begin(), reason.end(), '_', ' ');
  std::optional<std::map<std::string, double>> shares;
  if (device && !measured.ranks.empty()) {
    if (const auto& own = measured.ranks.at(*device)) shares = own->throttled_share;
  } else if (measured.telemetry) {
    shares = measured.telemetry->throttled_share;
  }
  if (shares) {
    reading.value = shares->contains(reason) ? shares->at(reason) : 0;
  } else {
    reading.why_not = "the device reports no throttle reasons";
  }
}

/// What a device's telemetry (TelemetrySummary, RankTimes) has of a quantity.
template <class Of>
std::optional<double> state_in(const Of& telemetry, Quantity quantity) {
  switch (quantity) {
    case Quantity::temperature:
      return telemetry.temperature_celsius;
    case Quantity::memory_temperature:
      return telemetry.memory_temperature_celsius;
    case Quantity::slowdown_margin:
      return telemetry.slowdown_margin_celsius;
    case Quantity::power:
      return telemetry.power_watts;
    default:
      return telemetry.sm_clock_hz ? std::optional(*telemetry.sm_clock_hz / 1e6) : std::nullopt;
  }
}

/// Of one device, or of several the value that meets the limit least.
void read_state(RuleReading& reading, const Rule& rule, const Measurement& measured, std::optional<std::size_t> device) {
  const auto& of_record = measured.telemetry;
  if (rule.quantity == Quantity::power && of_record && !of_record->tells_power()) {
    reading.why_not = "the case is shorter than a second and has no energy counter: its power is unknown";
    return;
  }
  const std::string none = "the result does not tell it: the device does not report it, or the file is an older one";
  const auto add = [&](std::optional<double> value) {
    if (!value) {
      reading.lost = none;
      return;
    }
    const double known = reading.value.value_or(*value);
    reading.value = rule.least ? std::min(known, *value) : std::max(known, *value);
  };
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
    const auto& own = measured.ranks[rank];
    if (!own || (device && rank != *device)) continue;
    const bool is_of_record = of_record && static_cast<int>(rank) == measured.of_rank.value_or(0);
    auto value = state_in(*own, rule.quantity);
    if (!value && is_of_record) value = state_in(*of_record, rule.quantity);
    add(value);
  }
  if (measured.ranks.empty()) add(of_record ? state_in(*of_record, rule.quantity) : std::nullopt);
  if (!reading.value) reading.why_not = std::exchange(reading.lost, {});
}

RuleReading read_record(const Rule& rule, const Record& record, const Roofline& roofline, std::optional<std::size_t> device) {
  RuleReading reading;
  reading.of = record.name();
  reading.record = &record;
  if (record.status != Status::ok) {
    reading.wrong = status_on(record, device) == Status::wrong;
    reading.why_not = record.reason;
    return reading;
  }
  if (device && lacks_result(record, *device)) {
    reading.why_not = "this rank has no result";
    return reading;
  }
  const Measurement& measured = *record.measurement;
  const Summary& summary = measured.summary;
  switch (rule.quantity) {
    case Quantity::rate:
      read_rate(reading, record);
      break;
    case Quantity::busbw:
      read_busbw(reading, record);
      break;
    case Quantity::seconds:
      set_by_time(reading, summary, summary.median, false);
      break;
    case Quantity::cv:
      reading.value = summary.cv;
      if (!summary.cv) reading.why_not = "too few samples";
      return reading;
    case Quantity::settled_of_burst:
      read_settled(reading, record, device);
      return reading;
    case Quantity::share_of_time:
      read_share_of_time(reading, measured, rule.argument, device);
      return reading;
    case Quantity::temperature:
    case Quantity::memory_temperature:
    case Quantity::slowdown_margin:
    case Quantity::power:
    case Quantity::clock:
      read_state(reading, rule, measured, device);
      return reading;
    case Quantity::differing_bits:
      reading.value = differing(record, device);
      return reading;
    default:
      read_share(reading, record, rule.quantity, roofline);
  }
  if (!device || !reading.value) return reading;
  const auto factor = faster_than_slowest(record, *device);
  if (!factor) {
    reading.value.reset();
    reading.why_not = "this rank did not take part";
  } else if (!measured.ranks.empty()) {
    // The record's interval is the slowest rank's.
    const RankTimes& own = *measured.ranks[*device];
    const bool is_time = rule.quantity == Quantity::seconds;
    set_by_time(reading, own, is_time ? *reading.value / *factor : *reading.value * *factor, !is_time);
    widen_by_roof(reading, record, rule.quantity, roofline);
    // Before ranks had intervals of their own, a file had the record's alone.
    const auto has_interval = [](const std::optional<RankTimes>& rank) { return rank && rank->interval_low; };
    const bool is_of_before = summary.interval_low && std::none_of(measured.ranks.begin(), measured.ranks.end(), has_interval);
    if (rule.quantity == Quantity::of_theoretical_clock) {
      set_at_clock(reading, place(record.work, roofline, own.median, measured.path, own.clock_hz).of_theoretical_clock);
      if (reading.value) {
        set_by_time(reading, own, *reading.value, true);
        reading.base = base_of(record, rule.quantity, roofline, own.median, *reading.value);
      }
    }
    if (is_of_before) reading.lacks_interval = false;
  }
  return reading;
}

/// Whether a device's telemetry ended before its run did; any device's where none is given.
bool lost_telemetry(const Evidence& evidence, std::optional<std::size_t> device) {
  return std::any_of(evidence.findings.begin(), evidence.findings.end(), [&](const Finding& finding) {
    return finding.kind == FindingKind::telemetry_lost && (!device || is_about(finding, *device));
  });
}

/// Telemetry that ended before it gave the first value tells nothing of what a device has.
bool never_counted(const Evidence& evidence, std::optional<std::size_t> device) {
  const auto is_its = [&](const CounterChange& change) {
    const CounterType* const type = find_counter(change.id);
    return (!device || change.rank == static_cast<int>(*device)) && !(type && type->of == CounterOf::host);
  };
  return lost_telemetry(evidence, device) && std::none_of(evidence.counters.begin(), evidence.counters.end(), is_its);
}
constexpr const char* kNeverCounted = "the device's telemetry was given up before it gave any counter";

/// Of one device, or of all: the sum of what got worse, or the worst state.
void read_counter(RuleReading& reading, const Rule& rule, const Evidence& evidence, std::optional<std::size_t> device) {
  const CounterType* const type = find_counter(rule.argument);
  const bool is_state = rule.quantity == Quantity::state, falls = type && type->is_worse_lower();
  const bool is_of_device = !type || type->of == CounterOf::device;
  std::map<std::string, double> of_owners;  // each rank of a host reads all that its counter counts
  for (const CounterChange& change : evidence.counters) {
    if (change.id != rule.argument || (device && change.rank != static_cast<int>(*device))) continue;
    if (!change.before || !change.after) {
      reading.lost = fmt::format("it could not be read {} the run", change.before ? "after" : "before");
    } else if (!is_state && !change.worse()) {
      reading.lost = "it was reset during the run";
    }
    const auto value = is_state ? change.worst() : change.worse();
    if (!value) continue;
    if (is_state) {
      const double known = reading.value.value_or(*value);
      reading.value = falls ? std::min(known, *value) : std::max(known, *value);
      continue;
    }
    const auto rank = static_cast<std::size_t>(change.rank);
    const bool has_host = !is_of_device && rank < evidence.devices.size();
    double& of_owner = of_owners[has_host ? evidence.devices[rank].node : fmt::format("rank {}", rank)];
    of_owner = std::max(of_owner, *value);
  }
  for (const auto& [owner, value] : of_owners) reading.value = reading.value.value_or(0) + value;
  if (is_of_device && never_counted(evidence, device)) reading.lost = kNeverCounted;
  if (!reading.value) reading.why_not = reading.lost.empty() ? "the device does not count it" : reading.lost;
}

/// How the run lost sight of what shows a kind of finding on a device, or on any where none is given; else empty.
std::string lost_sight(const Evidence& evidence, FindingKind kind, std::optional<std::size_t> device) {
  if (type_of(kind).is_found_by(kByTelemetry) && lost_telemetry(evidence, device))
    return "the device's telemetry ended during the run";
  const bool is_counted = type_of(kind).is_found_by(FoundBy::counters) && !is_of_host(kind);
  if (is_counted && never_counted(evidence, device)) return kNeverCounted;
  for (const CounterChange& change : evidence.counters) {
    const CounterType* const type = find_counter(change.id);
    const bool is_its = !device || change.rank == static_cast<int>(*device);
    if (type && type->finding == kind && is_its && !change.worse())
      return fmt::format("{} could not be read throughout the run", type->title);
  }
  return {};
}

/// Whether the run had no means to look for a kind of finding on a device, or on any where none is given.
bool is_unseen(const Evidence& evidence, FindingKind kind, std::optional<std::size_t> device) {
  if (evidence.unseen.contains(kind)) return true;
  if (device) return evidence.devices.at(*device).unseen.contains(kind);
  return std::any_of(evidence.devices.begin(), evidence.devices.end(),
                     [&](const DeliveredDevice& one) { return one.unseen.contains(kind); });
}

RuleReading read_run(const Rule& rule, const Evidence& evidence, std::optional<std::size_t> device) {
  RuleReading reading;
  std::vector<std::string> counted;
  switch (rule.quantity) {
    case Quantity::results:
      for (const Record& record : evidence.records) {
        if (status_on(record, device) == find_status(rule.argument)->status) counted.push_back(record.name());
      }
      break;
    case Quantity::runs:
      if (name(evidence.verdict.trust) == rule.argument) counted.push_back(evidence.verdict.headline);
      break;
    case Quantity::finding:
      for (const Finding& finding : evidence.findings) {
        if (finding.kind != finding_kind(rule.argument) || (device && !is_about(finding, *device))) continue;
        counted.push_back(finding.case_name.empty() ? finding.text : finding.case_name + ": " + finding.text);
      }
      break;
    case Quantity::counter:
    case Quantity::state:
      read_counter(reading, rule, evidence, device);
      return reading;
    default: {
      for (const auto* versions : {device ? &evidence.devices.at(*device).versions : nullptr, &evidence.versions}) {
        if (!versions || !reading.version.empty()) continue;
        if (const auto found = versions->find(rule.argument); found != versions->end()) reading.version = found->second;
      }
      if (reading.version.empty()) reading.why_not = fmt::format("the result does not state the version of {}", rule.argument);
      return reading;
    }
  }
  if (rule.quantity == Quantity::finding) {
    const FindingKind kind = finding_kind(rule.argument);
    reading.lost = lost_sight(evidence, kind, device);
    if (counted.empty()) {
      reading.why_not = !reading.lost.empty()               ? reading.lost
                        : is_unseen(evidence, kind, device) ? "the run could not check for it"
                                                            : "";
      if (!reading.why_not.empty()) return reading;
    }
  }
  constexpr std::size_t kNamed = 3;
  reading.value = static_cast<double>(counted.size());
  if (counted.size() > kNamed) {
    counted[kNamed] = fmt::format("and {} more", counted.size() - kNamed);
    counted.resize(kNamed + 1);
  }
  reading.of = fmt::format("{}", fmt::join(counted, "; "));
  return reading;
}

}  // namespace

bool is_about(const Finding& finding, std::size_t device) {
  const std::vector<int>& ranks = finding.ranks;
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), static_cast<int>(device)) != ranks.end();
}

bool NameSearch::operator()(const std::string& name) {
  const auto [entry, is_new] = found_.try_emplace(name);
  if (is_new) entry->second = expression_.is_found_in(name);
  return entry->second;
}

bool NameSearch::operator()(const CaseName& name) {
  text_.clear();
  name.append_name_to(text_);
  return (*this)(text_);
}

std::vector<RuleReading> readings(const Rule& rule, NameSearch& cases, const Evidence& evidence,
                                  std::optional<std::size_t> device) {
  std::vector<RuleReading> all;
  std::string unsupported;
  if (type_of(rule.quantity).basis == Basis::run) {
    RuleReading reading = read_run(rule, evidence, device);
    // None of the run's cases shows it: another run of the device may.
    const bool nothing_to_see = rule.quantity == Quantity::finding && reading.value == 0.0 &&
                                evidence.analysis.unseen.contains(finding_kind(rule.argument));
    return nothing_to_see ? std::vector<RuleReading>() : std::vector<RuleReading>{std::move(reading)};
  }
  switch (type_of(rule.quantity).basis) {
    case Basis::record:
      for (const Record& record : evidence.records) {
        if ((device && is_joint(record)) || !cases(record)) continue;
        if (record.status == Status::unsupported) {
          unsupported = "unsupported: " + record.reason;
          continue;
        }
        // Wrong or failed on another rank: this one has done its part, and its time is not in the file.
        if (device && record.status != Status::ok && status_on(record, device) == Status::ok) continue;
        if (rule.quantity == Quantity::differing_bits && !record.fingerprint) {
          unsupported = "no case has a fingerprint: no bits to compare";
          continue;
        }
        RuleReading& reading = all.emplace_back(read_record(rule, record, evidence.analysis.roofline, device));
        if (is_by_telemetry(rule.quantity) && record.status == Status::ok && !reading.value &&
            lost_telemetry(evidence, device)) {
          reading.lost = reading.why_not = "the device's telemetry ended during the run";
        }
      }
      break;
    case Basis::ceiling:
      for (const Ceiling& ceiling : evidence.analysis.roofline.ceilings()) {
        if (ceiling.first_by.empty() || !cases(ceiling.first_by)) continue;
        RuleReading& reading = all.emplace_back();
        reading.of = ceiling.first_by;
        if (const auto drift = ceiling.unexplained_drift()) {
          // Within what the two probes scatter, nothing shows that the ceiling moved.
          reading.value = reading.high = std::abs(*drift);
          reading.low = std::max(0.0, *reading.value - ceiling.drift_half_width());
        } else {
          reading.why_not = "it was not measured again after the suite";
        }
      }
      break;
    case Basis::comparison:
      for (const ComparisonResult& result : evidence.analysis.comparisons) {
        if (!cases(result.comparison.numerator.name())) continue;
        RuleReading& reading = all.emplace_back();
        reading.of = fmt::format("{}: {}", result.comparison.name, result.comparison.numerator.name());
        reading.value = result.ratio;
        reading.low = result.low;
        reading.high = result.high;
      }
      break;
    case Basis::run:
      break;
  }
  if (all.empty() && !unsupported.empty()) all.emplace_back().why_not = unsupported;
  return all;
}

namespace {

/// Digits beyond these are those of binary fractions, not of a limit that someone wrote.
constexpr int kMostDigits = 12;

std::string format_value(double value, Scale scale, Unit unit, int digits) {
  switch (scale) {
    case Scale::share:
      return format_share(value, digits);
    case Scale::rate:
      return format_rate(value, unit, digits);
    case Scale::seconds:
      return format_seconds(value, digits);
    case Scale::ratio:
      return fmt::format("{:.{}f} x", value, digits);
    default: {
      // With fewer digits a large number would have an exponent.
      const double size = std::abs(value);
      const int whole = size >= 1 ? static_cast<int>(std::log10(size)) + 2 : 1;
      const std::string_view of_device = unit_of(scale);
      return of_device.empty() ? fmt::format("{:.{}g}", value, std::max(digits + 3, whole))
                               : fmt::format("{:.{}g} {}", value, std::max(digits, whole), of_device);
    }
  }
}

/// That show the whole limit.
int digits_of(double limit, Scale scale, Unit unit) {
  const auto shown = [&](int digits) { return std::strtod(format_value(limit, scale, unit, digits).c_str(), nullptr); };
  int digits = kDigits;
  while (digits < kMostDigits && shown(digits) != shown(kMostDigits)) ++digits;
  return digits;
}

}  // namespace

std::string format_limit(double limit, Scale scale, Unit unit) {
  return format_value(limit, scale, unit, digits_of(limit, scale, unit));
}

std::string format_measured(double value, double limit, Scale scale, Unit unit) {
  int digits = digits_of(limit, scale, unit);
  while (digits < kMostDigits && value != limit &&
         format_value(value, scale, unit, digits) == format_value(limit, scale, unit, digits))
    ++digits;
  return format_value(value, scale, unit, digits);
}

}  // namespace roofmark
