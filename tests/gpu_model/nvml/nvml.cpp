// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in NVML (libnvidia-ml.so.1) of the GPUs that the stand-in runtime models.
//
// GPUMODEL_FOREIGN=n          n processes of other users run on every GPU [0]; read at every call
// GPUMODEL_NVLINK_DOMAIN=n/c  the GPUs are in clique c of an NVLink domain of several hosts, number n [none]
//
// GPUMODEL_ARCH, GPUMODEL_DEVICES, GPUMODEL_CLOCK_MHZ and GPUMODEL_THROTTLE act through the runtime.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../runtime/properties.hpp"

namespace {

// From nvml.h, whose values and layouts are a stable interface.
enum Result {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_found = 6,
  insufficient_size = 7,
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
constexpr unsigned char fabric_completed = 3;  // nvmlGpuFabricState_t

/// The first 64 GPUs' handles are the addresses of its elements.
char handles[64];
bool initialized = false;

const gpu_model::runtime::DeviceModel& model() { return *gpumodel_device_model(); }

struct Reading {
  double sm_mhz = 0, memory_mhz = 0, watts = 0, celsius = 0;
  unsigned long long reasons = 0;
};

int index_of(const void* handle) {
  const auto* const at = static_cast<const char*>(handle);
  return at >= handles && at < handles + gpumodel_devices() ? static_cast<int>(at - handles) : -1;
}

/// What every function of a device begins with.
Result check(const void* handle, const void* to) {
  if (!initialized) return uninitialized;
  return index_of(handle) >= 0 && to ? success : invalid_argument;
}

Reading read(const void* handle) {
  // What an idle GPU says, for those that the process does not see.
  double values[] = {static_cast<double>(model().clock_mhz), static_cast<double>(model().memory_clock_mhz), 115, 31};
  Reading reading;
  reading.reasons = 1;
  gpumodel_telemetry(index_of(handle), values, &reading.reasons);
  reading.sm_mhz = values[0], reading.memory_mhz = values[1], reading.watts = values[2], reading.celsius = values[3];
  return reading;
}

template <class To, class Value>
Result answer(const void* handle, To* to, Value value) {
  if (const Result result = check(handle, to)) return result;
  *to = static_cast<To>(value);
  return success;
}

Result answer_text(char* to, unsigned length, const char* text) {
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
  if (!initialized) return uninitialized;
  if (!wanted || !handle) return invalid_argument;
  for (int i = 0; i < gpumodel_devices(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, format, first + i);
    if (std::strcmp(wanted, name) != 0) continue;
    *handle = &handles[i];
    return success;
  }
  return not_found;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names given by NVML.
extern "C" {

int nvmlInit_v2() {
  initialized = true;
  return success;
}
int nvmlShutdown() {
  initialized = false;
  return success;
}

int nvmlSystemGetDriverVersion(char* to, unsigned length) { return answer_text(to, length, "580.95.05"); }
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
  const Reading reading = read(handle);
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
int nvmlDeviceGetCurrentClocksEventReasons(void* handle, unsigned long long* to) {
  const Result result = check(handle, to);
  return result ? result : answer(handle, to, read(handle).reasons);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* to) {
  return nvmlDeviceGetCurrentClocksEventReasons(handle, to);
}
int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* to) { return answer(handle, to, model().power_limit_watts * 1000); }
int nvmlDeviceGetPowerManagementDefaultLimit(void* handle, unsigned* to) {
  return answer(handle, to, model().power_limit_watts * 1000);
}
int nvmlDeviceGetPersistenceMode(void* handle, int* to) { return answer(handle, to, 1); }
int nvmlDeviceGetMigMode(void* handle, unsigned* now, unsigned* pending) {
  const Result result = answer(handle, now, 0);
  return result ? result : answer(handle, pending, 0);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void* handle, unsigned* to) { return answer(handle, to, model().pcie_generation); }
int nvmlDeviceGetMaxPcieLinkGeneration(void* handle, unsigned* to) { return answer(handle, to, model().pcie_generation); }
int nvmlDeviceGetCurrPcieLinkWidth(void* handle, unsigned* to) { return answer(handle, to, 16); }
int nvmlDeviceGetMaxPcieLinkWidth(void* handle, unsigned* to) { return answer(handle, to, 16); }
int nvmlDeviceGetNvLinkState(void* handle, unsigned link, int* to) {
  return link < static_cast<unsigned>(model().nvlinks) ? answer(handle, to, 1) : invalid_argument;
}

int nvmlDeviceGetGpuFabricInfoV(void* handle, FabricInfo* to) {
  if (const Result result = check(handle, to)) return result;
  if (to->version != (sizeof(FabricInfo) | 2u << 24)) return argument_version_mismatch;
  const char* const domain = std::getenv("GPUMODEL_NVLINK_DOMAIN");
  *to = {to->version, {}, success, 0, fabric_completed, 0};
  unsigned number = 0;
  if (domain && std::sscanf(domain, "%u/%u", &number, &to->clique) == 2) std::memcpy(to->cluster_uuid, &number, sizeof number);
  return success;
}

/// This process and those of others.
int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, ProcessInfo* processes) {
  if (const Result result = check(handle, count)) return result;
  const char* const foreign = std::getenv("GPUMODEL_FOREIGN");
  const unsigned all = 1 + static_cast<unsigned>(foreign ? std::atoi(foreign) : 0);
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
