// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// note: good to know; warning: the numbers concerned are worse or less certain than they look; error: something is wrong that
/// has to be explained before the numbers concerned are used. No finding makes a result wrong.
enum class Severity { note, warning, error };

constexpr std::string_view name(Severity severity) {
  constexpr std::string_view names[] = {"note", "warning", "error"};
  return names[static_cast<int>(severity)];
}

/// What a finding puts in doubt, and so where the verdict of a run names it; `place`: a rank, host or link is slow.
enum class Doubt { nothing, roofs, rates, place, device };

enum class FindingKind {
  above_theoretical,
  fingerprint,
  above_empirical,
  drift,
  contradiction,
  throttle,
  slowdown,
  clock,
  decay,
  decay_by_clock,
  rate_per_clock,
  energy,
  uncorrected_errors,
  corrected_errors,
  xid,
  link_errors,
  link_lost,
  link_training,
  peer_access,
  foreign_process,
  telemetry_lost,
  shared_cores,
  slow_host,
  slow_rank,
  slow_link,
  missing_result,
  gate,
  cache,
  unsettled,
  overhead,
  nondeterministic,
  unknown_device
};

/// What all findings of a kind share. `id` is its key in files; `advice` is what follows from it and the usual remedy.
struct FindingType {
  FindingKind kind;
  std::string_view id;
  Severity severity;
  Doubt doubt;
  std::string_view advice;
};

