// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudaTypedefs.h>

#include <array>
#include <cstddef>
#include <cstdint>
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

/// A tensor map of a dense array with these sizes, innermost first, for tiles in the 128-byte swizzle: the box has 128 bytes of
/// the innermost dimension at most, and beyond the array's bounds a load has zeros.
template <std::size_t kRank>
CUtensorMap make_tensor_map(EncodeTiled encode, DataType type, const void* data, const std::array<std::int64_t, kRank>& sizes,
                            const std::array<int, kRank>& box) {
  std::array<cuuint64_t, kRank> extents, strides;  // in bytes; that of the innermost dimension is not stated
  std::array<cuuint32_t, kRank> part, steps;
  cuuint64_t bytes = size_of(type);
  for (std::size_t i = 0; i < kRank; ++i) {
    extents[i] = static_cast<cuuint64_t>(sizes[i]);
    part[i] = static_cast<cuuint32_t>(box[i]);
    steps[i] = 1;
    bytes *= extents[i];
    strides[i] = bytes;
  }
  CUtensorMap map;
  check(encode(&map, tensor_map_type(type), kRank, const_cast<void*>(data), extents.data(), strides.data(), part.data(),
               steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

}  // namespace roofmark::cuda
