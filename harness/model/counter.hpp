// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/gpu_facts.hpp"
#include "harness/device/xid.hpp"
#include "harness/model/finding.hpp"

namespace roofmark {

enum class CounterKind {
  events,   ///< cumulative: they only rise, and a fall means that the device was reset
  present,  ///< current, such as other processes and rows that wait for a reset: a rise is worse
  parts,    ///< working now, such as links: a fall is worse
  past,     ///< events before the run, which does not change them
};

/// A change for the worse that is normal: up to `amount`, per `seconds` if that is not 0. A run that is shorter than `seconds`
/// may have the whole amount.
struct Tolerance {
  double amount = 0, seconds = 0;

  constexpr double within(double run_seconds) const {
    return seconds > 0 ? amount * std::max(1.0, run_seconds / seconds) : amount;
  }
};

enum class CounterOf { device, host };

/// A number that a device, or its host, keeps about its own state, read before and after a run.
struct CounterType {
  std::string_view id;  ///< in files and profiles
  FindingKind finding;  ///< of a change for the worse
  CounterKind kind = CounterKind::events;
  std::string_view title;
  std::string_view number_id{};     ///< id of the last event's number, such as an Xid's
  Tolerance tolerated{};            ///< a larger change for the worse is the finding
  std::optional<double> healthy{};  ///< a worse state is the finding, even if the run did not change it
  CounterOf of = CounterOf::device;
  std::optional<double> stops_at{};  ///< it stays there once it has reached it
  /// Of its values from 0 on, where these are no amounts: which state it is counts, and not the way from one to another.
  std::span<const std::string_view> words{};
  std::string_view (*meaning)(double number) = nullptr;  ///< of the last event's number; empty if it has none
  std::string_view age_id{};                             ///< id of the last event's age

