// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/reductions.hpp"

namespace roofmark::cpu {

/// ReductionKernels::reference on the CPU.
void reductions_reference(ReductionOp op, DataType type, const ReductionArrays& arrays, ReductionOutput which,
                          std::int64_t first, std::int64_t count, std::int64_t columns, double* expected, double* scale,
                          Stream stream);

}  // namespace roofmark::cpu
