// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// note: good to know; warning: the affected numbers are worse or less certain than they look; error: find the cause before
/// using the affected numbers. No finding makes a result wrong.
enum class Severity { note, warning, error };

constexpr std::string_view name(Severity severity) {
  constexpr std::string_view names[] = {"note", "warning", "error"};
  return names[static_cast<int>(severity)];
}

/// What a finding puts in doubt, which decides where the verdict names it; `place`: a rank, host or link is slow.
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
  node_affinity,
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

/// The properties of a kind of finding. `id` is its key in files; `advice` says what it means and the usual remedy.
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
     "The result passed verification and stands, but do not use this ceiling to judge results. Report the case, the device and "
     "the driver."},
    {FindingKind::fingerprint, "fingerprint", Severity::error, Doubt::device,
     "Repeat the case on these ranks. Check the ECC counters and Xid messages. If it happens again, take the device out of "
     "service."},
    {FindingKind::above_empirical, "above_empirical", Severity::warning, Doubt::roofs,
     "Treat the measured ceiling as a lower bound. If only one case exceeds it, check whether its operands stayed in a cache."},
    {FindingKind::drift, "drift", Severity::warning, Doubt::roofs,
     "The device warmed up, or another program used it. Stop other work, let the device warm up and run again."},
    {FindingKind::contradiction, "contradiction", Severity::warning, Doubt::roofs,
     "The slower probe was disturbed or missed its ceiling: do not use this ceiling to judge results. Stop other work and run "
     "again."},
    {FindingKind::throttle, "throttle", Severity::warning, Doubt::nothing,
     "The samples are kept: they show what the device delivers within its limits. Check the power limit, cooling and airflow."},
    {FindingKind::slowdown, "slowdown", Severity::error, Doubt::device,
     "This does not happen to a healthy device in a healthy chassis. Check cooling, airflow, power cables and supplies."},
    {FindingKind::clock, "clock", Severity::warning, Doubt::rates,
     "Check for locked or application clocks (nvidia-smi -q -d CLOCK)."},
    {FindingKind::decay, "decay", Severity::warning, Doubt::rates,
     "Expect the settled rate under sustained load. The clock explains too little of the drop: check for other programs, the "
     "other clocks, temperatures and the ECC counters."},
    {FindingKind::decay_by_clock, "decay_by_clock", Severity::warning, Doubt::nothing,
     "Expect the settled rate under sustained load: the device delivers this within its limits. Check the power limit, cooling "
     "and airflow."},
    {FindingKind::rate_per_clock, "rate_per_clock", Severity::warning, Doubt::rates,
     "The rate did not follow its clock, so neither power nor temperature explains it. Check for other programs, the other "
     "clocks and the ECC counters."},
    {FindingKind::energy, "energy", Severity::warning, Doubt::nothing,
     "The energy counter and the power readings disagree: do not use either for energy per launch. Report the driver."},
    {FindingKind::uncorrected_errors, "uncorrected_errors", Severity::error, Doubt::device,
     "The device's memory lost data. Drain the node, reset the GPU and run the field diagnostics; replace the GPU if rows fail "
     "to remap."},
    {FindingKind::corrected_errors, "corrected_errors", Severity::note, Doubt::nothing,
     "No data was lost. A growing count announces uncorrected errors: watch it."},
    {FindingKind::xid, "xid", Severity::error, Doubt::device,
     "Find the Xid in the kernel log (dmesg, \"NVRM: Xid\") and look it up in NVIDIA's list of Xid errors."},
    {FindingKind::link_errors, "link_errors", Severity::warning, Doubt::rates,
     "The link resent some data. A growing count points to a connector, cable or riser."},
    {FindingKind::link_lost, "link_lost", Severity::error, Doubt::device,
     "A link went down or retrained narrower during the run. Reseat or replace its connector, cable or riser, and reboot."},
    {FindingKind::link_training, "link_training", Severity::warning, Doubt::rates,
     "Check the slot, the riser, the board's wiring and the link speed that the BIOS allows."},
    {FindingKind::peer_access, "peer_access", Severity::warning, Doubt::place,
     "On PCIe, turn off ACS in the switches and the IOMMU, or pass it through (iommu=pt); on NVSwitches, start "
     "nvidia-fabricmanager. nvidia-smi topo -p2p r shows the driver's view."},
    {FindingKind::node_affinity, "node_affinity", Severity::warning, Doubt::place,
     "The GPU is not near the node that the kernel names, or the nodes are not what they seem. Check the firmware's tables, "
     "its "
     "setting of nodes per socket (NPS, SNC) and memory interleaving; until then, place memory on the faster node."},
    {FindingKind::foreign_process, "foreign_process", Severity::warning, Doubt::roofs,
     "Rates and ceilings are too low. Stop the other programs and run again."},
    {FindingKind::telemetry_lost, "telemetry_lost", Severity::warning, Doubt::nothing,
     "The device's state is unknown from then on, and so are its counters after the run. Look for driver messages (Xid) and "
     "run again."},
    {FindingKind::shared_cores, "shared_cores", Severity::warning, Doubt::rates,
     "Times include the wait for a core. Start at most one rank per core, and bind each rank to its own cores."},
    {FindingKind::slow_host, "slow_host", Severity::warning, Doubt::place,
     "Check the ports, cables, PCIe links, clocks and load of this host, and run it with a healthy host."},
    {FindingKind::slow_rank, "slow_rank", Severity::warning, Doubt::place,
     "Check the clock, temperature and PCIe link of this rank's device, and the rank's NUMA binding."},
    {FindingKind::slow_link, "slow_link", Severity::warning, Doubt::place,
     "If a pair is slow, its two ends are fast with other peers: check the links and the route between them. If one end is "
     "slow, check its slot, connectors and clocks."},
    {FindingKind::missing_result, "missing_result", Severity::warning, Doubt::rates,
     "The results of the other ranks stand. Look for driver messages (Xid) and repeat the case on this device."},
    {FindingKind::gate, "gate", Severity::warning, Doubt::rates,
     "The host did not enqueue a batch of launches in time. Check its load and its CPU governor."},
    {FindingKind::cache, "cache", Severity::note, Doubt::nothing,
     "Some operands come from the cache, so the case looks faster than cold. Free device memory."},
    {FindingKind::unsettled, "unsettled", Severity::note, Doubt::nothing,
     "The rate was still changing at the end of the warm-up. Allow more time with --max-seconds."},
    {FindingKind::overhead, "overhead", Severity::note, Doubt::nothing,
     "The times of this case may be too long by this share. They are reported as measured, with nothing subtracted."},
    {FindingKind::nondeterministic, "nondeterministic", Severity::note, Doubt::nothing,
     "Expected if the algorithm's order of summation varies. Otherwise it points to faulty hardware or a race."},
    {FindingKind::unknown_device, "unknown_device", Severity::note, Doubt::nothing,
     "A cut-down part may deliver less than its attributes imply: compare with the vendor's datasheet."},
};

constexpr const FindingType& type_of(FindingKind kind) { return kFindingTypes[static_cast<int>(kind)]; }

/// The kind of an id read from a file; throws std::invalid_argument for an id this version does not know.
inline FindingKind finding_kind(std::string_view id) {
  for (const FindingType& type : kFindingTypes) {
    if (type.id == id) return type.kind;
  }
  throw std::invalid_argument("unknown kind of finding '" + std::string(id) + "'");
}

/// Something to know before using the numbers.
struct Finding {
  FindingKind kind;
  std::string text;
  std::string case_name;   ///< empty: of the whole run
  double size = 0;         ///< the worst of a kind has the largest
  std::string brief = {};  ///< for a headline: "DRAM drifted by 20 %"
  /// The ranks that it is about; empty: all.
  std::vector<int> ranks = {};
};

}  // namespace roofmark