/// In the order of FindingKind.
inline constexpr FindingType kFindingTypes[] = {
    {FindingKind::above_theoretical, "above_theoretical", Severity::error, Doubt::roofs,
     "Verification passed, so the result stands, but judge nothing by this ceiling. Report the case, the device and the "
     "driver."},
    {FindingKind::fingerprint, "fingerprint", Severity::error, Doubt::device,
     "Repeat the case on these ranks and check the ECC counters and Xid messages; if it happens again, take the device out of "
     "service."},
    {FindingKind::above_empirical, "above_empirical", Severity::warning, Doubt::roofs,
     "Take the measured ceiling as a lower bound. Where one case alone exceeds it, check whether its operands stayed in a "
     "cache."},
    {FindingKind::drift, "drift", Severity::warning, Doubt::roofs,
     "The device warmed up, or something else used it. End other work, let the device warm up and run again."},
    {FindingKind::contradiction, "contradiction", Severity::warning, Doubt::roofs,
     "Something disturbed the slower probe, or it missed its ceiling: judge nothing by it. End other work and run again."},
    {FindingKind::throttle, "throttle", Severity::warning, Doubt::nothing,
     "The samples are kept: this is what the device delivers within its limits. Check the power limit, cooling and airflow."},
    {FindingKind::slowdown, "slowdown", Severity::error, Doubt::device,
     "A healthy device in a healthy chassis never does this. Check cooling, airflow, power cables and supplies."},
    {FindingKind::clock, "clock", Severity::warning, Doubt::rates,
     "Check for locked or application clocks (nvidia-smi -q -d CLOCK)."},
    {FindingKind::decay, "decay", Severity::warning, Doubt::rates,
     "A sustained load gets the settled rate, and the clock explains too little of the fall. Check for other programs, the "
     "other "
     "clocks, temperatures and the ECC counters."},
    {FindingKind::decay_by_clock, "decay_by_clock", Severity::warning, Doubt::nothing,
     "A sustained load gets the settled rate: this is what the device delivers within its limits. Check the power limit, "
     "cooling "
     "and airflow."},
    {FindingKind::rate_per_clock, "rate_per_clock", Severity::warning, Doubt::rates,
     "The rate did not follow its clock, so neither power nor temperature explains it. Check for other programs, the other "
     "clocks and the ECC counters."},
    {FindingKind::energy, "energy", Severity::warning, Doubt::nothing,
     "The energy counter and the power readings disagree: trust neither for energy per launch. Report the driver."},
    {FindingKind::uncorrected_errors, "uncorrected_errors", Severity::error, Doubt::device,
     "Data in the device's memory was lost. Drain the node, reset the GPU, run its field diagnostics; replace it if rows fail "
     "to remap."},
    {FindingKind::corrected_errors, "corrected_errors", Severity::note, Doubt::nothing,
     "No data was lost. A count that keeps growing announces uncorrected errors: watch it."},
    {FindingKind::xid, "xid", Severity::error, Doubt::device,
     "Look the number up in the kernel's log (dmesg, \"NVRM: Xid\") and in NVIDIA's list of Xid errors."},
    {FindingKind::link_errors, "link_errors", Severity::warning, Doubt::rates,
     "Data arrived, some of it at the second attempt. A count that keeps growing points to a connector, cable or riser."},
    {FindingKind::link_lost, "link_lost", Severity::error, Doubt::device,
     "A link went down or trained narrower during the run: reseat or replace its connector, cable or riser, and reboot."},
    {FindingKind::link_training, "link_training", Severity::warning, Doubt::rates,
     "Check the slot, the riser and the link speed that the BIOS allows, and the wiring of the board."},
    {FindingKind::peer_access, "peer_access", Severity::warning, Doubt::place,
     "On PCIe, turn off ACS in the switches and the IOMMU, or pass it through (iommu=pt); on NVSwitches, start "
     "nvidia-fabricmanager. nvidia-smi topo -p2p r shows the driver's view."},
    {FindingKind::foreign_process, "foreign_process", Severity::warning, Doubt::roofs,
     "Rates and ceilings are too low: end the other programs and run again."},
    {FindingKind::telemetry_lost, "telemetry_lost", Severity::warning, Doubt::nothing,
     "What the device did from then on is unknown, and so are its counters after the run. Look for driver messages (Xid) and "
     "run again."},
    {FindingKind::shared_cores, "shared_cores", Severity::warning, Doubt::rates,
     "Times include the wait for a core: start at most one rank per core, and bind each rank to cores of its own."},
    {FindingKind::slow_host, "slow_host", Severity::warning, Doubt::place,
     "Check the ports, cables, PCIe links, clocks and load of this host, and run it beside a healthy host."},
    {FindingKind::slow_rank, "slow_rank", Severity::warning, Doubt::place,
     "Check the clock, temperature and PCIe link of this rank's device, and the NUMA binding of the rank."},
    {FindingKind::slow_link, "slow_link", Severity::warning, Doubt::place,
     "Where a pair is slow, each of its ends is fast with others: check the links and the route between them. Where one end is "
     "slow, check its slot, connectors and clocks."},
    {FindingKind::missing_result, "missing_result", Severity::warning, Doubt::rates,
     "The results of the other ranks stand. Look for driver messages (Xid) and repeat the case on this device."},
    {FindingKind::gate, "gate", Severity::warning, Doubt::rates,
     "The host did not enqueue a batch of launches in time. Check its load and its CPU governor."},
    {FindingKind::cache, "cache", Severity::note, Doubt::nothing,
     "The operands are partly read from the cache, so the case looks faster than cold. Free device memory."},
    {FindingKind::unsettled, "unsettled", Severity::note, Doubt::nothing,
     "The rate was still changing when the warm-up ended. Allow more time with --max-seconds."},
    {FindingKind::overhead, "overhead", Severity::note, Doubt::nothing,
     "The times of this case may be too long by this share. They are reported as measured: nothing is subtracted."},
    {FindingKind::nondeterministic, "nondeterministic", Severity::note, Doubt::nothing,
     "Expected of an algorithm whose order of summation varies; of any other, a lead on faulty hardware or a race."},
    {FindingKind::unknown_device, "unknown_device", Severity::note, Doubt::nothing,
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
  std::string case_name;   ///< empty: of the whole run
  double size = 0;         ///< the worst of a kind has the largest
  std::string brief = {};  ///< for a headline: "DRAM drifted by 20 %"
  /// Whose devices it is about, of several ranks; empty: of all.
  std::vector<int> ranks = {};
};

}  // namespace roofmark
