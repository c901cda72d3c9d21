// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reductions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/instruction_sets.hpp"
#include "kernels/cpu/reductions_reference.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace roofmark::cpu {

namespace {

using std::int64_t;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

#define ROOFMARK_LOOPS "kernels/cpu/reductions.inc"
#include "kernels/cpu/instruction_sets.inc"

bool supports(ReductionOp, DataType type) { return is_float_type(type); }

void launch(ReductionOp op, DataType type, const ReductionArrays& arrays, int64_t rows, int64_t columns, Stream) {
  static const auto loops = table_for(widest_instruction_set());
  loops(op, type, arrays, rows, columns);
}

}  // namespace

const ReductionKernels reductions = {supports, launch, reductions_reference};

}  // namespace roofmark::cpu
