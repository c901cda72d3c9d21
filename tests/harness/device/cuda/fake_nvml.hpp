// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/device/cuda/nvml.hpp"
#include "tests/harness/fake_telemetry.hpp"

/// An NVML whose answers a test scripts.
namespace roofmark::cuda::fake_nvml {

inline constexpr int kDouble = 0, kUnsigned = 1, kUnsignedLong = 3, kSigned = 5;  // nvmlValueType_t
inline constexpr int kNotSupported = 3;

/// A driver that is not there, and its one GPU.
struct Driver {
  std::string version = "580.95.05";
  std::map<unsigned, double> fields = {{82, 80}, {186, 650'500}, {74, 0}, {75, 0}, {76, 0}, {269, 0}, {270, 0}, {271, 0}};
  std::map<std::pair<unsigned, unsigned>, double> more_of_links;  ///< than `fields` has, by field and link
  std::map<unsigned, int> types;                                  ///< kUnsignedLong
  std::set<std::string> missing, refused;
  bool lost = false;  ///< the GPU has fallen off the bus: no function answers
  int major = 9, minor = 0;
  double milliwatts = 600'000, millijoules = 5'000'000, celsius = 64;
  int margin = 23;
  unsigned long long reasons = 0;
  std::map<int, unsigned long long> policies;  ///< nanoseconds
  unsigned long long corrected = 0, uncorrected = 0;
  unsigned remapped[4] = {0, 0, 0, 0};
  unsigned channel_repair = 0, tpc_repair = 0;  ///< pending
  unsigned replays = 0, lanes = 16, links = 18, links_up = 18, processes = 1;
  unsigned silent_link = ~0u;                           ///< its state cannot be read
  unsigned long long link_errors[5] = {0, 0, 0, 0, 0};  ///< of the first link
  unsigned char fabric = 3;
  unsigned fabric_health = 0x1AA;    ///< nothing is wrong, and the driver tells so
  unsigned char fabric_summary = 1;  ///< healthy
  bool old_fabric = false;           ///< the driver knows nvmlGpuFabricInfo_v2_t, and no later version
  unsigned enforced_milliwatts = 700'000, default_milliwatts = 700'000;
  unsigned application_megahertz = 1980, application_memory_megahertz = 3201;
  bool mig = false;                                 ///< CUDA's device is a MIG instance
  unsigned mps_processes = 0;                       ///< of clients of MPS; process 1 is then its server
  int handles_asked = 0;                            ///< questions for processes, by the MIG instance's handle
  int p2p_read = 0, p2p_nvlink = 0, ancestor = 10;  ///< of any two GPUs
  unsigned direct_links = 0;                        ///< that lead to bus 0x3B
  int link_leads_to = 2;                            ///< nvmlIntNvLinkDeviceType_t: a switch
  std::vector<unsigned long long> xids;             ///< to be delivered
  int inforom = 0;                                  ///< what its validation gives
  int sets = 0;                                     ///< of events, that are not freed
  int field_calls = 0, link_states_asked = 0;
  Latch* hangs_at_energy = nullptr;
};
inline Driver driver;

inline int init() { return 0; }
inline bool is_instance(const void* device) { return device == &driver.mig; }
inline int handle_of(const char* uuid, void** device) {
  const bool of_instance = std::strncmp(uuid, "MIG-", 4) == 0;
  if (of_instance != driver.mig) return 6;
  *device = driver.mig ? static_cast<void*>(&driver.mig) : &driver;
  return 0;
}
inline int gpu_of(void* instance, void** device) {
  *device = &driver;
  return is_instance(instance) ? 0 : 2;
}
inline int version(char* text, unsigned) {
  std::strcpy(text, driver.version.c_str());
  return 0;
}
inline int field_values(void* device, int count, FieldValue* values) {
  if (is_instance(device)) return kNotSupported;
  ++driver.field_calls;
  for (FieldValue* value = values; value < values + count; ++value) {
    const auto found = driver.fields.find(value->field);
    const bool aggregate = value->field == 138 || value->field == 139;
    value->status = found == driver.fields.end() || (aggregate && value->scope != 0xFFFFFFFF) ? kNotSupported : 0;
    if (value->status) continue;
    const auto type = driver.types.find(value->field);
    const auto more = driver.more_of_links.find({value->field, value->scope});
    const double told = found->second + (more == driver.more_of_links.end() ? 0 : more->second);
    value->type = type == driver.types.end() ? kUnsignedLong : type->second;
    if (value->type == kDouble) value->value.fp64 = told;
    if (value->type == kUnsigned) value->value.uint32 = static_cast<unsigned>(told);
    if (value->type == kUnsignedLong) value->value.uint64 = static_cast<unsigned long long>(told);
    if (value->type == kSigned) value->value.int32 = static_cast<int>(told);
  }
  return 0;
}
inline int power(void*, unsigned* milliwatts) {
  *milliwatts = static_cast<unsigned>(driver.milliwatts);
  return 0;
}
inline int enforced_limit(void*, unsigned* milliwatts) {
  *milliwatts = driver.enforced_milliwatts;
  return 0;
}
inline int default_limit(void*, unsigned* milliwatts) {
  *milliwatts = driver.default_milliwatts;
  return 0;
}
inline int application_clock(void*, int domain, unsigned* megahertz) {
  *megahertz = domain == kMemoryClock ? driver.application_memory_megahertz : driver.application_megahertz;
  return domain == kGraphicsClock || domain == kMemoryClock ? 0 : 2;
}
inline int default_application_clock(void*, int domain, unsigned* megahertz) {
  *megahertz = domain == kMemoryClock ? 3201 : 1980;
  return 0;
}
inline int energy(void* device, unsigned long long* millijoules) {
  if (is_instance(device)) return kNotSupported;
  if (driver.hangs_at_energy) driver.hangs_at_energy->pass();
  *millijoules = static_cast<unsigned long long>(driver.millijoules);
  return 0;
}
inline int clock(void*, int domain, unsigned* megahertz) {
  *megahertz = domain == kSmClock ? 1980 : 3201;
  return 0;
}
inline int temperature(void*, int sensor, unsigned* celsius) {
  *celsius = static_cast<unsigned>(driver.celsius);
  return sensor;
}
inline int threshold(void*, int which, unsigned* celsius) {
  *celsius = which == kTemperatureSlowdown ? 95 : 87;
  return which == kTemperatureSlowdown || which == kTemperatureGpuMax ? 0 : 2;
}
inline int margin(void*, MarginTemperature* to) {
  if (to->version != 0x1000008) return 25;
  to->celsius = driver.margin;
  return 0;
}
inline int utilization(void*, Utilization* used) {
  *used = {75, 20};
  return 0;
}
inline int reasons(void*, unsigned long long* mask) {
  *mask = driver.reasons;
  return 0;
}
inline int violation(void*, int policy, ViolationTime* time) {
  if (!driver.policies.contains(policy)) return kNotSupported;
  time->nanoseconds = driver.policies.at(policy);
  return 0;
}
inline int capability(void*, int* major, int* minor) {
  *major = driver.major;
  *minor = driver.minor;
  return 0;
}
inline int ecc(void*, int type, int counter, unsigned long long* errors) {
  *errors = type == 0 ? driver.corrected : driver.uncorrected;
  return counter == 1 ? 0 : 2;
}
inline int rows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  *corrected = driver.remapped[0];
  *uncorrected = driver.remapped[1];
  *pending = driver.remapped[2];
  *failed = driver.remapped[3];
  return 0;
}
inline int repair(void*, RepairStatus* status) {
  if (status->version != 0x100000C) return 25;
  status->channel_pending = driver.channel_repair;
  status->tpc_pending = driver.tpc_repair;
  return 0;
}
inline int replays(void*, unsigned* count) {
  *count = driver.replays;
  return 0;
}
inline int lanes(void*, unsigned* count) {
  *count = driver.lanes;
  return 0;
}
inline int most_lanes(void*, unsigned* count) {
  *count = 16;
  return 0;
}
inline int generation(void*, unsigned* number) {
  *number = 5;
  return 0;
}
inline int link_state(void*, unsigned link, int* up) {
  ++driver.link_states_asked;
  *up = link < driver.links_up;
  return link < driver.links && link != driver.silent_link ? 0 : 2;
}
inline int link_error(void*, unsigned link, int type, unsigned long long* errors) {
  *errors = link == 0 ? driver.link_errors[type] : 1;
  return link < driver.links ? 0 : 2;
}
inline int fabric(void*, FabricInfo* info) {
  if (info->version != (driver.old_fabric ? 0x2000024u : 0x3000028u)) return 25;
  info->state = driver.fabric;
  info->health = driver.fabric_health;
  if (!driver.old_fabric) info->summary = driver.fabric_summary;
  return 0;
}
inline int p2p_status(void*, void*, int capability, int* status) {
  *status = capability == 0 ? driver.p2p_read : capability == 2 ? driver.p2p_nvlink : 6;
  return 0;
}
inline int ancestor(void*, void*, int* level) {
  *level = driver.ancestor;
  return 0;
}
inline int remote(void*, unsigned link, PciInfo* info) {
  if (link >= driver.links) return 2;
  info->bus = link < driver.direct_links ? 0x3B : 0x99;
  return 0;
}
inline int remote_type(void*, unsigned link, int* type) {
  *type = driver.link_leads_to;
  return link < driver.links ? 0 : 2;
}
inline int processes(void* device, unsigned* count, ProcessInfo* found) {
  driver.handles_asked += is_instance(device);
  *count = driver.processes;
  for (unsigned i = 0; i < driver.processes; ++i)
    found[i] = {i == 0 ? static_cast<unsigned>(getpid()) : 100'000'000 + i, 0, 0, 0};
  return 0;
}
inline int mps_processes(void*, unsigned* count, ProcessInfo* found) {
  if (driver.mps_processes == 0) return kNotSupported;
  *count = driver.mps_processes;
  for (unsigned i = 0; i < driver.mps_processes; ++i)
    found[i] = {i == 0 ? static_cast<unsigned>(getpid()) : 200'000'000 + i, 0, 0, 0};
  return 0;
}
inline int process_name(unsigned process, char* text, unsigned) {
  std::strcpy(text, driver.mps_processes > 0 && process == 100'000'001 ? "/usr/bin/nvidia-cuda-mps-server" : "train");
  return 0;
}
inline int create_set(void** set) {
  *set = &driver.sets;
  ++driver.sets;
  return 0;
}
inline int free_set(void*) {
  --driver.sets;
  return 0;
}
inline int register_events(void*, unsigned long long types, void* set) {
  driver.xids.clear();
  return types == 8 && set == &driver.sets ? 0 : kNotSupported;
}
inline int wait_event(void* set, EventData* event, unsigned milliseconds) {
  if (set != &driver.sets || milliseconds != 0) return 2;
  if (driver.xids.empty()) return kTimeout;
  *event = {&driver, 8, driver.xids.front(), 0, 0};
  driver.xids.erase(driver.xids.begin());
  return 0;
}
inline int validate_inforom(void*) { return driver.inforom; }
inline int refuse() { return kNotSupported; }

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

inline const Nvml& library() {
  static const std::map<std::string, void*> functions = {
      {"nvmlInit_v2", address(init)},
      {"nvmlDeviceGetHandleByUUID", address(handle_of)},
      {"nvmlSystemGetDriverVersion", address(version)},
      {"nvmlDeviceGetFieldValues", address(field_values)},
      {"nvmlDeviceGetPowerUsage", address(power)},
      {"nvmlDeviceGetTotalEnergyConsumption", address(energy)},
      {"nvmlDeviceGetClockInfo", address(clock)},
      {"nvmlDeviceGetTemperature", address(temperature)},
      {"nvmlDeviceGetTemperatureThreshold", address(threshold)},
      {"nvmlDeviceGetMarginTemperature", address(margin)},
      {"nvmlDeviceGetUtilizationRates", address(utilization)},
      {"nvmlDeviceGetCurrentClocksEventReasons", address(reasons)},
      {"nvmlDeviceGetViolationStatus", address(violation)},
      {"nvmlDeviceGetCudaComputeCapability", address(capability)},
      {"nvmlDeviceGetTotalEccErrors", address(ecc)},
      {"nvmlDeviceGetRemappedRows", address(rows)},
      {"nvmlDeviceGetRepairStatus", address(repair)},
      {"nvmlDeviceGetPcieReplayCounter", address(replays)},
      {"nvmlDeviceGetCurrPcieLinkWidth", address(lanes)},
      {"nvmlDeviceGetMaxPcieLinkWidth", address(most_lanes)},
      {"nvmlDeviceGetCurrPcieLinkGeneration", address(generation)},
      {"nvmlDeviceGetMaxPcieLinkGeneration", address(generation)},
      {"nvmlDeviceGetNvLinkState", address(link_state)},
      {"nvmlDeviceGetNvLinkErrorCounter", address(link_error)},
      {"nvmlDeviceGetGpuFabricInfoV", address(fabric)},
      {"nvmlDeviceGetP2PStatus", address(p2p_status)},
      {"nvmlDeviceGetTopologyCommonAncestor", address(ancestor)},
      {"nvmlDeviceGetNvLinkRemotePciInfo_v2", address(remote)},
      {"nvmlDeviceGetNvLinkRemoteDeviceType", address(remote_type)},
      {"nvmlDeviceGetComputeRunningProcesses_v2", address(processes)},
      {"nvmlDeviceGetMPSComputeRunningProcesses_v2", address(mps_processes)},
      {"nvmlSystemGetProcessName", address(process_name)},
      {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle", address(gpu_of)},
      {"nvmlDeviceGetEnforcedPowerLimit", address(enforced_limit)},
      {"nvmlDeviceGetPowerManagementDefaultLimit", address(default_limit)},
      {"nvmlDeviceGetApplicationsClock", address(application_clock)},
      {"nvmlDeviceGetDefaultApplicationsClock", address(default_application_clock)},
      {"nvmlEventSetCreate", address(create_set)},
      {"nvmlEventSetFree", address(free_set)},
      {"nvmlDeviceValidateInforom", address(validate_inforom)},
      {"nvmlDeviceRegisterEvents", address(register_events)},
      {"nvmlEventSetWait_v2", address(wait_event)}};
  static const Nvml all([](const std::string& symbol) -> void* {
    const auto found = functions.find(symbol);
    if (found == functions.end() || driver.missing.contains(symbol)) return nullptr;
    return driver.lost || driver.refused.contains(symbol) ? address(refuse) : found->second;
  });
  return all;
}

}  // namespace roofmark::cuda::fake_nvml
