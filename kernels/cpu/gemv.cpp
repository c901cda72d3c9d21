// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemv.hpp"

#include <algorithm>

#include "kernels/cpu/instruction_sets.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace roofmark::cpu {

namespace {

#define ROOFMARK_LOOPS "kernels/cpu/gemv.inc"
#include "kernels/cpu/instruction_sets.inc"

bool supports(const GemvProblem& p) {
  return is_float_type(p.type) && (p.weights == GemvWeights::plain || p.k % kGemvGroup == 0);
}

void launch(const GemvProblem& p, const GemvArrays& arrays, Stream) {
  static const auto loops = table_for(widest_instruction_set());
  loops(p, arrays);
}

}  // namespace

const GemvKernels gemv = {supports, launch};

}  // namespace roofmark::cpu
