// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/base/element.hpp"
#include "kernels/elementwise.hpp"

namespace roofmark {

/// A value, and the sum of the magnitudes that a correct evaluation in fp32 rounds on the way to it.
struct Scaled {
  double value, scale;
};

/// x sigmoid(u(x)): an error of u's roundoff becomes one of x sigmoid (1 - sigmoid) |u|. `spread` is |x u'(x)|, which is at
/// least |u| and covers the roundings on the way to u.
ROOFMARK_HOST_DEVICE inline Scaled gated(double x, double u, double spread) {
  const double gate = 1 / (1 + exp(-u)), rest = 1 / (1 + exp(u));
  return {x * gate, fabs(x) * gate * (1 + rest * spread)};
}
/// (1 + tanh(u)) / 2 is sigmoid(2 u), which does not cancel.
ROOFMARK_HOST_DEVICE inline Scaled gelu_tanh_reference(double x) {
  const double root = 0.79788456080286535588, cubic = 0.044715;
  return gated(x, 2 * root * (x + cubic * x * x * x), 2 * root * fabs(x) * (1 + 3 * cubic * x * x));
}
/// x Phi(x). The tail's error is x^2 roundoffs: those of the exponent.
ROOFMARK_HOST_DEVICE inline Scaled gelu_erf_reference(double x) {
  const double tail = 0.5 * erfc(-x * 0.70710678118654752440);
  return {x * tail, fabs(x) * tail + x * x * 0.39894228040143267794 * exp(-x * x / 2)};
}

/// The new p, m and v of AdamW, from the old ones and the gradient.
struct AdamWScaled {
  Scaled p, m, v;
};
ROOFMARK_HOST_DEVICE inline AdamWScaled adamw_reference(ElementwiseOp op, double p, double m, double v, double g) {
  const bool all = op == ElementwiseOp::adamw;
  AdamWScaled next = {{p, fabs(p)}, {m, fabs(m)}, {v, v}};
  if (all || op == ElementwiseOp::adamw_decay) next.p.value *= double{AdamW::kKept};
  if (all || op == ElementwiseOp::adamw_first) {
    const double kept = double{AdamW::kBeta1} * m, added = double{AdamW::kRest1} * g;
    next.m = {kept + added, fabs(kept) + fabs(added)};
  }
  if (all || op == ElementwiseOp::adamw_second) {
    const double kept = double{AdamW::kBeta2} * v, added = double{AdamW::kRest2} * g * g;
    next.v = {kept + added, kept + added};
  }
  if (all || op == ElementwiseOp::adamw_update) {
    const double first = double{AdamW::kRate} / double{AdamW::kCorrection1};
    const double divisor = sqrt(next.v.value) / double{AdamW::kRootCorrection2} + double{AdamW::kEpsilon};
    next.p = {next.p.value - first * next.m.value / divisor, fabs(next.p.value) + first * next.m.scale / divisor};
  }
  return next;
}

/// Element i of ElementwiseKernels::reference, directly from the formulas.
ROOFMARK_HOST_DEVICE inline Scaled elementwise_reference(const ElementwiseProblem& problem, const ElementwiseArrays& arrays,
                                                         ElementwiseOutput which, std::int64_t i) {
  const auto at = [](DataType type, const void* data, std::int64_t index) {
    return load_as_double(type, data, static_cast<std::size_t>(index));
  };
  const DataType type = problem.type;
  const std::int64_t row = i / problem.columns, column = i % problem.columns;
  if (is_adamw(problem.op)) {
    const double g = arrays.x ? at(type, arrays.x, i) : 0;
    const auto before = [=](const float* data) { return data ? double{data[i]} : 0.0; };
    const AdamWScaled next =
        adamw_reference(problem.op, before(arrays.p_before), before(arrays.m_before), before(arrays.v_before), g);
    return which == ElementwiseOutput::p ? next.p : which == ElementwiseOutput::m ? next.m : next.v;
  }
  if (problem.op == ElementwiseOp::embedding) {
    const double value = at(type, arrays.x, std::int64_t{arrays.ids[row]} * problem.columns + column);
    return {value, fabs(value)};
  }
  const double x = at(type, arrays.x, i);
  // What is under 2^-126 may be 0, before it is multiplied with x: as many roundoffs of fp32, and fewer of other types.
  const auto or_flushed = [=](const Scaled& exact) { return Scaled{exact.value, exact.scale + (1 + fabs(x)) * 0x1p-102}; };
  switch (problem.op) {
    case ElementwiseOp::add:
    case ElementwiseOp::residual_add: {
      const double y = at(problem.op == ElementwiseOp::add ? type : DataType::fp32, arrays.y, i);
      return {x + y, fabs(x) + fabs(y)};
    }
    case ElementwiseOp::bias_add: {
      const double bias = at(type, arrays.bias, column);
      return {x + bias, fabs(x) + fabs(bias)};
    }
    case ElementwiseOp::relu:
      return {x > 0 || x != x ? x : 0, fabs(x)};
    case ElementwiseOp::gelu_tanh:
      return or_flushed(gelu_tanh_reference(x));
    case ElementwiseOp::gelu_erf:
      return or_flushed(gelu_erf_reference(x));
    case ElementwiseOp::silu:
      return or_flushed(gated(x, x, fabs(x)));
    case ElementwiseOp::swiglu: {
      const Scaled gate = or_flushed(gated(x, x, fabs(x)));
      const double y = at(type, arrays.y, i);
      return {gate.value * y, gate.scale * fabs(y)};
    }
    case ElementwiseOp::bias_gelu_residual: {
      const double bias = at(type, arrays.bias, column), y = at(type, arrays.y, i);
      const Scaled gelu = gelu_tanh_reference(x + bias);
      // The derivative of gelu_tanh is under 1.13.
      return {gelu.value + y, gelu.scale + 1.13 * (fabs(x) + fabs(bias)) + fabs(y)};
    }
    case ElementwiseOp::rope: {
      const std::int64_t half = problem.head / 2, within = column % problem.head, angle = row * half + within % half;
      const double cosine = double{arrays.cosines[angle]}, sine = double{arrays.sines[angle]};
      const double other = at(type, arrays.x, within < half ? i + half : i - half);
      const double turned = (within < half ? -other : other) * sine;
      return {x * cosine + turned, fabs(x * cosine) + fabs(turned)};
    }
    default:
      return {x, fabs(x)};
  }
}

}  // namespace roofmark
