// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/nvml_telemetry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "harness/device/gpu_facts.hpp"
#include "harness/machine/facts.hpp"

namespace roofmark::cuda {

namespace {

constexpr double kFastestPcie = 128e9;  // bytes per second in one direction: 16 lanes of PCIe 6

/// An H100's driver (580.159) takes 3 ms and more of CPU time for the energy and up to 1 ms for the time under a reason, and
/// advances these counters each 0.1 s or so; those of 18 NVLinks may take longer. Less than two periods, so that every second
/// reading has them.
constexpr double kCounterPeriodSeconds = 0.09;

std::optional<double> value_of(const FieldValue& field) {
  if (field.status != 0) return std::nullopt;
  switch (field.type) {
    case 0:
      return field.value.fp64;
    case 1:
      return field.value.uint32;
    case 2:
      return static_cast<double>(field.value.uint_long);
    case 3:
      return static_cast<double>(field.value.uint64);
    case 4:
      return static_cast<double>(field.value.int64);
    case 5:
      return field.value.int32;
    case 6:
      return field.value.uint16;
    default:
      return std::nullopt;
  }
}

std::optional<double> scaled(const std::optional<double>& value, double unit) {
  return value ? std::optional(*value * unit) : std::nullopt;
}

}  // namespace

std::vector<std::optional<double>> NvmlTelemetry::fields(const std::vector<unsigned>& ids, unsigned scope) const {
  std::vector<FieldValue> asked(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    asked[i].field = ids[i];
    asked[i].scope = scope;
  }
  return values_of(std::move(asked));
}

std::vector<std::optional<double>> NvmlTelemetry::field_of_links(unsigned id, const std::vector<unsigned>& links) const {
  std::vector<FieldValue> asked(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    asked[i].field = id;
    asked[i].scope = links[i];
  }
  return values_of(std::move(asked));
}

std::vector<std::optional<double>> NvmlTelemetry::values_of(std::vector<FieldValue> asked) const {
  std::vector<std::optional<double>> values(asked.size());
  if (asked.empty()) return values;
  device_.read_fields(asked);
  std::transform(asked.begin(), asked.end(), values.begin(), value_of);
  return values;
}

NvmlTelemetry::Sources& NvmlTelemetry::sources() {
  if (sources_) return *sources_;
  sources_ = Sources{};
  Sources& found = *sources_;
  found.instantaneous = fields({field::kPowerInstant})[0].has_value();
  found.pcie_bytes_per_second_at_most = device_.pcie_bytes_per_second_at_most(is_virtual_machine(root_));
  for (const auto& [link, is_up] : device_.nvlinks()) found.nvlinks.push_back(link);

  struct Reason {
    std::string_view name;
    std::vector<unsigned> fields;  ///< the first that answers is taken
    std::optional<int> policy;
  };
  const unsigned first = field::first_slowdown_time(device_.nvml().driver_version());
  const auto slowdown = [&](unsigned offset) { return first ? std::vector{first + offset} : std::vector<unsigned>(); };
  std::vector<unsigned> thermal = slowdown(0);
  thermal.push_back(field::kThermalTime);
  const Reason reasons[] = {{throttle::power_cap.name, {field::kPowerCapTime}, 0},
                            {throttle::thermal.name, thermal, 1},
                            {throttle::sync_boost.name, {field::kSyncBoostTime}, 2},
                            {throttle::hardware_thermal.name, slowdown(1), std::nullopt},
                            {throttle::power_brake.name, slowdown(2), std::nullopt}};
  for (const Reason& reason : reasons) {
    const auto answers = [&](unsigned id) { return fields({id})[0].has_value(); };
    const auto id = std::find_if(reason.fields.begin(), reason.fields.end(), answers);
    ViolationTime time;
    if (id != reason.fields.end()) {
      found.throttle_fields.emplace_back(reason.name, *id);
    } else if (reason.policy && device_.call("nvmlDeviceGetViolationStatus", *reason.policy, &time)) {
      found.throttle_policies.emplace_back(reason.name, *reason.policy);
    }
  }

  for (const int threshold : {kTemperatureSlowdown, kTemperatureGpuMax}) {
    unsigned celsius = 0;
    if (!device_.call("nvmlDeviceGetTemperatureThreshold", threshold, &celsius)) continue;
    found.slowdown_celsius = std::min(found.slowdown_celsius.value_or(celsius), static_cast<double>(celsius));
  }
  found.xid = std::make_unique<XidReports>(device_, kernel_log_, seconds_());
  return found;
}

std::optional<double> NvmlTelemetry::margin_celsius() const {
  MarginTemperature margin;
  if (!device_.call("nvmlDeviceGetMarginTemperature", &margin)) return std::nullopt;
  return margin.celsius;
}

std::map<std::string, double> NvmlTelemetry::throttled_seconds(const std::vector<std::optional<double>>& nanoseconds) const {
  std::map<std::string, double> seconds;
  for (std::size_t i = 0; i < nanoseconds.size(); ++i) {
    if (nanoseconds[i]) seconds[std::string(sources_->throttle_fields[i].first)] = *nanoseconds[i] * 1e-9;
  }
  for (const auto& [reason, policy] : sources_->throttle_policies) {
    ViolationTime time;
    if (!device_.call("nvmlDeviceGetViolationStatus", policy, &time)) continue;
    seconds[std::string(reason)] = static_cast<double>(time.nanoseconds) * 1e-9;
  }
  return seconds;
}

Telemetry NvmlTelemetry::read() {
  Sources& from = sources();
  Telemetry now;
  std::vector<unsigned> ids = {field::kMemoryTemperature, field::kPcieIn, field::kPcieOut, field::kPowerInstant};
  if (!from.instantaneous) ids.pop_back();
  const std::size_t own = ids.size();
  const double seconds = seconds_();
  const bool with_counters = !counters_read_ || seconds - *counters_read_ >= kCounterPeriodSeconds;
  if (with_counters) {
    counters_read_ = seconds;
    for (const auto& [reason, id] : from.throttle_fields) ids.push_back(id);
  }
  const auto values = fields(ids);
  now.memory_temperature_celsius = values[0];
  now.pcie_bytes_per_second = device_.pcie_bytes_per_second_now();
  // Of a lost GPU nothing is told.
  if (now.pcie_bytes_per_second) now.pcie_bytes_per_second_at_most = from.pcie_bytes_per_second_at_most;
  const double at_most = now.pcie_bytes_per_second_at_most.value_or(kFastestPcie);
  now.pcie_in_bytes = pcie_in_.value(values[1], seconds, at_most);
  now.pcie_out_bytes = pcie_out_.value(values[2], seconds, at_most);
  now.power_watts = from.instantaneous ? scaled(values[3], 1e-3) : scaled(device_.number("nvmlDeviceGetPowerUsage"), 1e-3);

  if (with_counters) {
    const auto links = fields({field::kNvlinkIn, field::kNvlinkOut}, field::kAllLinks);
    now.nvlink_in_bytes = scaled(links[0], 1024);
    now.nvlink_out_bytes = scaled(links[1], 1024);
    now.throttled_seconds = throttled_seconds({values.begin() + static_cast<std::ptrdiff_t>(own), values.end()});
    unsigned long long millijoules = 0;
    if (device_.call("nvmlDeviceGetTotalEnergyConsumption", &millijoules)) {
      now.energy_joules = static_cast<double>(millijoules) * 1e-3;
    }
  }
  now.sm_clock_hz = scaled(device_.clock("nvmlDeviceGetClockInfo", kSmClock), 1e6);
  now.memory_clock_hz = scaled(device_.clock("nvmlDeviceGetClockInfo", kMemoryClock), 1e6);
  unsigned celsius = 0;
  if (device_.call("nvmlDeviceGetTemperature", kGpuSensor, &celsius)) now.temperature_celsius = celsius;
  now.slowdown_margin_celsius = margin_celsius();
  if (!now.slowdown_margin_celsius && from.slowdown_celsius && now.temperature_celsius) {
    now.slowdown_margin_celsius = *from.slowdown_celsius - *now.temperature_celsius;
  }
  Utilization used;
  if (device_.call("nvmlDeviceGetUtilizationRates", &used)) now.utilization = used.gpu_percent * 1e-2;
  unsigned long long mask = 0;
  if (device_.call("nvmlDeviceGetCurrentClocksEventReasons", &mask) ||
      device_.call("nvmlDeviceGetCurrentClocksThrottleReasons", &mask)) {
    now.throttle_reasons = throttle_reasons(mask);
  }
  from.xid->drain();
  return now;
}

std::string NvmlTelemetry::power_kind() {
  if (sources().instantaneous) return "instantaneous";
  if (!device_.number("nvmlDeviceGetPowerUsage")) return "";
  // GA100 and what is older have no average.
  int major = 0, minor = 0;
  const bool old =
      device_.call("nvmlDeviceGetCudaComputeCapability", &major, &minor) && std::tie(major, minor) <= std::tuple(8, 0);
  return old ? "instantaneous" : "averaged by the driver";
}

CounterReadings NvmlTelemetry::counters() {
  Sources& from = sources();
  CounterReadings readings;
  std::map<std::string, double> whole;
  count_memory_errors(whole);
  count_pcie_errors(whole, readings);
  count_nvlink_errors(readings);
  state_condition(whole);
  from.xid->drain();
  const auto count_xids = [&whole](const std::string& id, const std::optional<Xids>& xids) {
    if (!xids) return;
    whole[id] = xids->count;
    if (xids->last) whole[id + "_number"] = *xids->last;
    if (xids->age_seconds) whole[id + "_age_seconds"] = *xids->age_seconds;
  };
  count_xids("xid", from.xid->of(XidClass::fault));
  count_xids("application_xid", from.xid->of(XidClass::application));
  count_xids("informational_xid", from.xid->of(XidClass::informational));
  count_xids("past_xid", from.xid->past());
  if (const auto processes = device_.foreign_processes(root_)) {
    whole["foreign_processes"] = static_cast<double>(processes->size());
  }
  if (!whole.empty()) readings[""] = std::move(whole);
  return readings;
}

void NvmlTelemetry::count_memory_errors(std::map<std::string, double>& counters) const {
  constexpr int kAggregate = 1;  // nvmlEccCounterType_t
  for (const auto& [id, type] : {std::pair("ecc_corrected", 0), {"ecc_uncorrected", 1}}) {
    unsigned long long errors = 0;
    if (device_.call("nvmlDeviceGetTotalEccErrors", type, kAggregate, &errors)) counters[id] = static_cast<double>(errors);
  }
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (device_.call("nvmlDeviceGetRemappedRows", &corrected, &uncorrected, &pending, &failed)) {
    counters["remapped_rows_corrected"] = corrected;
    counters["remapped_rows_uncorrected"] = uncorrected;
    counters["remap_pending"] = pending;
    counters["remap_failed"] = failed;
  }
  RepairStatus repair;
  if (device_.call("nvmlDeviceGetRepairStatus", &repair)) {
    counters["channel_repair_pending"] = repair.channel_pending != 0;
    counters["tpc_repair_pending"] = repair.tpc_pending != 0;
  }
  const auto retired = fields({field::kRetiredCorrected, field::kRetiredUncorrected});
  if (retired[0]) counters["retired_pages_corrected"] = *retired[0];
  if (retired[1]) counters["retired_pages_uncorrected"] = *retired[1];
}

void NvmlTelemetry::count_pcie_errors(std::map<std::string, double>& whole, CounterReadings& readings) const {
  if (const auto replays = device_.number("nvmlDeviceGetPcieReplayCounter")) whole["pcie_replays"] = *replays;
  // Some virtual machines say 0 lanes.
  const unsigned lanes = device_.number("nvmlDeviceGetCurrPcieLinkWidth").value_or(0);
  if (lanes > 0) whole["pcie_width"] = lanes;
  const auto count = [&readings](const std::string& name, const std::filesystem::path& end) {
    const PcieErrors errors = pcie_errors(end);
    if (errors.correctable) readings[name]["pcie_correctable_errors"] = *errors.correctable;
    if (errors.nonfatal) readings[name]["pcie_nonfatal_errors"] = *errors.nonfatal;
    if (errors.fatal) readings[name]["pcie_fatal_errors"] = *errors.fatal;
  };
  const std::filesystem::path folder = pci_folder(device_.pci_bus_id(), root_);
  count("GPU", folder);
  if (const auto port = port_above(folder)) count("port " + port->filename().string(), *port);
}

void NvmlTelemetry::count_nvlink_errors(CounterReadings& readings) {
  const auto of_link = [&readings](unsigned link) -> auto& { return readings[fmt::format("link {}", link)]; };
  // Whether questions for links that the GPU lacks fail is not documented.
  const std::vector<unsigned>& links = sources().nvlinks;
  const std::map<unsigned, bool> answering = device_.nvlinks();
  for (const unsigned link : links) {
    // A link that no longer answers is down if others do: of a lost GPU none does.
    const auto found = answering.find(link);
    if (!answering.empty()) of_link(link)["nvlink_links"] = found != answering.end() && found->second;
  }
  // nvmlNvLinkErrorCounter_t: replays, recoveries, CRC errors of flow control and of data.
  constexpr const char* kErrors[] = {"nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors",
                                     "nvlink_crc_errors"};
  constexpr int kRecoveries = 1;
  std::vector<unsigned> without_recoveries;
  for (const unsigned link : links) {
    for (int type = 0; type < static_cast<int>(std::size(kErrors)); ++type) {
      unsigned long long errors = 0;
      if (device_.call("nvmlDeviceGetNvLinkErrorCounter", link, type, &errors)) {
        of_link(link)[kErrors[type]] += static_cast<double>(errors);
      } else if (type == kRecoveries) {
        without_recoveries.push_back(link);
      }
    }
  }
  const auto count = [&](const char* id, unsigned field, const std::vector<unsigned>& of) {
    const auto errors = field_of_links(field, of);
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (errors[i]) of_link(of[i])[id] = *errors[i];
    }
  };
  count(kErrors[kRecoveries], field::kNvlinkRecoveries, without_recoveries);
  count("nvlink_recovery_failures", field::kNvlinkRecoveryFailures, links);
  count("nvlink_effective_errors", field::kNvlinkEffectiveErrors, links);
  count("nvlink_symbol_errors", field::kNvlinkSymbolErrors, links);
  count("nvlink_integrity_errors", field::kNvlinkIntegrityErrors, links);
  count("nvlink_packet_errors", field::kNvlinkPacketErrors, links);
  count("nvlink_remote_errors", field::kNvlinkRemoteErrors, links);
  count("nvlink_header_errors", field::kNvlinkHeaderErrors, links);
}

void NvmlTelemetry::state_condition(std::map<std::string, double>& counters) const {
  const auto action = device_.recovery_action();
  if (action && (*action == 0 || is_fault_of_gpu(*action))) counters["recovery_action"] = *action;
  if (const auto corrupted = device_.inforom_is_corrupted()) counters["inforom_corrupted"] = *corrupted ? 1 : 0;
  if (const auto fabric = device_.fabric(); fabric && fabric->state != kFabricUnknown) {
    counters["fabric_completed"] = fabric->state == kFabricCompleted && fabric->status == 0 ? 1 : 0;
    const FabricHealth health = fabric_health(*fabric);
    if (health.degraded) counters["fabric_degraded"] = *health.degraded ? 1 : 0;
    if (health.unhealthy) counters["fabric_unhealthy"] = *health.unhealthy ? 1 : 0;
  }
  const auto limit = device_.number("nvmlDeviceGetEnforcedPowerLimit");
  const unsigned usual = device_.number("nvmlDeviceGetPowerManagementDefaultLimit").value_or(0);
  if (limit && usual > 0) counters["power_limit_of_default"] = static_cast<double>(*limit) / usual;
}

}  // namespace roofmark::cuda
