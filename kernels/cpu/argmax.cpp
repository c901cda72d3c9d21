// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/argmax.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "kernels/base/element.hpp"
#include "kernels/cpu/instruction_sets.hpp"

namespace roofmark::cpu {

namespace {

#define ROOFMARK_LOOPS "kernels/cpu/argmax.inc"
#include "kernels/cpu/instruction_sets.inc"

void launch(DataType type, std::int32_t* out, const void* x, std::int64_t rows, std::int64_t columns, Stream) {
  if (type != DataType::fp32) throw Unsupported("argmax on the CPU supports fp32");
  static const auto first_maximum = table_for(instruction_sets().front());
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
