// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/elementwise_reference.hpp"
#include "kernels/epilogue.hpp"

namespace roofmark {

/// Element i of EpilogueKernels::reference. The sum and the bias are added in fp32 at least. A GELU is allowed the error of
/// tanh.approx.f32, of at most 2^-11 of the tanh (PTX ISA), so |x| / 2 x 2^-11; its derivative is under 1.13.
ROOFMARK_HOST_DEVICE inline Scaled epilogue_reference(const EpilogueReference& of, std::int64_t i) {
  const GemmProblem& p = of.problem;
  const double product = load_as_double(of.product_type, of.product, static_cast<std::size_t>(i));
  double x = product, error = of.sum_error + of.relative_error * fabs(product);
  if (has_bias(p.epilogue)) {
    const std::int64_t row = i / p.d_count() * p.m + i % p.m;
    const double bias = load_as_double(p.bias_type(), of.bias, static_cast<std::size_t>(row));
    x += bias;
    error += unit_roundoff(of.product_type) * (fabs(product) + fabs(bias)) + of.relative_error * fabs(bias);
  }
  double value = x;
  if (has_relu(p.epilogue)) value = x > 0 || x != x ? x : 0;
  if (has_gelu(p.epilogue)) {
    value = gelu_tanh_reference(x).value;
    error = 1.13 * error + 0x1p-12 * fabs(x);
  }
  return {value, fmax(fabs(value), of.least_rounded) + error / unit_roundoff(p.output)};
}

}  // namespace roofmark
