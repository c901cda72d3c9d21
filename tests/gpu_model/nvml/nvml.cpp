// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one function per function of NVML.
// The stand-in NVML (libnvidia-ml.so.1) of the GPUs that the stand-in runtime models.
//
// GPUMODEL_FOREIGN=n          n processes of other users run on every GPU [0]; read at every call
// GPUMODEL_NVML_HANG=s        no call returns once s seconds have passed since the first one [none]
// GPUMODEL_NVML_LOST=s        every GPU is lost once s seconds have passed since the first call [none]
// GPUMODEL_SLOT=n[@device]    PCIe generation of the slot that every GPU, or this one, is in [the GPU's own]
// GPUMODEL_NVLINK_DOMAIN=n/c  the GPUs are in clique c of an NVLink domain of several hosts, number n [none]
//
// GPUMODEL_ARCH, GPUMODEL_DEVICES, GPUMODEL_CLOCK_MHZ, GPUMODEL_THROTTLE and GPUMODEL_COUNTER act through the runtime. The ids
// of GPUMODEL_COUNTER are those of harness/model/counter.hpp, except what is not supported (retired pages, the errors of NVLink
// 5) and AER, which the kernel counts.
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "../runtime/properties.hpp"

namespace {

// From nvml.h, whose values and layouts are a stable interface.
enum Result {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_supported = 3,
  not_found = 6,
  insufficient_size = 7,
  timeout = 10,
  corrupted_inforom = 14,
  gpu_is_lost = 15,
  argument_version_mismatch = 25
};
constexpr int domains = 4, memory_clock = 2;  // nvmlClockType_t
constexpr int gpu_sensor = 0;                 // nvmlTemperatureSensors_t
/// nvmlProcessInfo_t of the functions with suffix _v2 and _v3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};

/// nvmlGpuFabricInfo_v2_t
struct FabricInfo {
  unsigned version;
  unsigned char cluster_uuid[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
constexpr unsigned char fabric_in_progress = 2, fabric_completed = 3;  // nvmlGpuFabricState_t

/// nvmlMarginTemperature_v1_t
struct MarginTemperature {
  unsigned version;
  int celsius;
};
constexpr int slowdown_celsius = 87;

/// nvmlFieldValue_t
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  unsigned long long value;
};
constexpr int unsigned_long_long = 3;  // nvmlValueType_t

/// nvmlRepairStatus_v1_t
struct RepairStatus {
  unsigned version;
  unsigned channel_pending, tpc_pending;
};

/// nvmlEventData_t
struct EventData {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned long long xid_event = 8;

/// Of one device, whose Xid events it delivers.
struct EventSet {
  void* device = nullptr;
  unsigned long long delivered = 0;
};

/// The first 64 GPUs' handles are the addresses of its elements.
char handles[64];
bool initialized = false;

const gpu_model::runtime::DeviceModel& model() { return *gpumodel_device_model(); }

int index_of(const void* handle) {
  const auto* const at = static_cast<const char*>(handle);
  return at >= handles && at < handles + gpumodel_devices() ? static_cast<int>(at - handles) : -1;
}

/// Whether so many seconds have passed since the first call.
bool is_over(const char* variable) {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point first = Clock::now();
  const char* const after = std::getenv(variable);
  return after && Clock::now() - first >= std::chrono::duration<double>(std::atof(after));
}
bool is_lost() { return is_over("GPUMODEL_NVML_LOST"); }

/// Does not return once the driver hangs.
void answer_or_hang() {
  while (is_over("GPUMODEL_NVML_HANG")) ::pause();
}

/// What every function of a device begins with.
Result check(const void* handle, const void* to) {
  answer_or_hang();
  if (!initialized) return uninitialized;
  if (is_lost()) return gpu_is_lost;
  return index_of(handle) >= 0 && to ? success : invalid_argument;
}

GpuModelState read(const void* handle) {
  // What an idle GPU says, for those that the process does not see.
  GpuModelState state{model().clock_mhz, static_cast<double>(model().memory_clock_mhz), 115, 31, 0, 0, 0, 1};
  gpumodel_telemetry(index_of(handle), &state);
  return state;
}

/// Events since the process started.
unsigned long long events(const void* handle, const char* counter) {
  return static_cast<unsigned long long>(gpumodel_counter_step(index_of(handle), counter));
}
/// Of `all` links or lanes, those that are left.
unsigned left(const void* handle, const char* counter, int all) {
  return static_cast<unsigned>(std::max(0.0, all - gpumodel_counter_step(index_of(handle), counter)));
}

template <class To, class Value>
Result answer(const void* handle, To* to, Value value) {
  if (const Result result = check(handle, to)) return result;
  *to = static_cast<To>(value);
  return success;
}

/// Of a GPU and its slot.
unsigned pcie_generation(const void* handle) {
  const auto own = static_cast<unsigned>(model().pcie_generation);
  const char* const slot = std::getenv("GPUMODEL_SLOT");
  unsigned generation = own;
  int device = -1;
  if (!slot || std::sscanf(slot, "%u@%d", &generation, &device) < 1) return own;
  return device < 0 || device == index_of(handle) ? std::min(own, generation) : own;
}

Result answer_text(char* to, unsigned length, const char* text) {
  answer_or_hang();
  if (!initialized) return uninitialized;
  if (!to) return invalid_argument;
  if (length <= std::strlen(text)) return insufficient_size;
  std::strcpy(to, text);
  return success;
}

// The runtime gives its devices the same UUIDs and buses.
constexpr char uuid_format[] = "GPU-60de1a90-2026-1122-9a5c-0000000000%02x";
constexpr char bus_id_format[] = "0000:%02X:00.0";
constexpr int bus_of_first_device = 0x18;

/// The device for which `format` gives the name, with its index counted from `first`.
Result find_device(void** handle, const char* wanted, const char* format, int first) {
  answer_or_hang();
  if (!initialized) return uninitialized;
  if (!wanted || !handle) return invalid_argument;
  for (int i = 0; i < gpumodel_devices(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, format, first + i);
    if (strcasecmp(wanted, name) != 0) continue;
    if (is_lost()) return gpu_is_lost;
    *handle = &handles[i];
    return success;
  }
  return not_found;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names given by NVML.
extern "C" {

int nvmlInit_v2() {
  answer_or_hang();
  initialized = true;
  return success;
}
int nvmlShutdown() {
  initialized = false;
  return success;
}

int nvmlSystemGetNVMLVersion(char* to, unsigned length) { return answer_text(to, length, "13.580.95.05"); }
int nvmlSystemGetDriverVersion(char* to, unsigned length) { return answer_text(to, length, "580.95.05"); }
int nvmlSystemGetConfComputeSettings(unsigned* settings) {
  constexpr unsigned version_1 = 20 | 1u << 24;
  if (!initialized) return uninitialized;
  if (!settings || settings[0] != version_1) return invalid_argument;
  // The environment, whether the feature is on, DevTools mode, the mode of several GPUs.
  const unsigned on = gpumodel_confidential() ? 1 : 0;
  settings[1] = 2 * on;
  settings[2] = on;
  settings[3] = settings[4] = 0;
  return success;
}
int nvmlSystemGetProcessName(unsigned, char* to, unsigned length) { return answer_text(to, length, "model"); }

int nvmlDeviceGetCount_v2(unsigned* count) {
  if (!initialized) return uninitialized;
  if (!count) return invalid_argument;
  *count = static_cast<unsigned>(gpumodel_devices());
  return success;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) { return find_device(handle, uuid, uuid_format, 0); }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** handle) {
  return find_device(handle, bus_id, bus_id_format, bus_of_first_device);
}

int nvmlDeviceGetName(void* handle, char* to, unsigned length) {
  const Result result = check(handle, to);
  return result ? result : answer_text(to, length, model().name);
}
int nvmlDeviceGetSerial(void* handle, char* to, unsigned length) {
  const Result result = check(handle, to);
  return result ? result : answer_text(to, length, "1650000000000");
}
int nvmlDeviceGetVbiosVersion(void* handle, char* to, unsigned length) {
  const Result result = check(handle, to);
  return result ? result : answer_text(to, length, "96.00.BC.00.01");
}
int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  if (!minor) return invalid_argument;
  *minor = gpumodel_compute_capability() % 10;
  return answer(handle, major, gpumodel_compute_capability() / 10);
}

int nvmlDeviceGetClockInfo(void* handle, int domain, unsigned* to) {
  if (const Result result = check(handle, to)) return result;
  if (domain < 0 || domain >= domains) return invalid_argument;
  const GpuModelState reading = read(handle);
  return answer(handle, to, domain == memory_clock ? reading.memory_mhz : reading.sm_mhz);
}
int nvmlDeviceGetMaxClockInfo(void* handle, int domain, unsigned* to) {
  if (domain < 0 || domain >= domains) return invalid_argument;
  return answer(handle, to, domain == memory_clock ? model().memory_clock_mhz : model().clock_mhz);
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* to) {
  const Result result = check(handle, to);
  return result ? result : answer(handle, to, read(handle).watts * 1000);
}
int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* to) {
  if (const Result result = check(handle, to)) return result;
  return sensor == gpu_sensor ? answer(handle, to, read(handle).celsius) : invalid_argument;
}
int nvmlDeviceGetMarginTemperature(void* handle, MarginTemperature* to) {
  if (const Result result = check(handle, to)) return result;
  if (to->version != (sizeof(MarginTemperature) | 1u << 24)) return argument_version_mismatch;
  to->celsius = slowdown_celsius - static_cast<int>(read(handle).celsius);
  return success;
}
int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* to) {
  const Result result = check(handle, to);
  return result ? result : answer(handle, to, read(handle).joules * 1000);
}
int nvmlDeviceGetUtilizationRates(void* handle, unsigned* gpu_and_memory_percent) {
  if (const Result result = check(handle, gpu_and_memory_percent)) return result;
  gpu_and_memory_percent[0] = gpu_and_memory_percent[1] = read(handle).busy ? 100 : 0;
  return success;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* handle, unsigned long long* to) {
  const Result result = check(handle, to);
  return result ? result : answer(handle, to, read(handle).reasons);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* to) {
  return nvmlDeviceGetCurrentClocksEventReasons(handle, to);
}
int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* to) {
  const double share = std::max(0.0, 1 - gpumodel_counter_step(index_of(handle), "power_limit_of_default"));
  return answer(handle, to, model().power_limit_watts * 1000 * share);
}
int nvmlDeviceGetPowerManagementDefaultLimit(void* handle, unsigned* to) {
  return answer(handle, to, model().power_limit_watts * 1000);
}
int nvmlDeviceGetPersistenceMode(void* handle, int* to) { return answer(handle, to, 1); }
int nvmlDeviceGetEccMode(void* handle, unsigned* now, unsigned* pending) {
  if (gpumodel_ecc() < 0) return not_supported;
  const Result result = answer(handle, now, gpumodel_ecc());
  return result ? result : answer(handle, pending, gpumodel_ecc());
}
int nvmlDeviceGetMigMode(void* handle, unsigned* now, unsigned* pending) {
  const Result result = answer(handle, now, 0);
  return result ? result : answer(handle, pending, 0);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void* handle, unsigned* to) { return answer(handle, to, pcie_generation(handle)); }
