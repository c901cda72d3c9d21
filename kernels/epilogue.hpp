// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/kernel.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {

/// D of a product with an epilogue, and what a check needs to expect it.
struct EpilogueReference {
  GemmProblem problem;
  const void* product;  ///< alpha A x B, as D lies in memory
  DataType product_type;
  const void* bias;  ///< null where the epilogue has none
  /// What the sums behind D and behind `product` may be off together: by this, and by this times the product and the bias.
  double sum_error, relative_error;
  /// D's own rounding is at least that of an element of this magnitude.
  double least_rounded = 0;
};

struct EpilogueKernels {
  /// Elements [first, first + count) of D in float64, and what they may be off, in roundoffs u of D's type, with the final
  /// rounding; device arrays of `count` doubles.
  void (*reference)(const EpilogueReference& of, std::int64_t first, std::int64_t count, double* expected, double* allowed,
                    Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS EpilogueKernels epilogue;
}
namespace cpu {
ROOFMARK_KERNELS EpilogueKernels epilogue;
}

}  // namespace roofmark
