// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/elementwise.hpp"

namespace roofmark::cuda {

/// ElementwiseKernels::reference on a GPU.
void elementwise_reference(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, ElementwiseOutput which,
                           std::int64_t first, std::int64_t count, double* expected, double* scale, Stream stream);

}  // namespace roofmark::cuda
