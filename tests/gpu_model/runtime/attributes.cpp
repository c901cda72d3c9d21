// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in CUDA runtime: what the device says of itself, errors' names, and the driver's entry points.
#include <algorithm>
#include <cstring>

#include "runtime.hpp"

namespace gpu_model::runtime {
namespace {

constexpr int kDriverVersion = 13000;

struct Named {
  cudaError_t status;
  const char *name, *text;
};
constexpr Named kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration", "__global__ function call is not configured"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidKernelImage, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", "hardware stack error"},
    {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorInvalidAddressSpace, "cudaErrorInvalidAddressSpace", "operation not supported on global/shared address space"},
    {cudaErrorInvalidPc, "cudaErrorInvalidPc", "invalid program counter"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "invalid cluster size"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not yet initialized"},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch",
     "system has unsupported display driver / cuda driver combination"},
    {cudaErrorCompatNotSupportedOnDevice, "cudaErrorCompatNotSupportedOnDevice",
     "forward compatibility was attempted on non supported HW"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorTimeout, "cudaErrorTimeout", "wait operation timed out"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};
const Named* find(cudaError_t status) {
  for (const Named& error : kErrors) {
    if (error.status == status) return &error;
  }
  return nullptr;
}

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* dims,
                      const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps,
                      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                      CUtensorMapFloatOOBfill fill) {
  const auto refuse = [](const char* why) {
    say("cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE: %s", why);
    return CUDA_ERROR_INVALID_VALUE;
  };
  if (!map || reinterpret_cast<std::uintptr_t>(map) % 64) return refuse("the map is null or not aligned to 64 bytes");
  if (!dims || !box || !steps || (rank > 1 && !strides)) return refuse("a null array");
  std::size_t size = 0;
  bool floating = false;
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      size = 1;
      break;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
      size = 2;
      break;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
      size = 4;
      break;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
      size = 8;
      break;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      size = 2, floating = true;
      break;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      size = 4, floating = true;
      break;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      size = 8, floating = true;
      break;
    default:
      return refuse("a type that sm_90 does not have");
  }
  if (rank < 1 || rank > 5) return refuse("rank");
  if (interleave < CU_TENSOR_MAP_INTERLEAVE_NONE || interleave > CU_TENSOR_MAP_INTERLEAVE_32B) return refuse("interleave");
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && rank < 3) return refuse("interleave needs rank 3");
  const std::size_t unit = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  if (!address || reinterpret_cast<std::uintptr_t>(address) % unit)
    return refuse("the tensor's address is not aligned to 16 (32) bytes");
  if (swizzle < CU_TENSOR_MAP_SWIZZLE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return refuse("swizzle");
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B && swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
    return refuse("interleave 32B needs swizzle 32B");
  if (promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return refuse("L2 promotion");
  if (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return refuse("fill");
  if (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !floating) return refuse("NaN fill of integers");
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (dims[i] == 0 || dims[i] > (std::uint64_t{1} << 32)) return refuse("a dimension is 0 or above 2^32");
    if (box[i] == 0 || box[i] > 256) return refuse("a box dimension is 0 or above 256");
    if (steps[i] == 0 || steps[i] > 8) return refuse("an element stride is 0 or above 8");
    if (i + 1 < rank) {
      if (strides[i] % unit || strides[i] >= (std::uint64_t{1} << 40))
        return refuse("a stride is no multiple of 16 (32) or not below 2^40");
      const std::uint64_t least = i == 0 ? dims[0] * size : strides[i - 1] * dims[i];
      if (strides[i] < dims[i]) return refuse("a stride is below its dimension");
      if (strides[i] < least) say("cuTensorMapEncodeTiled: stride %u overlaps the dimension before it", i);
    }
  }
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE) {
    if (box[0] * size % 16) return refuse("the box's inner bytes are no multiple of 16");
    const std::size_t spans[] = {~std::size_t{0}, 32, 64, 128};
    if (box[0] * size > spans[swizzle]) return refuse("the box's inner bytes exceed the swizzle's span");
  }
  std::size_t extent = dims[0] * size;
  for (cuuint32_t i = 1; i < rank; ++i) extent += (dims[i] - 1) * strides[i - 1];
  const Place place = place_of(address, extent);
  if (place == Place::broken) say("cuTensorMapEncodeTiled: the tensor (%zu bytes) is larger than its allocation", extent);
  if (place == Place::pageable) say("cuTensorMapEncodeTiled: the tensor is not in device memory");
  TensorMap made;
  made.type = static_cast<std::uint8_t>(type);
  made.rank = static_cast<std::uint8_t>(rank);
  made.interleave = static_cast<std::uint8_t>(interleave);
  made.swizzle = static_cast<std::uint8_t>(swizzle);
  made.oob_fill = static_cast<std::uint8_t>(fill);
  made.address = reinterpret_cast<std::uint64_t>(address);
  for (cuuint32_t i = 0; i < rank; ++i) {
    made.dims[i] = dims[i];
    made.box[i] = box[i];
    made.element_strides[i] = static_cast<std::uint8_t>(steps[i]);
    if (i + 1 < rank) made.strides[i] = strides[i];
  }
  static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &made, sizeof made);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