int nvmlDeviceGetMaxPcieLinkGeneration(void* handle, unsigned* to) { return answer(handle, to, pcie_generation(handle)); }
int nvmlDeviceGetGpuMaxPcieLinkGeneration(void* handle, unsigned* to) { return answer(handle, to, model().pcie_generation); }
int nvmlDeviceGetCurrPcieLinkWidth(void* handle, unsigned* to) { return answer(handle, to, left(handle, "pcie_width", 16)); }
int nvmlDeviceGetMaxPcieLinkWidth(void* handle, unsigned* to) { return answer(handle, to, 16); }
int nvmlDeviceGetNvLinkState(void* handle, unsigned link, int* to) {
  if (link >= static_cast<unsigned>(model().nvlinks)) return invalid_argument;
  return answer(handle, to, link < left(handle, "nvlink_links", model().nvlinks));
}

/// All links lead to switches.
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* handle, unsigned link, void* to) {
  if (const Result result = check(handle, to)) return result;
  return link >= static_cast<unsigned>(model().nvlinks) ? invalid_argument : not_supported;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void* handle, unsigned link, int* to) {
  constexpr int a_switch = 2;  // nvmlIntNvLinkDeviceType_t
  if (link >= static_cast<unsigned>(model().nvlinks)) return invalid_argument;
  return answer(handle, to, a_switch);
}

