// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudaTypedefs.h>

#include <string>

#include "kernels/base/check.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/base/data_type.hpp"

// At global scope for argument-dependent lookup. The driver's own text would need a link to the driver.
inline roofmark::StatusText describe_status(CUresult status) {
  if (status == CUDA_SUCCESS) return {};
  return {false, false, "CUDA driver error " + std::to_string(static_cast<int>(status))};
}

namespace roofmark::cuda {

using EncodeTiled = PFN_cuTensorMapEncodeTiled_v12000;

/// cuTensorMapEncodeTiled of the driver, found by the runtime: nothing links to the driver. Throws Unsupported, with `what` in
/// front, where the driver has none.
inline EncodeTiled encode_tiled(const std::string& what) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
#else
  check(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result));
#endif
  if (result != cudaDriverEntryPointSuccess || !found) {
    throw Unsupported(what + ": the driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<EncodeTiled>(found);
}

/// How a tensor map has elements of the type.
inline CUtensorMapDataType tensor_map_type(DataType type) {
  switch (type) {
    case DataType::fp16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DataType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DataType::tf32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

}  // namespace roofmark::cuda
