// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/table.hpp"

namespace roofmark {

/// note: good to know; warning: the affected numbers are worse or less certain than they look; error: find the cause before
/// using the affected numbers. No finding makes a result wrong.
enum class Severity { note, warning, error };

constexpr std::string_view name(Severity severity) {
  constexpr std::string_view names[] = {"note", "warning", "error"};
  return names[static_cast<int>(severity)];
}

/// What a finding puts in doubt, which decides where the verdict names it; `place`: a rank, host or link is slow; `network`:
/// the ports of a host; `host`: its memory and its other GPUs.
enum class Doubt { nothing, roofs, rates, place, network, host, device };

/// How far the doubt reaches: to the case, ceiling, rank or link that a finding is about, or to all results of the run.
enum class Extent { part, all };

/// What shows a kind of finding; several may.
enum class FoundBy : unsigned {
  nothing = 0,
  results = 1,  ///< of any run
  ranks = 2,    ///< ranks, hosts or links that differ from the others
  /// What the program saw of device and host before and after the cases. A file keeps such a finding, which names no case; the
  /// others are found again.
  session = 4,
  counters = 8,  ///< kCounters
  // Readings that a run may lack.
  clock = 16,
  throttling = 32,
  energy = 64,  ///< the counter beside the power readings
  sustained = 128,
  sustained_clock = 256,
  host_link = 512,  ///< its speed under load, of one rank's device
  power = 1024,     ///< of a record, with the throttle reasons and the power limit
  dips = 2048,      ///< of a sustained load of enough seconds
};

/// By bit.
inline constexpr std::string_view kFoundBy[] = {"results", "ranks",     "session",         "counters",  "clock", "throttling",
                                                "energy",  "sustained", "sustained_clock", "host_link", "power", "dips"};

static_assert(unsigned(FoundBy::dips) == 1U << (std::size(kFoundBy) - 1));

constexpr FoundBy operator|(FoundBy a, FoundBy b) { return FoundBy(unsigned(a) | unsigned(b)); }
constexpr FoundBy& operator|=(FoundBy& a, FoundBy b) { return a = a | b; }

/// Without a reading of its own, that a kind was not found says nothing.
inline constexpr FoundBy kReadings = FoundBy::clock | FoundBy::throttling | FoundBy::energy | FoundBy::sustained |
                                     FoundBy::sustained_clock | FoundBy::host_link | FoundBy::power | FoundBy::dips;
/// What ends with the device's telemetry.
inline constexpr FoundBy kByTelemetry = FoundBy::throttling | FoundBy::energy | FoundBy::power;

enum class FindingKind {
  foreign_process,
  memory_in_use,
  shared_cores,
  above_theoretical,
  fingerprint,
  changed_bits,
  above_empirical,
  drift,
  contradiction,
  throttle,
  slowdown,
  clock,
  clock_under_load,
  power_limit,
  held_power,
  decay,
  decay_by_clock,
  rate_per_clock,
  dips,
  energy,
  uncorrected_errors,
  corrected_errors,
  host_uncorrected_errors,
  host_corrected_errors,
  lost_gpu,
  xid,
  application_xid,
  informational_xid,
  past_xid,
  recovery_action,
  inforom,
  link_errors,
  link_lost,
  link_training,
  network_ports,
  network_lost,
  network_errors,
  network_congestion,
  fabric_degraded,
  fabric_unhealthy,
  peer_access,
  no_peer_access,
  node_affinity,
  telemetry_lost,
  slow_host,
  slow_rank,
  slow_link,
  missing_result,
  rdma_unused,
  sockets,
  gpudirect_unused,
  no_gpudirect,
  nvlink_unused,
  link_rate,
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
  FoundBy found_by;
  std::string_view advice;
  Extent extent = Extent::part;

