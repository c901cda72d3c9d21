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
  slowdown,
  clock,
  decay,
  decay_without_clock,
  energy,
  uncorrected_errors,
  corrected_errors,
  xid,
  link_errors,
  link_lost,
  foreign_process,
  slow_host,
  slow_rank,
  slow_link,
  missing_result,
  gate,
  cache,
  unsettled,
  nondeterministic,
  unknown_device
};

/// What all findings of a kind share. `id` is its key in files; `advice` is what follows from it and the usual remedy.
struct FindingType {
  FindingKind kind;
  std::string_view id;
  Severity severity;
  std::string_view advice;
};

/// In the order of FindingKind.
inline constexpr FindingType kFindingTypes[] = {
    {FindingKind::above_theoretical, "above_theoretical", Severity::error,
     "Verification passed, so the result stands, but judge nothing by this ceiling. Report the case, the device and the "
     "driver."},
    {FindingKind::fingerprint, "fingerprint", Severity::error,
     "Repeat the case on these ranks and check the ECC counters and Xid messages; if it happens again, take the device out of "
     "service."},
    {FindingKind::above_empirical, "above_empirical", Severity::warning,
     "Take the measured ceiling as a lower bound. Where one case alone exceeds it, check whether its operands stayed in a "
     "cache."},
    {FindingKind::drift, "drift", Severity::warning,
     "The device warmed up, or something else used it. End other work, let the device warm up and run again."},
    {FindingKind::throttle, "throttle", Severity::warning,
     "The samples are kept: this is what the device delivers within its limits. Check the power limit, cooling and airflow."},
    {FindingKind::slowdown, "slowdown", Severity::error,
     "A healthy device in a healthy chassis never does this. Check cooling, airflow, power cables and supplies."},
    {FindingKind::clock, "clock", Severity::warning, "Check for locked or application clocks (nvidia-smi -q -d CLOCK)."},
    {FindingKind::decay, "decay", Severity::warning,
     "A load that lasts gets the settled rate. Where the clock explains the fall, check the power limit, cooling and airflow."},
    {FindingKind::decay_without_clock, "decay_without_clock", Severity::warning,
     "Heat and power did not do this. Check for other programs, the memory's clock and temperature, and the ECC counters."},
    {FindingKind::energy, "energy", Severity::warning,
     "The energy counter and the power readings disagree: trust neither for energy per launch. Report the driver."},
    {FindingKind::uncorrected_errors, "uncorrected_errors", Severity::error,
     "Data in the device's memory was lost. Drain the node, reset the GPU, run its field diagnostics; replace it if rows fail "
     "to remap."},
    {FindingKind::corrected_errors, "corrected_errors", Severity::note,
     "No data was lost. A count that keeps growing announces uncorrected errors: watch it."},
    {FindingKind::xid, "xid", Severity::error,
     "Look the number up in the kernel's log (dmesg, \"NVRM: Xid\") and in NVIDIA's list of Xid errors."},
    {FindingKind::link_errors, "link_errors", Severity::warning,
     "Data arrived, some of it at the second attempt. A count that keeps growing points to a connector, cable or riser."},
    {FindingKind::link_lost, "link_lost", Severity::error,
     "A link went down or trained narrower during the run: reseat or replace its connector, cable or riser, and reboot."},
    {FindingKind::foreign_process, "foreign_process", Severity::warning,
     "Rates and ceilings are too low: end the other programs and run again."},
    {FindingKind::slow_host, "slow_host", Severity::warning,
     "Check the ports, cables, PCIe links, clocks and load of this host, and run it beside a healthy host."},
    {FindingKind::slow_rank, "slow_rank", Severity::warning,
     "Check the clock, temperature and PCIe link of this rank's device, and the NUMA binding of the rank."},
    {FindingKind::slow_link, "slow_link", Severity::warning,
     "Each of the two is fast with other ranks: check the links and the route between them."},
    {FindingKind::missing_result, "missing_result", Severity::warning,
     "The results of the other ranks stand. Look for messages of the driver (Xid) and repeat the case on this device."},
    {FindingKind::gate, "gate", Severity::warning,
     "The host did not enqueue a batch of launches in time. Check its load and its CPU governor."},
    {FindingKind::cache, "cache", Severity::note,
     "The operands are partly read from the cache, so the case looks faster than cold. Free device memory."},
    {FindingKind::unsettled, "unsettled", Severity::note,
     "The rate was still changing when the warm-up ended. Allow more time with --max-seconds."},
    {FindingKind::nondeterministic, "nondeterministic", Severity::note,
     "Expected of an algorithm whose order of summation varies; of any other, a lead on faulty hardware or a race."},
    {FindingKind::unknown_device, "unknown_device", Severity::note,
     "A cut-down part may have less than its attributes promise: compare with the vendor's datasheet."},
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
