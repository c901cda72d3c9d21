// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/data_type.hpp"

namespace roofmark {

/// A matrix in device memory: element (r, c) is data[r * row_stride + c * column_stride].
struct MatrixView {
  const void* data = nullptr;
  DataType type = DataType::fp32;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
};

}  // namespace roofmark
