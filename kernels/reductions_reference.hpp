// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/base/element.hpp"
#include "kernels/reductions.hpp"

namespace roofmark {

/// The maximum; NaN if either is NaN.
ROOFMARK_HOST_DEVICE inline double greater_or_nan(double a, double b) { return a > b || a != a ? a : b; }

/// One row of ReductionKernels::reference, directly from the formulas. `lanes` share the row: each processes columns
/// lanes.first(), + lanes.step(), ..., and all get the same lanes.sum(own part) and lanes.greatest(own part).
///
/// The scales. y = f(x) in fp32 loses |x f'(x)| roundoffs by the rounding of the argument of f, and |y| by its own.
///   softmax        y (1 + |x - max|): the exponent is off by its own roundoff, up to four fp32 roundoffs for a result rounded
///                  to 16 bits; results below 2^-126 may be 0
///   layer_norm     |w| / sigma (|x| + mean of |x|) + |b|: the terms that cancel
///   rms_norm       |y|
///   cross_entropy  1 + |max| + |log(sum)| + |x[target]|: a relative error of the sum is an absolute one of its logarithm
///   row_sum        |sum| + root of the sum of the squares, after the spread of independent roundings (see the bound)
///   others         |y|, and for a sum of two their magnitudes
template <class Lanes>
ROOFMARK_HOST_DEVICE inline void reduction_reference_row(ReductionOp op, DataType type, const ReductionArrays& arrays,
                                                         ReductionOutput which, std::int64_t row, std::int64_t columns,
                                                         const Lanes& lanes, double* expected, double* scale) {
  const auto at = [=](const void* data, std::int64_t c) {
    return load_as_double(type, data, static_cast<std::size_t>(row * columns + c));
  };
  const auto of_column = [=](const void* data, std::int64_t c) {
    return load_as_double(type, data, static_cast<std::size_t>(c));
  };
  const auto x = [=](std::int64_t c) { return at(arrays.x, c); };
  const auto sum_over = [&](auto term) {
    double sum = 0;
    for (std::int64_t c = lanes.first(); c < columns; c += lanes.step()) sum += term(c);
    return lanes.sum(sum);
  };
  const auto greatest_over = [&](auto term) {
    double greatest = -INFINITY;
    for (std::int64_t c = lanes.first(); c < columns; c += lanes.step()) greatest = greater_or_nan(greatest, term(c));
    return lanes.greatest(greatest);
  };
  const auto write_row = [&](auto value, auto value_scale) {
    for (std::int64_t c = lanes.first(); c < columns; c += lanes.step()) {
      expected[c] = value(c);
      scale[c] = value_scale(c);
    }
  };
  const auto write_number = [&](double value, double value_scale) {
    if (lanes.first() != 0) return;
    *expected = value;
    *scale = value_scale;
  };
  const double n = static_cast<double>(columns);

  if (which == ReductionOutput::sum) {
    const auto residual = [=](std::int64_t c) { return at(arrays.residual, c); };
    return write_row([=](std::int64_t c) { return residual(c) + x(c); },
                     [=](std::int64_t c) { return fabs(residual(c)) + fabs(x(c)); });
  }
  if (which == ReductionOutput::scale) {
    const double greatest = greatest_over([=](std::int64_t c) { return fabs(x(c)); }) / double{kGreatestFp8};
    const double value = greatest < double{kLeastScale} ? double{kLeastScale} : greatest;
    return write_number(value, value);
  }
  switch (op) {
    case ReductionOp::softmax: {
      const double m = greatest_over(x);
      const double s = sum_over([=](std::int64_t c) { return exp(x(c) - m); });
      const double flushed = 0x1p-102;  // 2^-126 in roundoffs of fp32, and more than that of other types
      const double farthest = 1000;     // where exp is 0, so that the distance of -inf counts for nothing
      // Four roundoffs of fp32, in those of the type.
      const double share = type == DataType::fp32 ? 1 : type == DataType::fp16 ? 0x1p-11 : 0x1p-14;
      return write_row(
          [=](std::int64_t c) { return exp(x(c) - m) / s; },
          [=](std::int64_t c) { return exp(x(c) - m) / s * (1 + share * fmin(fabs(x(c) - m), farthest)) + flushed; });
    }
    case ReductionOp::cross_entropy: {
      const double m = greatest_over(x);
      const double s = sum_over([=](std::int64_t c) { return exp(x(c) - m); });
      const double picked = x(arrays.target[row]);
      return write_number(m + log(s) - picked, 1 + fabs(m) + fabs(log(s)) + fabs(picked));
    }
    case ReductionOp::layer_norm: {
      const double mean = sum_over(x) / n;
      const double variance = sum_over([=](std::int64_t c) { return (x(c) - mean) * (x(c) - mean); }) / n;
      const double inverse = 1 / sqrt(variance + double{kNormEpsilon});
      const double magnitude = sum_over([=](std::int64_t c) { return fabs(x(c)); }) / n;
      return write_row(
          [=](std::int64_t c) { return (x(c) - mean) * inverse * of_column(arrays.weight, c) + of_column(arrays.bias, c); },
          [=](std::int64_t c) {
            return fabs(of_column(arrays.weight, c)) * inverse * (fabs(x(c)) + magnitude) + fabs(of_column(arrays.bias, c));
          });
    }
    case ReductionOp::rms_norm:
    case ReductionOp::residual_rms_norm: {
      const void* data = op == ReductionOp::rms_norm ? arrays.x : arrays.sum;
      const double mean_square = sum_over([=](std::int64_t c) { return at(data, c) * at(data, c); }) / n;
      const double inverse = 1 / sqrt(mean_square + double{kNormEpsilon});
      const auto value = [=](std::int64_t c) { return at(data, c) * inverse * of_column(arrays.weight, c); };
      return write_row(value, [=](std::int64_t c) { return fabs(value(c)); });
    }
    case ReductionOp::row_sum: {
      const double sum = sum_over(x);
      const double squares = sum_over([=](std::int64_t c) { return x(c) * x(c); });
      return write_number(sum, fabs(sum) + sqrt(squares));
    }
    case ReductionOp::quantise: {
      const double divisor = arrays.scale[row];
      return write_row([=](std::int64_t c) { return x(c) / divisor; }, [=](std::int64_t c) { return fabs(x(c) / divisor); });
    }
  }
}

/// Elements of a row of an output.
constexpr std::int64_t reduction_output_columns(ReductionOp op, ReductionOutput which, std::int64_t columns) {
  return which == ReductionOutput::scale || (which == ReductionOutput::out && gives_one_number(op)) ? 1 : columns;
}

}  // namespace roofmark
