// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Entry points of the driver. There is one: cuTensorMapEncodeTiled.
#include <cuda.h>

#include <cstring>

#include "../interpreter/interpreter.hpp"
#include "state.hpp"

namespace gpu_model::runtime {
namespace {

CUresult refuse(const char* why) {
  say("cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE: %s", why);
  return CUDA_ERROR_INVALID_VALUE;
}

/// Bytes per element; 0 for a type that sm_90 does not have.
std::size_t element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

bool is_integer(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
      return true;
    default:
      return false;
  }
}

/// cuTensorMapEncodeTiled. It refuses what the driver's documentation rules out.
CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* dims,
                      const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps,
                      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                      CUtensorMapFloatOOBfill fill) {
  if (!map || reinterpret_cast<std::uintptr_t>(map) % 64) return refuse("the map is null or not aligned to 64 bytes");
  if (!dims || !box || !steps || (rank > 1 && !strides)) return refuse("an array is null");
  const std::size_t size = element_bytes(type);
  if (size == 0) return refuse("the type is not one of sm_90");
  if (rank < 1 || rank > 5) return refuse("the rank is not one of 1 to 5");
  if (interleave < CU_TENSOR_MAP_INTERLEAVE_NONE || interleave > CU_TENSOR_MAP_INTERLEAVE_32B)
    return refuse("the interleave is unknown");
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && rank < 3) return refuse("an interleave needs rank 3");
  const std::size_t unit = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  if (!address || reinterpret_cast<std::uintptr_t>(address) % unit)
    return refuse("the tensor's address is not aligned to 16 (32) bytes");
  if (swizzle < CU_TENSOR_MAP_SWIZZLE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return refuse("the swizzle is unknown");
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B && swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
    return refuse("the interleave of 32 bytes needs the swizzle of 32 bytes");
  if (promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return refuse("the L2 promotion is unknown");
  if (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return refuse("the fill is unknown");
  if (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && is_integer(type)) return refuse("integers cannot be filled with NaN");
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (dims[i] == 0 || dims[i] > (std::uint64_t{1} << 32)) return refuse("a dimension is 0 or above 2^32");
    if (box[i] == 0 || box[i] > 256) return refuse("a box dimension is 0 or above 256");
    if (steps[i] == 0 || steps[i] > 8) return refuse("an element stride is 0 or above 8");
    if (i + 1 < rank) {
      if (strides[i] % unit || strides[i] >= (std::uint64_t{1} << 40))
        return refuse("a stride is no multiple of 16 (32) bytes, or 2^40 or more");
      const std::uint64_t extent = i == 0 ? dims[0] * size : strides[i - 1] * dims[i];
      if (strides[i] < dims[i]) return refuse("a stride is below its dimension");
      if (strides[i] < extent) say("cuTensorMapEncodeTiled: rows at stride %u overlap", i);
    }
  }
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE) {
    if (box[0] * size % 16) return refuse("a row of the box is no multiple of 16 bytes");
    const std::size_t spans[] = {~std::size_t{0}, 32, 64, 128};
    if (box[0] * size > spans[swizzle]) return refuse("a row of the box is longer than the swizzle's span");
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

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                                        unsigned long long flags, cudaDriverEntryPointQueryResult* result) {
  GPUMODEL_CHECK(enter());
  constexpr unsigned long long largest_flag = cudaEnablePerThreadDefaultStream;
  if (!symbol || !function || flags > largest_flag) return fail(cudaErrorInvalidValue);
  *function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  if (std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0) {
    found = version >= 12000 ? cudaDriverEntryPointSuccess : cudaDriverEntryPointVersionNotSufficent;
    if (found == cudaDriverEntryPointSuccess) *function = reinterpret_cast<void*>(&encode_tiled);
  }
  if (result) *result = found;
  return cudaSuccess;
}
