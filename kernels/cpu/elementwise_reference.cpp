// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise_reference.hpp"

#include "kernels/cpu/elementwise_reference.hpp"

namespace roofmark::cpu {

void elementwise_reference(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, ElementwiseOutput which,
                           std::int64_t first, std::int64_t count, double* expected, double* scale, Stream) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const Scaled found = roofmark::elementwise_reference(problem, arrays, which, first + i);
    expected[i] = found.value;
    scale[i] = found.scale;
  }
}

}  // namespace roofmark::cpu