const char* cudaGetErrorName(cudaError_t status) {
  const Named* found = find(status);
  return found ? found->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t status) {
  const Named* found = find(status);
  return found ? found->text : "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return fail(cudaErrorInvalidValue);
  *version = kDriverVersion;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return fail(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

static bool exists(int device) { return device >= 0 && device < static_cast<int>(state().devices.size()); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (const cudaError_t status = enter(false); status != cudaSuccess) return status;
  if (!p) return fail(cudaErrorInvalidValue);
  if (!exists(device)) return fail(cudaErrorInvalidDevice);
  std::memset(p, 0, sizeof *p);
  std::strcpy(p->name, settings().model->name);
  const unsigned char uuid[16] = {0x60, 0xde, 0x1a, 0x90, 0x20, 0x26, 0x11, 0x22,
                                  0x9a, 0x5c, 0,    0,    0,    0,    0,    static_cast<unsigned char>(device)};
  std::memcpy(p->uuid.bytes, uuid, 16);
  p->totalGlobalMem = std::max(settings().total, settings().memory);
  p->sharedMemPerBlock = 48 * 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memPitch = 2147483647;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 65536;
  p->major = settings().model->compute_capability / 10;
  p->minor = settings().model->compute_capability % 10;
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = settings().multiprocessors;
  p->canMapHostMemory = 1;
  p->concurrentKernels = 1;
  p->ECCEnabled = settings().ecc;
  p->pciBusID = 0x18 + device;
  p->pciDeviceID = 0;
  p->asyncEngineCount = 3;
  p->unifiedAddressing = 1;
  p->memoryBusWidth = settings().model->memory_bus_bits;
  p->l2CacheSize = static_cast<int>(settings().l2_bytes);
  p->maxThreadsPerMultiProcessor = 2048;
  p->streamPrioritiesSupported = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->sharedMemPerMultiprocessor = settings().model->shared_per_multiprocessor;
  p->managedMemory = 1;
  p->computePreemptionSupported = 1;
  p->canUseHostPointerForRegisteredMem = 1;
  p->cooperativeLaunch = 1;
  p->sharedMemPerBlockOptin = settings().model->shared_optin;
  p->maxBlocksPerMultiProcessor = 32;
  p->reservedSharedMemPerBlock = 1024;
  p->memoryPoolsSupported = 1;
  p->clusterLaunch = settings().model->clusters;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  if (const cudaError_t status = enter(false); status != cudaSuccess) return status;
  if (!value) return fail(cudaErrorInvalidValue);
  if (!exists(device)) return fail(cudaErrorInvalidDevice);
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 48 * 1024;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
      *value = 65536;
      break;
    case cudaDevAttrClockRate:
      *value = static_cast<int>(settings().model->clock_mhz * 1000);
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = settings().multiprocessors;
      break;
    case cudaDevAttrEccEnabled:
      *value = settings().ecc;
      break;
    case cudaDevAttrComputeMode:
      *value = cudaComputeModeDefault;
      break;
    case cudaDevAttrMemoryClockRate:
      *value = settings().model->memory_clock_mhz * 1000;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = settings().model->memory_bus_bits;
      break;
    case cudaDevAttrL2CacheSize:
      *value = static_cast<int>(settings().l2_bytes);
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = settings().model->compute_capability / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = settings().model->compute_capability % 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(settings().model->shared_per_multiprocessor);
      break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = 65536;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(settings().model->shared_optin);
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = 32;
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrClusterLaunch:
      *value = settings().model->clusters;
      break;
    case cudaDevAttrCooperativeLaunch:
      *value = 1;
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
    case cudaDevAttrUnifiedAddressing:
      *value = 1;
      break;
    case cudaDevAttrStreamPrioritiesSupported:
      *value = 1;
      break;
    case cudaDevAttrPciBusId:
      *value = 0x18 + device;
      break;
    case cudaDevAttrPciDeviceId:
      *value = 0;
      break;
    case cudaDevAttrPciDomainId:
      *value = 0;
      break;
    default:
      say("attribute %d is not modelled", static_cast<int>(which));
      return fail(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  if (const cudaError_t status = enter(false); status != cudaSuccess) return status;
  if (!exists(device)) return fail(cudaErrorInvalidDevice);
  // "[domain]:[bus]:[device].[function]", 13 characters with the NUL.
  if (!text || size < 13) return fail(cudaErrorInvalidValue);
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0", 0x18 + device);
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!symbol || !function || flags > 2) return fail(cudaErrorInvalidValue);
  *function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  if (std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0) {
    if (version >= 12000) {
      *function = reinterpret_cast<void*>(&encode_tiled);
      found = cudaDriverEntryPointSuccess;
    } else {
      found = cudaDriverEntryPointVersionNotSufficent;
    }
  }
  if (result) *result = found;
  return cudaSuccess;
}

/// For the NVML stand-in: sm MHz, memory MHz, watts, degrees, reasons; false where there is no such device.
bool gpumodel_telemetry(int device, double* values, unsigned long long* reasons) {
  if (!exists(device)) return false;
  const Telemetry t = state().devices[static_cast<std::size_t>(device)]->telemetry();
  values[0] = t.sm_mhz;
  values[1] = t.memory_mhz;
  values[2] = t.power_watts;
  values[3] = t.celsius;
  *reasons = t.reasons;
  return true;
}
int gpumodel_devices() { return static_cast<int>(state().devices.size()); }
/// 90 for 9.0.
int gpumodel_compute_capability() { return settings().model->compute_capability; }

}  // extern "C"
