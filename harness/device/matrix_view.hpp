// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/block_scaled.hpp"

namespace roofmark {

/// A matrix in device memory: element (r, c) is data[r * row_stride + c * column_stride]. One of a block-scaled type is whole:
/// one stride is 1 and the other the length of a line, as block_scaled.hpp lays it out.
struct MatrixView {
  const void* data = nullptr;
  DataType type = DataType::fp32;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
};

/// Element (r, c) of a view whose type is known. Exact.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline double element(const MatrixView& view, std::int64_t r, std::int64_t c) {
  if constexpr (is_block_scaled(kType)) {
    const bool rows_are_lines = view.column_stride == 1;
    const BlockScaledLayout layout = {kType, rows_are_lines ? view.rows : view.columns,
                                      rows_are_lines ? view.columns : view.rows};
    return block_scaled_value<kType>(view.data, layout, rows_are_lines ? r : c, rows_are_lines ? c : r);
  } else {
    using Storage = typename Element<kType>::Storage;
    return Element<kType>::value(static_cast<const Storage*>(view.data)[r * view.row_stride + c * view.column_stride]);
  }
}

/// Calls function.template operator()<type>() for the type of a matrix, known at run time.
template <class Function>
inline decltype(auto) with_matrix_type(DataType type, Function&& function) {
  if (is_block_scaled(type)) return with_block_scaled_type(type, function);
  return with_type(type, function);
}

}  // namespace roofmark