/// Two GPUs share a PCIe switch, and four a host bridge.
int nvmlDeviceGetTopologyCommonAncestor(void* one, void* other, int* to) {
  if (const Result result = check(one, to)) return result;
  if (const Result result = check(other, to)) return result;
  constexpr int single_switch = 10, host_bridge = 30, system = 50;  // nvmlGpuTopologyLevel_t
  const int a = index_of(one), b = index_of(other);
  *to = a / 2 == b / 2 ? single_switch : a / 4 == b / 4 ? host_bridge : system;
  return success;
}
int nvmlDeviceGetP2PStatus(void* one, void* other, int index, int* to) {
  if (const Result result = check(one, to)) return result;
  if (const Result result = check(other, to)) return result;
  constexpr int nvlink = 2, last = 4;                                       // nvmlGpuP2PCapsIndex_t
  constexpr int ok = 0, chipset_not_supported = 1, not_supported_here = 5;  // nvmlGpuP2PStatus_t
  if (one == other || index < 0 || index > last) return invalid_argument;
  *to = !gpumodel_peer_access() ? chipset_not_supported : index == nvlink && model().nvlinks == 0 ? not_supported_here : ok;
  return success;
}

int nvmlDeviceGetGpuFabricInfoV(void* handle, FabricInfo* to) {
  if (const Result result = check(handle, to)) return result;
  if (to->version != (sizeof(FabricInfo) | 2u << 24)) return argument_version_mismatch;
  const char* const domain = std::getenv("GPUMODEL_NVLINK_DOMAIN");
  const unsigned char state = left(handle, "fabric_completed", 1) ? fabric_completed : fabric_in_progress;
  // NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW and _ROUTE_UNHEALTHY: 1 is true, 2 false.
  const unsigned degraded = events(handle, "fabric_degraded") ? 1 : 2, unhealthy = events(handle, "fabric_unhealthy") ? 1 : 2;
  *to = {to->version, {}, success, 0, state, degraded | unhealthy << 4};
  unsigned number = 0;
  if (domain && std::sscanf(domain, "%u/%u", &number, &to->clique) == 2) std::memcpy(to->cluster_uuid, &number, sizeof number);
  return success;
}

