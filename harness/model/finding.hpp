// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace roofmark {

/// note: good to know; warning: the numbers concerned are worse or less certain than they look; error: something is wrong that
/// has to be explained before the numbers concerned are used. No finding makes a result wrong.
enum class Severity { note, warning, error };

constexpr std::string_view name(Severity severity) {
  constexpr std::string_view names[] = {"note", "warning", "error"};
  return names[static_cast<int>(severity)];
}

enum class FindingKind {
  above_theoretical,
  fingerprint,
  above_empirical,
  drift,
  throttle,
  clock,
  foreign_process,
  slow_node,
  slow_rank,
  slow_link,
  gate,
  cache,
  unsettled,
  nondeterministic,
  unknown_device
};

/// What all findings of a kind have in common. `id` is its key in files; `advice` says what it means and the usual remedy.
struct FindingType {
  FindingKind kind;
  std::string_view id;
  Severity severity;
  std::string_view advice;
};

/// In the order of FindingKind.
inline constexpr FindingType kFindingTypes[] = {
    {FindingKind::above_theoretical, "above_theoretical", Severity::error,
     "A count, a clock or a table is wrong here, not the result: verification passed. The ceiling is marked doubtful; judge "
     "nothing by it, and report the case and the device."},
    {FindingKind::fingerprint, "fingerprint", Severity::error,
     "Equal work on equal devices gave different bits: possibly silent data corruption. Repeat the case on these ranks, check "
     "the ECC counters and Xid messages, and take the device out of service if it happens again."},
    {FindingKind::above_empirical, "above_empirical", Severity::warning,
     "The probe missed the ceiling, or a cache helped. Take the measured ceiling as a lower bound."},
    {FindingKind::drift, "drift", Severity::warning,
     "The ceiling differed before and after the suite: the device warmed up, or something else used it. End other work, let "
     "the "
     "device reach its temperature and run again."},
    {FindingKind::throttle, "throttle", Severity::warning,
     "The device lowered its clock to stay within a limit. The samples are kept: this is what it delivers. Check the power "
     "limit, cooling and airflow."},
    {FindingKind::clock, "clock", Severity::warning,
     "The clock under load was below the rated one, and the driver gives no reason. Check for locked or application clocks "
     "(nvidia-smi -q -d CLOCK)."},
    {FindingKind::foreign_process, "foreign_process", Severity::warning,
     "Other programs used the device or its host: rates and ceilings are too low. End them and run again."},
    {FindingKind::slow_node, "slow_node", Severity::warning,
     "All ranks of this host are slow. Check its ports and cables, PCIe links, clocks and load; run it alone beside a healthy "
     "host."},
    {FindingKind::slow_rank, "slow_rank", Severity::warning,
     "This rank is slower than the ranks differ among themselves. Check its GPU's clock and temperature, its PCIe link and its "
     "NUMA binding."},
    {FindingKind::slow_link, "slow_link", Severity::warning,
     "These two ranks are slow together, and neither is with others. Check the links and routes between the two."},
    {FindingKind::gate, "gate", Severity::warning,
     "The host could not enqueue the launches in time; those samples are left out. Check the host's load and its CPU "
     "governor."},
    {FindingKind::cache, "cache", Severity::note,
     "Too few copies of the operands fit into memory to keep the caches cold, so the case is partly warm. Free device memory."},
    {FindingKind::unsettled, "unsettled", Severity::note,
     "The rate was still changing when the warm-up ended. Allow more time with --max-seconds."},
    {FindingKind::nondeterministic, "nondeterministic", Severity::note,
     "Equal launches gave different bits, so there is no fingerprint to compare. This is expected of algorithms whose order of "
     "summation varies."},
    {FindingKind::unknown_device, "unknown_device", Severity::note,
     "The device's published figures are not known. Its theoretical ceilings come from its attributes alone, which promise too "
     "much for a part with units cut down."},
};

constexpr const FindingType& type_of(FindingKind kind) { return kFindingTypes[static_cast<int>(kind)]; }

/// The kind of an id read from a file; throws std::invalid_argument for an id this version does not know.
inline FindingKind finding_kind(std::string_view id) {
  for (const FindingType& type : kFindingTypes) {
    if (type.id == id) return type.kind;
  }
  throw std::invalid_argument("unknown kind of finding '" + std::string(id) + "'");
}

/// What a reader must know before trusting the numbers.
struct Finding {
  FindingKind kind;
  std::string text;
  std::string case_name;  ///< empty: of the whole run
};

}  // namespace roofmark
