// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemv_reference.hpp"

namespace roofmark::cpu {

namespace {

void compute(const GemvProblem& problem, const GemvArrays& arrays, double spread, double* expected, double* scale, Stream) {
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < problem.m; ++row) {
    const GemvSums sums = gemv_row_sums(problem, arrays, row, 0, 1);
    expected[row] = sums.sum;
    scale[row] = std::fabs(sums.sum) + spread * std::sqrt(sums.squares);
  }
}

}  // namespace

const GemvReference gemv_reference = {compute};

}  // namespace roofmark::cpu