  constexpr bool is_worse_lower() const { return kind == CounterKind::parts; }
  constexpr bool is_unhealthy(double state) const {
    return healthy && (is_worse_lower() ? state < *healthy : state > *healthy);
  }
};

inline constexpr std::string_view kInforomStates[] = {"valid", "corrupted"};

inline constexpr CounterType kCounters[] = {
    {"ecc_corrected", FindingKind::corrected_errors, CounterKind::events, "corrected memory errors (ECC)"},
    {"ecc_uncorrected", FindingKind::uncorrected_errors, CounterKind::events, "uncorrected memory errors (ECC)"},
    {"remapped_rows_corrected", FindingKind::corrected_errors, CounterKind::events,
     "memory rows remapped after corrected errors"},
    {"remapped_rows_uncorrected", FindingKind::uncorrected_errors, CounterKind::events,
     "memory rows remapped after uncorrected errors"},
    {"remap_pending", FindingKind::uncorrected_errors, CounterKind::present, "memory rows waiting to be remapped", {}, {}, 0},
    {"remap_failed", FindingKind::uncorrected_errors, CounterKind::events, "failed remappings of memory rows", {}, {}, 0},
    {.id = "channel_repair_pending",
     .finding = FindingKind::uncorrected_errors,
     .kind = CounterKind::present,
     .title = "pending repairs of memory channels",
     .healthy = 0},
    {.id = "tpc_repair_pending",
     .finding = FindingKind::uncorrected_errors,
     .kind = CounterKind::present,
     .title = "pending repairs of groups of SMs (TPC)",
     .healthy = 0},
    {"retired_pages_corrected", FindingKind::corrected_errors, CounterKind::events,
     "memory pages retired after corrected errors"},
    {"retired_pages_uncorrected", FindingKind::uncorrected_errors, CounterKind::events,
     "memory pages retired after uncorrected errors"},
    {"xid", FindingKind::xid, CounterKind::events, "driver error reports (Xid)", "xid_number"},
    {.id = "application_xid",
     .finding = FindingKind::application_xid,
     .title = "driver error reports (Xid) that programs cause",
     .number_id = "application_xid_number",
     .meaning = meaning_of_xid},
    {.id = "informational_xid",
     .finding = FindingKind::informational_xid,
     .title = "informational driver reports (Xid)",
     .number_id = "informational_xid_number",
     .meaning = meaning_of_xid},
    {.id = "past_xid",
     .finding = FindingKind::past_xid,
     .kind = CounterKind::past,
     .title = "driver error reports (Xid) between the host's boot and the run",
     .number_id = "past_xid_number",
     .healthy = 0,
     .age_id = "past_xid_age_seconds"},
    {"recovery_action",
     FindingKind::recovery_action,
     CounterKind::present,
     "recovery action that the driver asks for",
     {},
     {},
     0,
     CounterOf::device,
     {},
     kRecoveryActions},
    {"inforom_corrupted",
     FindingKind::inforom,
     CounterKind::present,
     "InfoROM",
     {},
     {},
     0,
     CounterOf::device,
     {},
     kInforomStates},
    // The tolerated rates of link errors are NVIDIA's (NVIDIA/DCGM, dcgm_gpu_hardware_limits.h): at most 8 replays per minute;
    // CRC errors of all links together matter from 100 per second on. Corrected errors of PCIe: its diagnostics allow an end of
    // a link 16 per minute (nvvs/plugin_src/pcie/Pcie.cpp; 32 with 16 lanes of generation 5), and both ends are counted here.
    {"pcie_replays", FindingKind::link_errors, CounterKind::events, "PCIe replays", {}, {8, 60}},
    {"pcie_correctable_errors", FindingKind::link_errors, CounterKind::events, "corrected PCIe errors (AER)", {}, {32, 60}},
    {"pcie_nonfatal_errors", FindingKind::link_errors, CounterKind::events, "uncorrected PCIe errors (AER, non-fatal)"},
    {"pcie_fatal_errors", FindingKind::link_lost, CounterKind::events, "fatal PCIe errors (AER)"},
    {"pcie_width", FindingKind::link_lost, CounterKind::parts, "PCIe lanes in use"},
    {"nvlink_crc_errors", FindingKind::link_errors, CounterKind::events, "NVLink CRC errors", {}, {100, 1}},
    {"nvlink_replay_errors", FindingKind::link_errors, CounterKind::events, "NVLink replays"},
    {"nvlink_recovery_errors", FindingKind::link_errors, CounterKind::events, "NVLink recoveries"},
    {"nvlink_recovery_failures", FindingKind::link_lost, CounterKind::events, "failed NVLink recoveries"},
    {"nvlink_effective_errors", FindingKind::link_errors, CounterKind::events,
     "NVLink errors after error correction (effective errors)"},
    {"nvlink_symbol_errors", FindingKind::link_errors, CounterKind::events,
     "NVLink errors after error correction and retransmission (symbol errors)"},
    {"nvlink_integrity_errors", FindingKind::link_errors, CounterKind::events, "NVLink integrity errors"},
    {"nvlink_packet_errors", FindingKind::link_errors, CounterKind::events, "faulty packets received over NVLink"},
    {"nvlink_remote_errors", FindingKind::link_errors, CounterKind::events,
     "packets received over NVLink that were faulty before they reached the link"},
    {"nvlink_header_errors", FindingKind::link_errors, CounterKind::events, "packets with a wrong header received over NVLink"},
    {"nvlink_links", FindingKind::link_lost, CounterKind::parts, "NVLinks that are up"},
    {"fabric_completed", FindingKind::link_lost, CounterKind::parts, "memberships of an NVLink fabric"},
    {"fabric_degraded", FindingKind::fabric_degraded, CounterKind::present, "degraded NVLink fabrics", {}, {}, 0},
    {"fabric_unhealthy", FindingKind::fabric_unhealthy, CounterKind::present, "unhealthy NVLink fabrics", {}, {}, 0},
    {"power_limit_of_default",
     FindingKind::power_limit,
     CounterKind::parts,
     "power limit / default power limit",
     {},
     {0.01},
     0.99},
    {"foreign_processes", FindingKind::foreign_process, CounterKind::present, "other processes on the device"},
    {.id = "host_ecc_corrected",
     .finding = FindingKind::host_corrected_errors,
     .title = "corrected errors of the host's memory (EDAC)",
     .of = CounterOf::host},
    {.id = "host_ecc_uncorrected",
     .finding = FindingKind::host_uncorrected_errors,
     .title = "uncorrected errors of the host's memory (EDAC)",
     .of = CounterOf::host},
    {.id = "host_lost_gpus",
     .finding = FindingKind::lost_gpu,
     .kind = CounterKind::present,
     .title = "GPUs that the driver has lost",
     .healthy = 0,
     .of = CounterOf::host},
    // Of the RDMA ports that the host's collectives use and that were up before the run, together. The tolerated rates are
    // those of NVIDIA's monitor (NVIDIA/NVSentinel, docs/nic-health-monitor.md): 120 symbol errors per hour, the InfiniBand
    // Architecture's limit, and 5 recoveries per minute. Those of InfiniBand stop at the widths of its PortCounters.
    {"network_ports", FindingKind::network_lost, CounterKind::parts, "network ports that are up", {}, {}, {}, CounterOf::host},
    {"network_rate", FindingKind::network_lost, CounterKind::parts, "Gb/s of network ports", {}, {}, {}, CounterOf::host},
    {"network_link_downs",
     FindingKind::network_lost,
     CounterKind::events,
     "network links that went down",
     {},
     {},
     {},
     CounterOf::host,
     0xff},
    {"network_carrier_downs",
     FindingKind::network_lost,
     CounterKind::events,
     "losses of the carrier of RoCE ports",
     {},
     {},
     {},
     CounterOf::host},
    {"network_link_recoveries",
     FindingKind::network_errors,
     CounterKind::events,
     "recoveries of network links",
     {},
     {5, 60},
     {},
     CounterOf::host,
     0xff},
    {"network_symbol_errors",
     FindingKind::network_errors,
     CounterKind::events,
     "symbol errors of network links",
     {},
     {120, 3600},
     {},
     CounterOf::host,
     0xffff},
    {"network_link_integrity_errors",
     FindingKind::network_errors,
     CounterKind::events,
     "integrity errors of network links",
     {},
     {},
     {},
     CounterOf::host,
     0xf},
    {.id = "network_congestion_notifications",
     .finding = FindingKind::network_congestion,
     .title = "congestion notifications that slowed RoCE ports (CNP)",
     .of = CounterOf::host},
    {.id = "network_sequence_errors",
     .finding = FindingKind::network_congestion,
     .title = "gaps in what network ports sent, which they filled again",
     .of = CounterOf::host},
    {.id = "network_timeouts",
     .finding = FindingKind::network_congestion,
     .title = "timeouts after which network ports sent again",
     .of = CounterOf::host},
};

/// Whether a kind of finding has counters exactly where its table says so.
constexpr bool is_counted_as_stated(const FindingType& type) {
  return type.is_found_by(FoundBy::counters) == std::any_of(std::begin(kCounters), std::end(kCounters),
                                                            [&](const CounterType& one) { return one.finding == type.kind; });
}
static_assert(std::all_of(std::begin(kFindingTypes), std::end(kFindingTypes), is_counted_as_stated));

/// Whether a kind of finding is about a host: its counters do not end with a device's telemetry.
constexpr bool is_of_host(FindingKind kind) {
  return std::any_of(std::begin(kCounters), std::end(kCounters),
                     [&](const CounterType& one) { return one.finding == kind && one.of == CounterOf::host; });
}

/// Null for an id that this version does not know.
constexpr const CounterType* find_counter(std::string_view id) {
  for (const CounterType& type : kCounters) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

/// A value of a state, by its word where it has one.
std::string state_text(const CounterType& type, double value);

/// A counter of one rank's device or host around a run. A value that could not be read is absent.
struct CounterChange {
  std::string id;
  int rank = 0;
  std::optional<double> before, after;
  std::optional<double> number{};  ///< of the last event, where it has one
  /// The parts that got worse, the worst first, where it has parts: "link 7, link 2"; if none did, those that are not healthy.
  std::string where{};
  std::optional<double> largest{};      ///< by how much the worst of these parts got worse
  std::optional<double> age_seconds{};  ///< of the last event when the run began, where it has one

  /// By how much it got worse; absent if it could not be read, or was reset in between.
  std::optional<double> worse() const {
    const CounterType* const type = find_counter(id);
    if (type && type->kind == CounterKind::past && worst()) return 0;
    if (!before || !after) return std::nullopt;
    if (type && type->is_worse_lower()) return std::max(*before - *after, 0.0);
    if (type && type->kind == CounterKind::present) return std::max(*after - *before, 0.0);
    return *after >= *before ? std::optional(*after - *before) : std::nullopt;
  }

  /// The worse of its two values, or the only one that could be read.
  std::optional<double> worst() const {
    if (!before || !after) return before ? before : after;
    const CounterType* const type = find_counter(id);
    return type && type->is_worse_lower() ? std::min(*before, *after) : std::max(*before, *after);
  }
};

/// A rank's device and host, as findings name them.
struct CounterOwner {
  std::string device, host;
};

/// A finding per counter that got worse by more than is tolerated in a run of `seconds`, or whose state is not healthy; the
/// owner stands before it. A host's counters are read by each of its ranks: the worst reading counts.
std::vector<Finding> find_worse_counters(const std::vector<CounterChange>& changes, const std::vector<CounterOwner>& owners,
                                         double seconds = 0);

/// The kinds of findings that these counters cannot show on the device of a rank: the device has no such counter, or one could
/// not be read after the run or was reset.
std::set<FindingKind> uncounted(const std::vector<CounterChange>& changes, int rank);

}  // namespace roofmark
