// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "tests/gpu_model/interpreter/interpreter.hpp"

namespace gpu_model {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap), "a kernel's parameter is a CUtensorMap");

/// Dimensions from the contiguous one on, in elements; strides of all but the first, in bytes.
inline TensorMap tensor_map(const void* address, CUtensorMapDataType type, const std::vector<std::uint64_t>& dimensions,
                            const std::vector<std::uint64_t>& strides, const std::vector<std::uint32_t>& box,
                            CUtensorMapSwizzle swizzle) {
  TensorMap map;
  map.type = static_cast<std::uint8_t>(type);
  map.rank = static_cast<std::uint8_t>(dimensions.size());
  map.swizzle = static_cast<std::uint8_t>(swizzle);
  map.address = reinterpret_cast<std::uint64_t>(address);
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    map.dims[i] = dimensions[i];
    map.box[i] = box[i];
    map.element_strides[i] = 1;
    if (i > 0) map.strides[i - 1] = strides[i - 1];
  }
  return map;
}

}  // namespace gpu_model
