// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <cmath>
#include <cstring>

#include "kernels/cpu/elementwise_reference.hpp"
#include "kernels/cpu/instruction_sets.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace roofmark::cpu {

namespace {

using std::int64_t;

#define ROOFMARK_LOOPS "kernels/cpu/elementwise.inc"
#include "kernels/cpu/instruction_sets.inc"

void embedding(const ElementwiseProblem& problem, const ElementwiseArrays& arrays) {
  const std::size_t row_bytes = static_cast<std::size_t>(problem.columns) * size_of(problem.type);
  const auto* table = static_cast<const std::byte*>(arrays.x);
  auto* out = static_cast<std::byte*>(arrays.out);
  const int64_t rows = problem.rows;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(out + static_cast<std::size_t>(r) * row_bytes, table + static_cast<std::size_t>(arrays.ids[r]) * row_bytes,
                row_bytes);
  }
}

bool supports(const ElementwiseProblem& problem) {
  if (problem.op == ElementwiseOp::embedding) return true;
  if (problem.op == ElementwiseOp::cast && problem.to != DataType::fp8 && !is_float_type(problem.to)) return false;
  return is_float_type(problem.type);
}

void launch(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, Stream) {
  if (problem.op == ElementwiseOp::embedding) return embedding(problem, arrays);
  static const auto loops = table_for(widest_instruction_set());
  loops(problem, arrays);
}

}  // namespace

const ElementwiseKernels elementwise = {supports, launch, elementwise_reference};

}  // namespace roofmark::cpu
