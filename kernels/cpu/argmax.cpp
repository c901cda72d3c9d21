// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/argmax.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "kernels/base/element.hpp"

namespace roofmark::cpu {

namespace {

// A piece stays in the L1 cache while it is searched for its maximum.
constexpr std::int64_t kPiece = 4096;

std::int32_t first_maximum(const float* row, std::int64_t columns) {
  float best = row[0];
  std::int64_t index = 0;
  for (std::int64_t begin = 0; begin < columns; begin += kPiece) {
    const std::int64_t end = std::min(begin + kPiece, columns);
    float piece = row[begin];
    std::uint32_t has_nan = 0;
#pragma omp simd reduction(max : piece) reduction(| : has_nan)
    for (std::int64_t c = begin; c < end; ++c) {
      piece = row[c] > piece ? row[c] : piece;
      has_nan |= row[c] == row[c] ? 0u : 1u;
    }
    if (has_nan != 0)
      return static_cast<std::int32_t>(std::find_if(row + begin, row + end, [](float x) { return x != x; }) - row);
    if (!(piece > best)) continue;
    best = piece;
    index = std::find(row + begin, row + end, piece) - row;
  }
  return static_cast<std::int32_t>(index);
}

void launch(DataType type, std::int32_t* out, const void* x, std::int64_t rows, std::int64_t columns, Stream) {
  if (type != DataType::fp32) throw Unsupported("argmax on the CPU takes fp32");
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) out[r] = first_maximum(static_cast<const float*>(x) + r * columns, columns);
}

void reference(DataType type, const void* x, std::int64_t first, std::int64_t count, std::int64_t columns, double* expected,
               Stream) {
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t row = (first + r) * columns;
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < columns; ++c) {
      if (exceeds(load_as_double(type, x, row + c), load_as_double(type, x, row + best))) best = c;
    }
    expected[r] = static_cast<double>(best);
  }
}

}  // namespace

const ArgmaxKernels argmax = {launch, reference};

}  // namespace roofmark::cpu