/// NVML_FI_DEV_* as driver 580.95 numbers them.
int nvmlDeviceGetFieldValues(void* handle, int count, FieldValue* values) {
  if (const Result result = check(handle, values)) return result;
  const GpuModelState now = read(handle);
  for (FieldValue* value = values; value < values + count; ++value) {
    value->type = unsigned_long_long;
    value->status = success;
    switch (value->field) {
      case 74:   // PERF_POLICY_POWER
      case 76:   // PERF_POLICY_SYNC_BOOST
      case 270:  // CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN
      case 271:  // CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN
        value->value = 0;
        break;
      case 75:   // PERF_POLICY_THERMAL
      case 269:  // CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN
        value->value = static_cast<unsigned long long>(now.throttled_seconds * 1e9);
        break;
      case 82:  // MEMORY_TEMP
        value->value = static_cast<unsigned long long>(now.celsius + 5);
        break;
      case 186:  // POWER_INSTANT
        value->value = static_cast<unsigned long long>(now.watts * 1000);
        break;
      case 230:  // GET_GPU_RECOVERY_ACTION
        value->value = events(handle, "recovery_action");
        break;
      default:
        value->status = not_supported;
    }
  }
  return success;
}

int nvmlDeviceGetTotalEccErrors(void* handle, int type, int counts, unsigned long long* to) {
  if (type < 0 || type > 1 || counts < 0 || counts > 1) return invalid_argument;
  return answer(handle, to, events(handle, type == 0 ? "ecc_corrected" : "ecc_uncorrected"));
}
int nvmlDeviceGetRemappedRows(void* handle, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  if (!uncorrected || !pending || !failed) return invalid_argument;
  if (const Result result = answer(handle, corrected, events(handle, "remapped_rows_corrected"))) return result;
  *uncorrected = static_cast<unsigned>(events(handle, "remapped_rows_uncorrected"));
  *pending = events(handle, "remap_pending") > 0;
  *failed = events(handle, "remap_failed") > 0;
  return success;
}
int nvmlDeviceGetRepairStatus(void* handle, RepairStatus* to) {
  if (const Result result = check(handle, to)) return result;
  if (to->version != (sizeof(RepairStatus) | 1u << 24)) return argument_version_mismatch;
  to->channel_pending = events(handle, "channel_repair_pending") > 0;
  to->tpc_pending = events(handle, "tpc_repair_pending") > 0;
  return success;
}
int nvmlDeviceValidateInforom(void* handle) {
  int valid = 0;
  const Result result = check(handle, &valid);
  return result ? result : events(handle, "inforom_corrupted") > 0 ? corrupted_inforom : success;
}
int nvmlDeviceGetPcieReplayCounter(void* handle, unsigned* to) { return answer(handle, to, events(handle, "pcie_replays")); }
/// All errors are those of the first link.
int nvmlDeviceGetNvLinkErrorCounter(void* handle, unsigned link, int type, unsigned long long* to) {
  constexpr const char* types[] = {"nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors"};
  if (link >= static_cast<unsigned>(model().nvlinks) || type < 0) return invalid_argument;
  if (type >= static_cast<int>(std::size(types))) return not_supported;
  return answer(handle, to, link == 0 ? events(handle, types[type]) : 0);
}

