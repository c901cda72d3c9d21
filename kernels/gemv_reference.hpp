// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/base/element.hpp"
#include "kernels/gemv.hpp"

namespace roofmark {

/// Sums over terms W[r, c] x[c], in float64.
struct GemvSums {
  double sum = 0;
  double squares = 0;
};

/// The weight W[row, column], with its scale.
ROOFMARK_HOST_DEVICE inline double gemv_weight(const GemvProblem& p, const GemvArrays& arrays, std::int64_t row,
                                               std::int64_t column) {
  const auto at = static_cast<std::size_t>(row * p.k + column);
  if (p.weights == GemvWeights::plain) return load_as_double(p.type, arrays.w, at);
  const double scale =
      load_as_double(p.type, arrays.scales, static_cast<std::size_t>(row * (p.k / kGemvGroup) + column / kGemvGroup));
  if (p.weights == GemvWeights::fp8) return scale * load_as_double(DataType::fp8, arrays.w, at);
  if (p.weights == GemvWeights::int8) return scale * load_as_double(DataType::int8, arrays.w, at);
  const int byte = static_cast<const std::uint8_t*>(arrays.w)[at / 2];
  const int bits = at % 2 == 0 ? byte & 15 : byte >> 4;
  return scale * (bits < 8 ? bits : bits - 16);
}

/// The terms of columns first, first + step, ... of a row.
ROOFMARK_HOST_DEVICE inline GemvSums gemv_row_sums(const GemvProblem& p, const GemvArrays& arrays, std::int64_t row,
                                                   std::int64_t first, std::int64_t step) {
  GemvSums sums;
  for (std::int64_t column = first; column < p.k; column += step) {
    const double term =
        gemv_weight(p, arrays, row, column) * load_as_double(p.type, arrays.x, static_cast<std::size_t>(column));
    sums.sum += term;
    sums.squares += term * term;
  }
  return sums;
}

/// In float64, expected[r] = y[r] and scale[r] = |y[r]| + spread x the root of the sum of the squares of its terms: the
/// expected error of the fp32 sums, because the signs of the terms are as good as random. Device arrays of m doubles.
struct GemvReference {
  void (*compute)(const GemvProblem& problem, const GemvArrays& arrays, double spread, double* expected, double* scale,
                  Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS GemvReference gemv_reference;
}
namespace cpu {
ROOFMARK_KERNELS GemvReference gemv_reference;
}

}  // namespace roofmark
