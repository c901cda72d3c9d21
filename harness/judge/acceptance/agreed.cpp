// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/acceptance/agreed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "harness/judge/acceptance/reading.hpp"

namespace roofmark {

namespace {

/// The setting that a finding of this kind may show.
std::optional<Setting> setting_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::power_limit:
      return Setting::power_limit;
    case FindingKind::clock:
      return Setting::clock;
    case FindingKind::uncorrected_errors:
    case FindingKind::corrected_errors:
      return Setting::ecc;
    default:
      return std::nullopt;
  }
}

/// The setting that decides a rule's value, or whether it has one.
std::optional<Setting> setting_of(const Rule& rule) {
  switch (rule.quantity) {
    case Quantity::state:
      if (rule.argument == "power_limit_of_default") return Setting::power_limit;
      [[fallthrough]];
    case Quantity::counter:
      return rule.argument.starts_with("ecc_") ? std::optional(Setting::ecc) : std::nullopt;
    case Quantity::finding:
      return setting_of(finding_kind(rule.argument));
    case Quantity::share_of_time:
      return rule.argument == "application_clocks" ? std::optional(Setting::clock) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Whether the power limit stayed the same during the run.
bool held_power_limit(const Evidence& run, std::optional<std::size_t> device) {
  return std::all_of(run.counters.begin(), run.counters.end(), [&](const CounterChange& change) {
    const bool is_its = change.id == "power_limit_of_default" && (!device || change.rank == static_cast<int>(*device));
    return !is_its || (change.before && change.before == change.after);
  });
}

/// Whether no clock finding tells of a clock below the agreed one.
bool held_clock(const Evidence& run, const Roofline& roofline, std::optional<std::size_t> device, double megahertz) {
  std::optional<double> rated_hz;
  for (const Ceiling& ceiling : roofline.ceilings()) rated_hz = std::max(rated_hz, ceiling.rated_clock_hz);
  return std::all_of(run.findings.begin(), run.findings.end(), [&](const Finding& finding) {
    if (finding.kind != FindingKind::clock || (device && !is_about(finding, *device))) return true;
    // The finding that names no case is of the application clocks, which the settings have.
    if (finding.case_name.empty()) return true;
    return rated_hz && *rated_hz * (1 - finding.size) / 1e6 >= megahertz - type_of(Setting::clock).tolerance;
  });
}

/// Whether the devices had the setting as agreed throughout the run.
bool is_as_agreed(Setting setting, const Agreed& agreed, const Evidence& run, const Roofline& roofline,
                  std::optional<std::size_t> device) {
  const auto found = agreed.find(setting);
  if (found == agreed.end()) return false;
  for (std::size_t i = 0; i < run.devices.size(); ++i) {
    if (device && i != *device) continue;
    const SettingValues& settings = run.devices[i].settings;
    const auto own = settings.find(setting);
    if (own == settings.end() || !found->second.is_met(setting, own->second)) return false;
    if (setting == Setting::clock && run.devices[i].lowers_memory_clock) return false;
  }
  if (setting == Setting::power_limit) return held_power_limit(run, device);
  return setting != Setting::clock || held_clock(run, roofline, device, found->second.value);
}

}  // namespace

std::string agreed_doubts(const Agreed& agreed, const Evidence& run) {
  if (run.verdict.trust != Trust::doubtful) return {};
  std::set<std::string> settings;
  for (const FindingKind kind : run.doubts) {
    const auto setting = setting_of(kind);
    if (!setting || !is_as_agreed(*setting, agreed, run, run.analysis.roofline, {})) return {};
    settings.insert(setting_text(*setting, agreed.at(*setting).value));
  }
  return fmt::format("{}", fmt::join(settings, ", "));
}

std::string value_text(Setting setting, double value) {
  const SettingType& type = type_of(setting);
  return type.is_switch() ? (value != 0 ? "true" : "false") : fmt::format("{:.6g} {}", value, type.unit);
}

std::string setting_text(Setting setting, double value) {
  return fmt::format("{} = {}", type_of(setting).id, value_text(setting, value));
}

void note_agreement(RuleReading& reading, const Agreed& agreed, const Rule& rule, const Evidence& run, const Roofline& roofline,
                    std::optional<std::size_t> device) {
  if (rule.quantity == Quantity::runs && rule.argument == name(Trust::doubtful)) reading.agreed = agreed_doubts(agreed, run);
  const auto setting = setting_of(rule);
  if (!setting || !is_as_agreed(*setting, agreed, run, roofline, device)) return;
  const double value = agreed.at(*setting).value;
  if (setting == Setting::ecc && (value != 0 || !reading.lost.empty())) return;
  reading.agreed = setting_text(*setting, value);
  reading.excused = setting == Setting::ecc ? Verdict::not_measured : Verdict::fail;
}

}  // namespace roofmark