int nvmlEventSetCreate(EventSet** set) {
  if (!initialized) return uninitialized;
  if (!set) return invalid_argument;
  *set = new EventSet;
  return success;
}
int nvmlEventSetFree(EventSet* set) {
  delete set;
  return success;
}
int nvmlDeviceRegisterEvents(void* handle, unsigned long long types, EventSet* set) {
  if (const Result result = check(handle, set)) return result;
  if (types != xid_event) return not_supported;
  set->device = handle;
  return success;
}
/// There is nothing to wait for: what happened is there at once.
int nvmlEventSetWait_v2(EventSet* set, EventData* event, unsigned) {
  if (!set || !event) return invalid_argument;
  if (is_lost()) return gpu_is_lost;
  if (!set->device) return timeout;
  constexpr std::pair<const char*, unsigned long long> numbers[] = {
      {"xid", 79}, {"application_xid", 31}, {"informational_xid", 63}};
  unsigned long long before = 0;
  for (const auto& [id, number] : numbers) {
    before += events(set->device, id);
    if (set->delivered >= before) continue;
    ++set->delivered;
    *event = {set->device, xid_event, number, 0xFFFFFFFF, 0xFFFFFFFF};
    return success;
  }
  return timeout;
}

/// This process and those of others.
int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, ProcessInfo* processes) {
  if (const Result result = check(handle, count)) return result;
  const char* const foreign = std::getenv("GPUMODEL_FOREIGN");
  const unsigned all = 1 + static_cast<unsigned>((foreign ? std::atoi(foreign) : 0) + events(handle, "foreign_processes"));
  const unsigned room = processes ? *count : 0;
  *count = all;
  if (room < all) return insufficient_size;
  constexpr unsigned no_instance = 0xFFFFFFFF, first_foreign = 4'000'001;
  for (unsigned i = 0; i < all; ++i) {
    const unsigned process = i == 0 ? static_cast<unsigned>(getpid()) : first_foreign + i - 1;
    processes[i] = {process, 512ull << 20, no_instance, no_instance};
  }
  return success;
}
int nvmlDeviceGetComputeRunningProcesses_v2(void* handle, unsigned* count, ProcessInfo* processes) {
  return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, processes);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
