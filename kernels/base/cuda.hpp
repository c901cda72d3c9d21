// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "kernels/base/check.hpp"

// At global scope, where argument-dependent look-up finds it for cudaError_t.
inline roofmark::StatusText describe_status(cudaError_t status) {
  if (status == cudaSuccess) return {};
  // cudaErrorContained, which toolkit 12.4 has no name for, but a newer driver may return.
  bool sticky = static_cast<int>(status) == 226;
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
  return {false, sticky, std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status)};
}