  constexpr bool is_found_by(FoundBy any_of) const { return (unsigned(found_by) & unsigned(any_of)) != 0; }
  /// In files: which results it puts in doubt.
  constexpr std::string_view doubted() const {
    return doubt == Doubt::nothing ? "nothing" : extent == Extent::all ? "all" : "part";
  }
};

/// In the order of FindingKind, in which people read them: what comes from outside first, for it explains the rest.
inline constexpr FindingType kFindingTypes[] = {
    {FindingKind::foreign_process, "foreign_process", Severity::warning, Doubt::roofs, FoundBy::session | FoundBy::counters,
     "Rates and ceilings are too low. Stop the other programs and run again.", Extent::all},
    {FindingKind::memory_in_use, "memory_in_use", Severity::warning, Doubt::nothing, FoundBy::session,
     "The measured rates hold, but the memory test covered only what was free, and large cases are smaller than on other GPUs "
     "of this model. Free the memory and run again."},
    {FindingKind::shared_cores, "shared_cores", Severity::warning, Doubt::rates, FoundBy::results,
     "Times include the wait for a core. Start at most one rank per core, each bound to cores of its own; over the network a "
     "rank "
     "of a GPU needs three or more (mpirun --bind-to none).",
     Extent::all},
    {FindingKind::above_theoretical, "above_theoretical", Severity::error, Doubt::roofs, FoundBy::results,
     "The result passed verification and stands, but do not use this ceiling to judge results. Report the case, the device and "
     "the driver."},
    {FindingKind::fingerprint, "fingerprint", Severity::error, Doubt::device, FoundBy::ranks,
     "Repeat the case on these ranks. Check the ECC counters and Xid messages. If it happens again, take the device out of "
     "service."},
    {FindingKind::changed_bits, "changed_bits", Severity::error, Doubt::device, FoundBy::results,
     "Run again. Check the ECC counters and Xid messages. If it happens again, take the device out of service."},
    {FindingKind::above_empirical, "above_empirical", Severity::warning, Doubt::roofs, FoundBy::results,
     "Treat the measured ceiling as a lower bound. If only one case exceeds it, check whether its operands stayed in a cache."},
    {FindingKind::drift, "drift", Severity::warning, Doubt::roofs, FoundBy::results,
     "The clock does not explain it: another program used the device, or a probe was disturbed. Stop other work, let the "
     "device warm up and run again."},
    {FindingKind::contradiction, "contradiction", Severity::warning, Doubt::roofs, FoundBy::results,
     "The slower probe was disturbed or missed its ceiling: do not use this ceiling to judge results. Stop other work and run "
     "again.",
     Extent::all},
    {FindingKind::throttle, "throttle", Severity::note, Doubt::nothing, FoundBy::throttling,
     "Large GPUs reach their power limit in products and other long kernels. The samples are kept: they show what the device "
     "delivers within its limits. If other devices of this model are faster, compare power limits, temperatures and airflow."},
    {FindingKind::slowdown, "slowdown", Severity::error, Doubt::device, FoundBy::throttling,
     "This does not happen to a healthy device in a healthy chassis. Check cooling, airflow, power cables and supplies."},
    {FindingKind::clock, "clock", Severity::warning, Doubt::rates, FoundBy::session | FoundBy::clock,
     "Check for locked or application clocks (nvidia-smi -q -d CLOCK). As root, nvidia-smi -rgc and -rmc reset locked clocks, "
     "nvidia-smi -rac resets application clocks."},
    {FindingKind::clock_under_load, "clock_under_load", Severity::note, Doubt::nothing, FoundBy::clock,
     "Normal for GPUs that lower their clock while their tensor cores work, which the driver's reading does not show: an H100 "
     "or H200 to about 1800 MHz."},
    {FindingKind::power_limit, "power_limit", Severity::warning, Doubt::rates, FoundBy::counters,
     "Under load the clock is lower than at the default power limit. nvidia-smi -q -d POWER shows both limits; as root, "
     "nvidia-smi -pl WATTS sets the limit."},
    {FindingKind::held_power, "held_power", Severity::warning, Doubt::rates, FoundBy::power,
     "A GPU that only its own limit caps draws nearly that limit. Something else holds this one: check the power cables, the "
     "power supplies and the chassis' power settings, and the limits that its BMC sets. nvidia-smi -q -d POWER,PERFORMANCE "
     "shows "
     "limits and reasons, on GH200 and GB200 the module's limit too, which leaves the GPU less while the CPU works."},
    {FindingKind::decay, "decay", Severity::warning, Doubt::rates, FoundBy::sustained,
     "Expect the settled rate under sustained load. The clock explains too little of the drop: check for other programs, the "
     "other clocks, temperatures and the ECC counters."},
    {FindingKind::decay_by_clock, "decay_by_clock", Severity::warning, Doubt::nothing, FoundBy::sustained,
     "Expect the settled rate under sustained load: the device delivers this within its limits. Check the power limit, cooling "
     "and airflow."},
    {FindingKind::rate_per_clock, "rate_per_clock", Severity::warning, Doubt::rates, FoundBy::sustained_clock,
     "The rate did not follow its clock, so neither power nor temperature explains it. Check for other programs, the other "
     "clocks and the ECC counters."},
    {FindingKind::dips, "dips", Severity::warning, Doubt::nothing, FoundBy::dips,
     "The load slowed down and recovered. Compare the time with throttle reasons, clock and temperature over the run (the "
     "report "
     "draws them), over links with the errors and the congestion of the network ports, and with what else ran then."},
    {FindingKind::energy, "energy", Severity::warning, Doubt::nothing, FoundBy::energy,
     "The energy counter and the power readings disagree: do not use either for energy per launch. Report the driver."},
    {FindingKind::uncorrected_errors, "uncorrected_errors", Severity::error, Doubt::device, FoundBy::counters,
     "The device's memory lost data, or the device has a faulty part that is not replaced. Drain the node, reset the GPU and "
     "run the field diagnostics; replace the GPU if rows fail to remap."},
    {FindingKind::corrected_errors, "corrected_errors", Severity::note, Doubt::nothing, FoundBy::counters,
     "No data was lost. A growing count announces uncorrected errors: watch it."},
    {FindingKind::host_uncorrected_errors, "host_uncorrected_errors", Severity::error, Doubt::host, FoundBy::counters,
     "The host's memory lost data, which a program may have read. Drain the host: the BMC's event log or rasdaemon names the "
     "memory module to replace."},
    {FindingKind::host_corrected_errors, "host_corrected_errors", Severity::note, Doubt::nothing, FoundBy::counters,
     "No data was lost. A growing count announces uncorrected errors: the BMC's event log or rasdaemon names the memory "
     "module."},
    {FindingKind::lost_gpu, "lost_gpu", Severity::error, Doubt::host, FoundBy::counters,
     "The host has a GPU that its driver cannot reach: programs see fewer GPUs, or fail. The kernel log (dmesg, \"NVRM\") says "
     "when and why. Drain the host and reset the GPU, or switch the power off and on; if it is lost again, check its slot, "
     "connectors and power cables, or replace it."},
    {FindingKind::xid, "xid", Severity::error, Doubt::device, FoundBy::counters,
     "Find the Xid in the kernel log (dmesg, \"NVRM: Xid\") and look it up in NVIDIA's list of Xid errors."},
    {FindingKind::application_xid, "application_xid", Severity::warning, Doubt::rates, FoundBy::counters,
     "Such an Xid is usually no fault of the GPU: another program failed or was stopped on it while this run measured. The "
     "kernel log (dmesg, \"NVRM: Xid\") names the process; run again without it. If a case of this run failed too, the Xid may "
     "be its own: then suspect the GPU if it comes again.",
     Extent::all},
    {FindingKind::informational_xid, "informational_xid", Severity::note, Doubt::nothing, FoundBy::counters,
     "Such an Xid is no fault: NVIDIA's list of Xid errors says to ignore it. Where memory lost data or a row waits for a "
     "reset, other counters of the GPU say so."},
    {FindingKind::past_xid, "past_xid", Severity::note, Doubt::nothing, FoundBy::counters,
     "The GPU reported a fault before this run. Look the number up in the kernel log (dmesg, \"NVRM: Xid\") and in NVIDIA's "
     "list of Xid errors, and make sure that the action it asks for, such as a reset, was taken since."},
    {FindingKind::recovery_action, "recovery_action", Severity::error, Doubt::device, FoundBy::counters,
     "The GPU met a fault from which it recovers only by this action. Drain the node and do what the driver asks for "
     "(nvidia-smi -r resets a GPU). Where that is to drain P2P, end the programs that copy between GPUs: the driver then names "
     "the action that follows. A GPU that asks again needs the field diagnostics."},
    {FindingKind::inforom, "inforom", Severity::warning, Doubt::nothing, FoundBy::counters,
     "The board's own memory, with its settings and the record of its faulty rows, fails its checksums. Rates and results "
     "hold. "
     "Ask the vendor for a new InfoROM image, or replace the GPU."},
    {FindingKind::link_errors, "link_errors", Severity::warning, Doubt::rates, FoundBy::counters,
     "The link resent or lost more data than a healthy link does. A growing count points to a connector, cable or riser.",
     Extent::all},
    {FindingKind::link_lost, "link_lost", Severity::error, Doubt::device, FoundBy::counters,
     "A link failed, went down or retrained narrower during the run. Reseat or replace its connector, cable or riser, and "
     "reboot."},
    {FindingKind::link_training, "link_training", Severity::warning, Doubt::rates, FoundBy::session | FoundBy::host_link,
     "Check the slot, the riser, the board's wiring and the link speed that the BIOS allows."},
    {FindingKind::network_ports, "network_ports", Severity::warning, Doubt::network, FoundBy::session,
     "What goes over these ports is slower or fails, and collectives go at the rate of the host with the fewest and slowest "
     "ports. Check the cable, the transceiver, the switch port and the NIC's slot; ibstat, or ethtool for RoCE, shows a port's "
     "state. A port that is meant to be unused: leave it out by NCCL_IB_HCA, or switch it off."},
    {FindingKind::network_lost, "network_lost", Severity::warning, Doubt::network, FoundBy::counters,
     "A network port went down or became slower during the run: jobs over it fail or wait. Check the cable, the transceiver "
     "and the switch port, and its log; if it happens again, replace them."},
    {FindingKind::network_errors, "network_errors", Severity::warning, Doubt::network, FoundBy::counters,
     "The network link has more errors than a healthy one: a dirty or faulty cable, transceiver or port. A growing count "
     "announces a link that goes down."},
    {FindingKind::network_congestion, "network_congestion", Severity::note, Doubt::nothing, FoundBy::counters,
     "Ports were told to slow down, or sent packets again. That is normal where many send to one at a time. If collectives "
     "over "
     "the network are slow too, look for other jobs on its links, and compare PFC, ECN and MTU of the switches and NICs."},
    {FindingKind::fabric_degraded, "fabric_degraded", Severity::warning, Doubt::rates, FoundBy::counters,
     "The NVLink fabric gives this GPU less bandwidth than it should, or is being recovered: transfers between GPUs are "
     "slower. `roofmark info` and nvidia-smi -q (Fabric) name the condition. Check the log of nvidia-fabricmanager, the "
     "NVSwitches and the NVLink cables."},
    {FindingKind::fabric_unhealthy, "fabric_unhealthy", Severity::error, Doubt::device, FoundBy::counters,
     "A route or the configuration of the NVLink fabric is faulty, so transfers between GPUs may fail. `roofmark info` and "
     "nvidia-smi -q (Fabric) name the condition. Drain the node, check the log of nvidia-fabricmanager and the NVLink cables, "
     "and reset the GPUs."},
    {FindingKind::peer_access, "peer_access", Severity::warning, Doubt::place, FoundBy::results,
     "On PCIe, turn off ACS in the switches and the IOMMU, or pass it through (iommu=pt); on NVSwitches, start "
     "nvidia-fabricmanager. nvidia-smi topo -p2p r shows the driver's view."},
    {FindingKind::no_peer_access, "no_peer_access", Severity::note, Doubt::nothing, FoundBy::results,
     "The driver says that these GPUs or this machine do not support it, as with GeForce cards and in many virtual machines. "
     "Compare such copies with those of machines of the same kind."},
    {FindingKind::node_affinity, "node_affinity", Severity::warning, Doubt::place, FoundBy::results,
     "The GPU is not near the node that the kernel names, or the nodes are not what they seem. Check the firmware's tables, "
     "its setting of nodes per socket (NPS, SNC) and memory interleaving; until then, place memory on the faster node."},
    {FindingKind::telemetry_lost, "telemetry_lost", Severity::warning, Doubt::nothing, FoundBy::session,
     "The device's state is unknown from then on, and so are its counters after the run. Look for driver messages (Xid) and "
     "run again."},
    {FindingKind::slow_host, "slow_host", Severity::warning, Doubt::place, FoundBy::ranks,
     "Check the ports, cables, PCIe links, clocks and load of this host, and run it with a healthy host. If only "
     "its pairs with other hosts are slow, it may be alone below its switch."},
    {FindingKind::slow_rank, "slow_rank", Severity::warning, Doubt::place, FoundBy::ranks,
     "Check the clock, temperature and PCIe link of this rank's device, its NIC, and the rank's NUMA binding. If only "
     "its pairs with other hosts are slow, its host may be alone below its switch."},
    {FindingKind::slow_link, "slow_link", Severity::warning, Doubt::place, FoundBy::ranks,
     "If a pair is slow, its two ends are faster with most others: check the links and the route between them. If one end is "
     "slow, check its slot, connectors and clocks."},
    {FindingKind::missing_result, "missing_result", Severity::warning, Doubt::rates, FoundBy::ranks,
     "The results of the other ranks stand. Look for driver messages (Xid) and repeat the case on this device."},
    {FindingKind::rdma_unused, "rdma_unused", Severity::warning, Doubt::rates, FoundBy::results,
     "NCCL found no InfiniBand or RoCE that it can use: in a container, give it /dev/infiniband and libibverbs and allow "
     "locked "
     "memory (ulimit -l unlimited); unset NCCL_IB_DISABLE and NCCL_NET; EFA and other fabrics need their network plugin. "
     "NCCL_DEBUG=INFO shows what it tries."},
    {FindingKind::sockets, "sockets", Severity::note, Doubt::nothing, FoundBy::results,
     "Without an active RDMA port, TCP over this interface is all that NCCL has, and each byte takes time of the CPU. "
     "NCCL_SOCKET_IFNAME chooses the interface."},
    {FindingKind::gpudirect_unused, "gpudirect_unused", Severity::warning, Doubt::rates, FoundBy::results,
     "All data takes the way through the host's memory. Load nvidia-peermem, or use the open kernel modules of the driver with "
     "Linux 5.12 or newer (DMA-BUF); unset NCCL_NET_GDR_LEVEL; turn off ACS in the switches and the IOMMU, or pass it "
     "through."},
    {FindingKind::no_gpudirect, "no_gpudirect", Severity::note, Doubt::nothing, FoundBy::results,
     "NCCL uses it only where a PCIe switch joins NIC and GPU: across a CPU it would be slower. In a virtual machine, "
     "NCCL_TOPO_FILE may tell it the real topology."},
    {FindingKind::nvlink_unused, "nvlink_unused", Severity::warning, Doubt::rates, FoundBy::results,
     "Within a host, let each rank see all of its GPUs: with Slurm by --gpu-bind=none, beside --gpus-per-task too; ranks in "
     "containers need one IPC namespace (--ipc=host). Between hosts, NVLink needs the service nvidia-imex on each of them, and "
     "an IMEX channel for the job (/dev/nvidia-caps-imex-channels). Unset NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, NCCL_MNNVL_ENABLE "
     "and NCCL_CUMEM_ENABLE."},
    {FindingKind::link_rate, "link_rate", Severity::warning, Doubt::rates, FoundBy::results,
     "The measured roof of this link is too low: shares of it look well. Network: check GPUDirect RDMA, PFC and ECN of RoCE, "
     "ACS and the IOMMU, and that each GPU has a NIC near it (nvidia-smi topo -m); ib_write_bw shows what the ports carry "
     "without NCCL. Between GPUs of a host: check ACS, the IOMMU and the log of nvidia-fabricmanager. Unset variables that "
     "limit NCCL."},
    {FindingKind::gate, "gate", Severity::warning, Doubt::rates, FoundBy::results,
     "The host did not enqueue a batch of launches in time. Check its load and its CPU governor."},
    {FindingKind::cache, "cache", Severity::note, Doubt::nothing, FoundBy::results,
     "Some operands come from the cache, so the case looks faster than cold. Free device memory, or take larger operands."},
    {FindingKind::unsettled, "unsettled", Severity::note, Doubt::nothing, FoundBy::results,
     "The rate was still changing at the end of the warm-up. Allow more time with --max-seconds."},
    {FindingKind::overhead, "overhead", Severity::note, Doubt::nothing, FoundBy::results,
     "The times of this case may be too long by this share. They are reported as measured, with nothing subtracted."},
    {FindingKind::nondeterministic, "nondeterministic", Severity::note, Doubt::nothing, FoundBy::results,
     "Expected if the algorithm's order of summation varies. Otherwise it points to faulty hardware or a race."},
    {FindingKind::unknown_device, "unknown_device", Severity::note, Doubt::nothing, FoundBy::session,
     "A cut-down part may deliver less than its attributes imply: compare with the vendor's datasheet."},
};
static_assert(is_in_order(kFindingTypes, &FindingType::kind));

/// A note puts nothing in doubt, and only roofs and rates can be in doubt all over a run.
constexpr bool has_sound_doubt(const FindingType& type) {
  return (type.severity != Severity::note || type.doubt == Doubt::nothing) &&
         (type.extent == Extent::part || type.doubt == Doubt::roofs || type.doubt == Doubt::rates);
}
static_assert(std::all_of(std::begin(kFindingTypes), std::end(kFindingTypes), has_sound_doubt));

constexpr const FindingType& type_of(FindingKind kind) { return kFindingTypes[static_cast<int>(kind)]; }

/// Null for an id that this version does not know.
constexpr const FindingType* find_finding_type(std::string_view id) {
  for (const FindingType& type : kFindingTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

/// Throws std::invalid_argument for an id that this version does not know.
inline FindingKind finding_kind(std::string_view id) {
  if (const FindingType* const type = find_finding_type(id)) return type->kind;
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
  /// Of a slow rank, host or link: the time of a pair of ranks of it over that of another pair, each measured alone.
  std::optional<double> times_alone = {};
};

}  // namespace roofmark
