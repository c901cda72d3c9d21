// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/activations.hpp"
#include "kernels/cpu/elementwise_reference.hpp"
#include "kernels/cpu/vector_math.hpp"
#include "kernels/element.hpp"

namespace roofmark::cpu {

namespace {

using std::int64_t;

struct Math {
  using Tail = TailOfDegree9;
  static float exp(float x) { return vector_exp(x); }
  static float reciprocal(float x) { return 1.0F / x; }
};

/// Calls one(i) for i under n, in shares that the compiler makes vectors of.
template <class One>
void for_each(int64_t n, One one) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; ++i) one(i);
}
/// Calls one(row, column) alike.
template <class One>
void for_rows(const ElementwiseProblem& problem, One one) {
  const int64_t rows = problem.rows, columns = problem.columns;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) one(r * columns + c, c);
  }
}

void cast(const ElementwiseProblem& problem, const ElementwiseArrays& arrays) {
  const int64_t n = problem.elements();
  if (problem.type == DataType::bf16) {
    const auto* x = static_cast<const std::uint16_t*>(arrays.x);
    const auto wide = [](std::uint16_t bits) { return same_bits<float>(static_cast<std::uint32_t>(bits) << 16); };
    if (problem.to == DataType::fp32) {
      auto* out = static_cast<float*>(arrays.out);
      return for_each(n, [=](int64_t i) { out[i] = wide(x[i]); });
    }
    auto* out = static_cast<std::uint8_t*>(arrays.out);
    return for_each(n, [=](int64_t i) { out[i] = vector_fp8(wide(x[i])); });
  }
  const auto* x = static_cast<const float*>(arrays.x);
  auto* out = static_cast<std::uint16_t*>(arrays.out);
  for_each(n, [=](int64_t i) { out[i] = vector_bf16(x[i]); });
}

void rope(const ElementwiseProblem& problem, const ElementwiseArrays& arrays) {
  const int64_t half = problem.head / 2, heads = problem.columns / problem.head, tokens = problem.rows;
  const auto* x = static_cast<const float*>(arrays.x);
  auto* out = static_cast<float*>(arrays.out);
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t head = 0; head < heads; ++head) {
      const float *cosine = arrays.cosines + token * half, *sine = arrays.sines + token * half;
      const float* a = x + (token * heads + head) * problem.head;
      float* to = out + (token * heads + head) * problem.head;
#pragma omp simd
      for (int64_t i = 0; i < half; ++i) {
        to[i] = a[i] * cosine[i] - a[i + half] * sine[i];
        to[i + half] = a[i + half] * cosine[i] + a[i] * sine[i];
      }
    }
  }
}

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

float decayed(float p) { return p * AdamW::kKept; }
float first_moment(float m, float g) { return AdamW::kBeta1 * m + AdamW::kRest1 * g; }
float second_moment(float v, float g) { return AdamW::kBeta2 * v + AdamW::kRest2 * g * g; }
float updated(float p, float m, float v) {
  constexpr float kRate = AdamW::kRate / AdamW::kCorrection1;
  return p - kRate * m / (std::sqrt(v) / AdamW::kRootCorrection2 + AdamW::kEpsilon);
}

bool supports(const ElementwiseProblem& problem) {
  if (problem.op == ElementwiseOp::embedding) return true;
  if (problem.op != ElementwiseOp::cast) return problem.type == DataType::fp32;
  return (problem.type == DataType::bf16 && (problem.to == DataType::fp32 || problem.to == DataType::fp8)) ||
         (problem.type == DataType::fp32 && problem.to == DataType::bf16);
}

void launch(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, Stream) {
  const int64_t n = problem.elements();
  const auto *x = static_cast<const float*>(arrays.x), *y = static_cast<const float*>(arrays.y),
             *bias = static_cast<const float*>(arrays.bias);
  auto* out = static_cast<float*>(arrays.out);
  float *p = arrays.p, *m = arrays.m, *v = arrays.v;
  switch (problem.op) {
    case ElementwiseOp::add:
    case ElementwiseOp::residual_add:
      return for_each(n, [=](int64_t i) { out[i] = x[i] + y[i]; });
    case ElementwiseOp::bias_add:
      return for_rows(problem, [=](int64_t i, int64_t c) { out[i] = x[i] + bias[c]; });
    case ElementwiseOp::relu:
      return for_each(n, [=](int64_t i) { out[i] = x[i] < 0 ? 0 : x[i]; });
    case ElementwiseOp::gelu_tanh:
      return for_each(n, [=](int64_t i) { out[i] = gelu_tanh<Math>(x[i]); });
    case ElementwiseOp::gelu_erf:
      return for_each(n, [=](int64_t i) { out[i] = gelu_erf<Math>(x[i]); });
    case ElementwiseOp::silu:
      return for_each(n, [=](int64_t i) { out[i] = silu<Math>(x[i]); });
    case ElementwiseOp::swiglu:
      return for_each(n, [=](int64_t i) { out[i] = silu<Math>(x[i]) * y[i]; });
    case ElementwiseOp::bias_gelu_residual:
      return for_rows(problem, [=](int64_t i, int64_t c) { out[i] = gelu_tanh<Math>(x[i] + bias[c]) + y[i]; });
    case ElementwiseOp::cast:
      return cast(problem, arrays);
    case ElementwiseOp::rope:
      return rope(problem, arrays);
    case ElementwiseOp::embedding:
      return embedding(problem, arrays);
    case ElementwiseOp::adamw:
      return for_each(n, [=](int64_t i) {
        m[i] = first_moment(m[i], x[i]);
        v[i] = second_moment(v[i], x[i]);
        p[i] = updated(decayed(p[i]), m[i], v[i]);
      });
    case ElementwiseOp::adamw_decay:
      return for_each(n, [=](int64_t i) { p[i] = decayed(p[i]); });
    case ElementwiseOp::adamw_first:
      return for_each(n, [=](int64_t i) { m[i] = first_moment(m[i], x[i]); });
    case ElementwiseOp::adamw_second:
      return for_each(n, [=](int64_t i) { v[i] = second_moment(v[i], x[i]); });
    case ElementwiseOp::adamw_update:
      return for_each(n, [=](int64_t i) { p[i] = updated(p[i], m[i], v[i]); });
  }
}

}  // namespace

const ElementwiseKernels elementwise = {supports, launch, elementwise_reference};

}  // namespace roofmark::cpu
