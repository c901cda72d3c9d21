// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reductions_reference.hpp"

#include "kernels/cpu/reductions_reference.hpp"

namespace roofmark::cpu {

namespace {

/// A row is one thread's.
struct OneLane {
  static std::int64_t first() { return 0; }
  static std::int64_t step() { return 1; }
  static double sum(double part) { return part; }
  static double greatest(double part) { return part; }
};

}  // namespace

void reductions_reference(ReductionOp op, DataType type, const ReductionArrays& arrays, ReductionOutput which,
                          std::int64_t first, std::int64_t count, std::int64_t columns, double* expected, double* scale,
                          Stream) {
  const std::int64_t width = reduction_output_columns(op, which, columns);
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < count; ++r) {
    reduction_reference_row(op, type, arrays, which, first + r, columns, OneLane{}, expected + r * width, scale + r * width);
  }
}

}  // namespace roofmark::cpu
