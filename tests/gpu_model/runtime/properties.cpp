// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Properties and attributes of the devices, for the program and for the stand-in of NVML.
#include "properties.hpp"

#include <cstdio>
#include <cstring>

#include "state.hpp"

namespace gpu_model::runtime {
namespace {

constexpr int driver_version = 13000;
constexpr int pci_bus_of_first_device = 0x18;

int pci_bus(int device) { return pci_bus_of_first_device + device_at(device).physical(); }

/// Returns false if the attribute is not modelled.
bool find_attribute(cudaDeviceAttr which, int device, int& value) {
  const Settings& s = settings();
  const DeviceModel& model = *s.model;
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock:
      return value = 1024, true;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return value = 48 * 1024, true;
    case cudaDevAttrWarpSize:
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return value = 32, true;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return value = 65536, true;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return value = model.threads_per_multiprocessor, true;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return value = 1024, true;
    case cudaDevAttrClockRate:  // kHz
      return value = static_cast<int>(model.clock_mhz * 1000), true;
    case cudaDevAttrMemoryClockRate:
      return value = model.memory_clock_mhz * 1000, true;
    case cudaDevAttrGlobalMemoryBusWidth:
      return value = model.memory_bus_bits, true;
    case cudaDevAttrMultiProcessorCount:
      return value = s.multiprocessors, true;
    case cudaDevAttrL2CacheSize:
      return value = static_cast<int>(s.l2_bytes), true;
    case cudaDevAttrComputeCapabilityMajor:
      return value = model.compute_capability / 10, true;
    case cudaDevAttrComputeCapabilityMinor:
      return value = model.compute_capability % 10, true;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return value = model.shared_per_multiprocessor, true;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return value = model.shared_per_block_opt_in, true;
    case cudaDevAttrClusterLaunch:
      return value = model.clusters, true;
    case cudaDevAttrEccEnabled:
      return value = s.ecc, true;
    case cudaDevAttrComputeMode:
      return value = s.taken ? cudaComputeModeExclusiveProcess : cudaComputeModeDefault, true;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
      return value = 1, true;
    case cudaDevAttrHostRegisterSupported:
      return value = !s.confidential, true;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrIntegrated:
      return value = 0, true;
    case cudaDevAttrNumaConfig:
      return value = cudaDeviceNumaConfigNone, true;
    case cudaDevAttrPciBusId:
      return value = pci_bus(device), true;
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
      return value = 0, true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return fail(cudaErrorInvalidValue);
  *version = driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return fail(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  GPUMODEL_CHECK(enter(false));
  if (!p) return fail(cudaErrorInvalidValue);
  if (!exists(device)) return fail(cudaErrorInvalidDevice);
  const DeviceModel& model = *settings().model;
  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    find_attribute(which, device, value);
    return value;
  };
  std::memset(p, 0, sizeof *p);
  std::snprintf(p->name, sizeof p->name, "%s", model.name);
  const unsigned char uuid[] = {
      0x60, 0xde, 0x1a, 0x90, 0x20, 0x26, 0x11, 0x22,
      0x9a, 0x5c, 0,    0,    0,    0,    0,    static_cast<unsigned char>(device_at(device).physical())};
  std::memcpy(p->uuid.bytes, uuid, sizeof uuid);
  p->totalGlobalMem = settings().total_memory_bytes;
  p->sharedMemPerBlock = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock));
  p->sharedMemPerBlockOptin = static_cast<std::size_t>(model.shared_per_block_opt_in);
  p->sharedMemPerMultiprocessor = static_cast<std::size_t>(model.shared_per_multiprocessor);
  p->reservedSharedMemPerBlock = static_cast<std::size_t>(attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  p->regsPerBlock = p->regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerBlock);
  p->warpSize = attribute(cudaDevAttrWarpSize);
  p->memPitch = 2147483647;
  p->maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 65536;
  p->major = attribute(cudaDevAttrComputeCapabilityMajor);
  p->minor = attribute(cudaDevAttrComputeCapabilityMinor);
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = settings().multiprocessors;
  p->maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  p->maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  p->l2CacheSize = static_cast<int>(settings().l2_bytes);
  p->memoryBusWidth = model.memory_bus_bits;
  p->ECCEnabled = settings().ecc;
  p->pciBusID = pci_bus(device);
  p->asyncEngineCount = 3;
  p->clusterLaunch = model.clusters;
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->streamPrioritiesSupported = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = p->managedMemory = p->computePreemptionSupported = 1;
  p->canUseHostPointerForRegisteredMem = p->cooperativeLaunch = p->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  GPUMODEL_CHECK(enter(false));
  if (!value) return fail(cudaErrorInvalidValue);
  if (!exists(device)) return fail(cudaErrorInvalidDevice);
  if (find_attribute(which, device, *value)) return cudaSuccess;
  return fail(cudaErrorInvalidValue, "attribute " + std::to_string(static_cast<int>(which)) + " is not modelled");
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  GPUMODEL_CHECK(enter(false));
  if (!exists(device)) return fail(cudaErrorInvalidDevice);
  // "domain:bus:device.function" and its NUL.
  if (!text || size < 13) return fail(cudaErrorInvalidValue);
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0", pci_bus(device));
  return cudaSuccess;
}

int gpumodel_devices() { return settings().installed_devices; }
int gpumodel_compute_capability() { return settings().model->compute_capability; }
int gpumodel_ecc() { return settings().has_ecc ? settings().ecc : -1; }
bool gpumodel_confidential() { return settings().confidential; }
const DeviceModel* gpumodel_device_model() { return settings().model; }
bool gpumodel_peer_access() { return settings().peer_access; }
bool gpumodel_telemetry(int physical, GpuModelState* to) {
  for (const auto& device : state().devices) {
    if (device->physical() != physical) continue;
    const Telemetry t = device->telemetry();
    *to = {t.sm_mhz, t.memory_mhz, t.power_watts, t.celsius, t.energy_joules, t.throttled_seconds, t.busy, t.reasons};
    return true;
  }
  return false;
}
double gpumodel_counter_step(int physical, const char* id) {
  for (const auto& device : state().devices) {
    if (device->physical() == physical) return device->counter_step(id);
  }
  return 0;
}

}  // extern "C"
