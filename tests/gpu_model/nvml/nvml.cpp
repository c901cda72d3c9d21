// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in NVML (libnvidia-ml.so.1): asks the stand-in runtime of the same process.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
enum { kSuccess = 0, kUninitialized = 1, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7 };
int g_initialised = 0;
char g_handles[64];

using Telemetry = bool (*)(int, double*, unsigned long long*);
struct Reading {
  double values[4] = {1980, 3201, 115, 31};
  unsigned long long reasons = 1;
};
int devices() {
  auto* count = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "gpumodel_devices"));
  return count ? count() : 0;
}
int index_of(void* handle) {
  const auto* at = static_cast<char*>(handle);
  return at >= g_handles && at < g_handles + 64 ? static_cast<int>(at - g_handles) : -1;
}
int read(void* handle, Reading& reading) {
  if (!g_initialised) return kUninitialized;
  const int index = index_of(handle);
  if (index < 0 || index >= devices()) return kInvalidArgument;
  auto* ask = reinterpret_cast<Telemetry>(dlsym(RTLD_DEFAULT, "gpumodel_telemetry"));
  if (ask) ask(index, reading.values, &reading.reasons);
  return kSuccess;
}
int text(char* to, unsigned length, const char* from) {
  if (!g_initialised) return kUninitialized;
  if (!to) return kInvalidArgument;
  if (length < std::strlen(from) + 1) return kInsufficientSize;
  std::strcpy(to, from);
  return kSuccess;
}
int constant(void* handle, unsigned* to, unsigned value) {
  Reading reading;
  if (const int status = read(handle, reading)) return status;
  if (!to) return kInvalidArgument;
  *to = value;
  return kSuccess;
}
}  // namespace

extern "C" {
int nvmlInit_v2() { return g_initialised = 1, kSuccess; }
int nvmlShutdown() { return g_initialised = 0, kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = static_cast<unsigned>(devices()), kSuccess; }
int nvmlSystemGetDriverVersion(char* to, unsigned length) { return text(to, length, "580.95.05"); }
int nvmlSystemGetProcessName(unsigned, char* to, unsigned length) { return text(to, length, "model"); }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  if (!g_initialised) return kUninitialized;
  if (!uuid || !handle) return kInvalidArgument;
  for (int i = 0; i < devices(); ++i) {
    char mine[64];
    std::snprintf(mine, sizeof mine, "GPU-60de1a90-2026-1122-9a5c-0000000000%02x", i);
    if (std::strcmp(uuid, mine) == 0) return *handle = &g_handles[i], kSuccess;
  }
  return kNotFound;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** handle) {
  if (!g_initialised) return kUninitialized;
  for (int i = 0; i < devices(); ++i) {
    char mine[32];
    std::snprintf(mine, sizeof mine, "0000:%02X:00.0", 0x18 + i);
    if (id && std::strcmp(id, mine) == 0) return *handle = &g_handles[i], kSuccess;
  }
  return kNotFound;
}
int nvmlDeviceGetSerial(void*, char* to, unsigned length) { return text(to, length, "1650000000000"); }
int nvmlDeviceGetVbiosVersion(void*, char* to, unsigned length) { return text(to, length, "96.00.BC.00.01"); }
int nvmlDeviceGetClockInfo(void* handle, int domain, unsigned* to) {
  Reading reading;
  if (const int status = read(handle, reading)) return status;
  if (domain < 0 || domain > 3) return kInvalidArgument;
  *to = static_cast<unsigned>(domain == 2 ? reading.values[1] : reading.values[0]);
  return kSuccess;
}
int nvmlDeviceGetMaxClockInfo(void* handle, int domain, unsigned* to) {
  return constant(handle, to, domain == 2 ? 3201 : 1980);
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* to) {
  Reading reading;
  if (const int status = read(handle, reading)) return status;
  *to = static_cast<unsigned>(reading.values[2] * 1000);
  return kSuccess;
}
int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* to) {
  Reading reading;
  if (const int status = read(handle, reading)) return status;
  if (sensor != 0) return kInvalidArgument;
  *to = static_cast<unsigned>(reading.values[3]);
  return kSuccess;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* handle, unsigned long long* to) {
  Reading reading;
  if (const int status = read(handle, reading)) return status;
  *to = reading.reasons;
  return kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* to) {
  return nvmlDeviceGetCurrentClocksEventReasons(handle, to);
}
int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* to) { return constant(handle, to, 700000); }
int nvmlDeviceGetPowerManagementDefaultLimit(void* handle, unsigned* to) { return constant(handle, to, 700000); }
int nvmlDeviceGetPersistenceMode(void* handle, int* to) { return *to = 1, index_of(handle) < 0 ? kInvalidArgument : kSuccess; }
int nvmlDeviceGetMigMode(void* handle, unsigned* now, unsigned* later) {
  if (const int status = constant(handle, now, 0)) return status;
  return constant(handle, later, 0);
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* handle, unsigned* to) { return constant(handle, to, 5); }
int nvmlDeviceGetCurrPcieLinkWidth(void* handle, unsigned* to) { return constant(handle, to, 16); }
int nvmlDeviceGetMaxPcieLinkGeneration(void* handle, unsigned* to) { return constant(handle, to, 5); }
int nvmlDeviceGetMaxPcieLinkWidth(void* handle, unsigned* to) { return constant(handle, to, 16); }
int nvmlDeviceGetNvLinkState(void* handle, unsigned link, int* to) {
  Reading reading;
  if (const int status = read(handle, reading)) return status;
  if (link >= 18 || !to) return kInvalidArgument;
  *to = 1;
  return kSuccess;
}
int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  Reading reading;
  if (const int status = read(handle, reading)) return status;
  auto* ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "gpumodel_compute_capability"));
  if (!ask) return kNotSupported;
  *major = ask() / 10, *minor = ask() % 10;
  return kSuccess;
}
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};
int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, ProcessInfo* infos) {
  Reading reading;
  if (const int status = read(handle, reading)) return status;
  // GPUMODEL_FOREIGN=n: so many processes of others.
  const char* other = std::getenv("GPUMODEL_FOREIGN");
  const unsigned all = 1 + static_cast<unsigned>(other ? std::atoi(other) : 0);
  if (*count < all || !infos) return *count = all, kInsufficientSize;
  for (unsigned i = 0; i < all; ++i) {
    infos[i] = {i == 0 ? static_cast<unsigned>(getpid()) : 4000000 + i, 512ull << 20, 0xFFFFFFFF, 0xFFFFFFFF};
  }
  *count = all;
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v2(void* handle, unsigned* count, ProcessInfo* infos) {
  return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, infos);
}
}
