// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.hpp"

#include <algorithm>
#include <cstdint>

namespace roofmark::cpu {

namespace {

// Rows of a matrix whose pitch is a large power of two fall into a few sets of the L1, so a tile is turned in a buffer of its
// own: each row of the input is read, and each row of the output written, in one go.
template <class Element>
constexpr std::int64_t kTile = 256 / static_cast<std::int64_t>(sizeof(Element)) < 64 ? 256 / sizeof(Element) : 64;

template <class Element>
void transpose_elements(Element* out, const Element* in, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kSide = kTile<Element>;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t r0 = 0; r0 < rows; r0 += kSide) {
    for (std::int64_t c0 = 0; c0 < columns; c0 += kSide) {
      const std::int64_t height = std::min(kSide, rows - r0), width = std::min(kSide, columns - c0);
      Element turned[kSide][kSide];
      for (std::int64_t r = 0; r < height; ++r) {
        for (std::int64_t c = 0; c < width; ++c) turned[c][r] = in[(r0 + r) * columns + c0 + c];
      }
      for (std::int64_t c = 0; c < width; ++c) std::copy_n(turned[c], height, out + (c0 + c) * rows + r0);
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
