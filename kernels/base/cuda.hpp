// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/owned.hpp"

// At global scope, where argument-dependent look-up finds it for cudaError_t. `device`: whose call it was; the current one if
// negative.
inline roofmark::StatusText describe_status(cudaError_t status, int device = -1) {
  if (status == cudaSuccess) return {};
  cudaGetLastError();  // it is reported here, and must not be taken for an error of the next launch
  // Those that toolkit 12.4 has no name for, but a newer driver may return: cudaErrorContained, cudaErrorContextIsDestroyed,
  // cudaErrorTensorMemoryLeak, cudaErrorMpsClientTerminated.
  constexpr int kUnnamed[] = {226, 709, 721, 810};
  bool sticky = std::find(std::begin(kUnnamed), std::end(kUnnamed), static_cast<int>(status)) != std::end(kUnnamed);
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorAssert:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorExternalDevice:
    case cudaErrorMpsServerNotReady:
    case cudaErrorUnknown:
      sticky = true;
      break;
    default:
      break;
  }
  std::string text = std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
  // One process may use several devices, and only one of them is lost.
  if (sticky && (device >= 0 || cudaGetDevice(&device) == cudaSuccess)) text += " (cuda:" + std::to_string(device) + ")";
  return {false, sticky, text};
}

namespace roofmark::cuda {

/// Makes a device the calling thread's current one.
inline void set_device(int device, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(describe_status(cudaSetDevice(device), device), file, line);
}

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;
using OwnedGraph = Owned<cudaGraph_t, cudaGraphDestroy>;
using OwnedGraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

/// A stream that does not synchronise with the default stream.
inline OwnedStream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return OwnedStream(stream);
}

inline OwnedEvent make_event(unsigned flags = cudaEventDefault) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags));
  return OwnedEvent(event);
}

/// Limits for the dimensions of a launch.
struct DeviceLimits {
  int compute_capability;  ///< 90 for 9.0
  int multiprocessors;
  int threads_per_multiprocessor;
  int shared_bytes_per_block;  ///< with cudaFuncAttributeMaxDynamicSharedMemorySize
  int l2_bytes;
  bool clusters;  ///< blocks can be launched as thread-block clusters
};

inline int device_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

/// The limits of the current device. All devices are queried at the first call.
inline const DeviceLimits& device_limits() {
  static const std::vector<DeviceLimits> limits = [] {
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    std::vector<DeviceLimits> all;
    for (int device = 0; device < devices; ++device) {
      const auto attribute = [device](cudaDeviceAttr which) { return device_attribute(which, device); };
      all.push_back({10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor),
                     attribute(cudaDevAttrMultiProcessorCount), attribute(cudaDevAttrMaxThreadsPerMultiProcessor),
                     attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), attribute(cudaDevAttrL2CacheSize),
                     attribute(cudaDevAttrClusterLaunch) != 0});
    }
    return all;
  }();
  int device = 0;
  check(cudaGetDevice(&device));
  return limits.at(static_cast<std::size_t>(device));
}

}  // namespace roofmark::cuda
