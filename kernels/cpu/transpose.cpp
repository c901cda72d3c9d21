// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.hpp"

#include <algorithm>
#include <cstdint>

namespace roofmark::cpu {

namespace {

// Sixteen cache lines of eight bytes each way: both tiles fit the L1.
constexpr std::int64_t kTile = 32;

template <class Element>
void transpose_elements(Element* out, const Element* in, std::int64_t rows, std::int64_t columns) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (std::int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const std::int64_t r1 = std::min(r0 + kTile, rows), c1 = std::min(c0 + kTile, columns);
      for (std::int64_t c = c0; c < c1; ++c) {
        for (std::int64_t r = r0; r < r1; ++r) out[c * rows + r] = in[r * columns + c];
      }
    }
  }
}

template <class Element>
void launch_as(void* out, const void* in, std::int64_t rows, std::int64_t columns) {
  transpose_elements(static_cast<Element*>(out), static_cast<const Element*>(in), rows, columns);
}

void launch(DataType type, void* out, const void* in, std::int64_t rows, std::int64_t columns, Stream) {
  switch (size_of(type)) {
    case 1:
      return launch_as<std::uint8_t>(out, in, rows, columns);
    case 2:
      return launch_as<std::uint16_t>(out, in, rows, columns);
    case 4:
      return launch_as<std::uint32_t>(out, in, rows, columns);
    default:
      return launch_as<std::uint64_t>(out, in, rows, columns);
  }
}

}  // namespace

const TransposeKernels transpose = {launch};

}  // namespace roofmark::cpu
