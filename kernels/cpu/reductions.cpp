// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reductions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/reductions_reference.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace roofmark::cpu {

namespace {

using std::int64_t;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The sum of term(c) over a row: kReductionChunk terms in fp32, such sums in fp64.
template <class Term>
double row_sum(int64_t columns, Term term) {
  double sum = 0;
  for (int64_t begin = 0; begin < columns; begin += kReductionChunk) {
    const int64_t end = std::min<int64_t>(columns, begin + kReductionChunk);
    float chunk = 0;
#pragma omp simd reduction(+ : chunk)
    for (int64_t c = begin; c < end; ++c) chunk += term(c);
    sum += static_cast<double>(chunk);
  }
  return sum;
}

/// The greatest of a row; NaN may be passed over.
template <class Value>
float row_greatest(int64_t columns, Value value) {
  float greatest = -kInfinity;
#pragma omp simd reduction(max : greatest)
  for (int64_t c = 0; c < columns; ++c) greatest = value(c) > greatest ? value(c) : greatest;
  return greatest;
}

void softmax(float* out, const float* x, int64_t columns) {
  const float m = row_greatest(columns, [=](int64_t c) { return x[c]; });
  const double sum = row_sum(columns, [=](int64_t c) { return out[c] = vector_exp(x[c] - m); });
  const auto inverse = static_cast<float>(1 / sum);
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) out[c] *= inverse;
}

float cross_entropy(const float* x, int64_t columns, int64_t target) {
  const float m = row_greatest(columns, [=](int64_t c) { return x[c]; });
  const double sum = row_sum(columns, [=](int64_t c) { return vector_exp(x[c] - m); });
  return static_cast<float>(static_cast<double>(m) + std::log(sum) - static_cast<double>(x[target]));
}

void layer_norm(float* out, const float* x, const float* weight, const float* bias, int64_t columns) {
  const auto n = static_cast<double>(columns);
  const auto mean = static_cast<float>(row_sum(columns, [=](int64_t c) { return x[c]; }) / n);
  const double squares = row_sum(columns, [=](int64_t c) { return (x[c] - mean) * (x[c] - mean); });
  const auto inverse = static_cast<float>(1 / std::sqrt(squares / n + static_cast<double>(kNormEpsilon)));
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) out[c] = (x[c] - mean) * inverse * weight[c] + bias[c];
}

void rms_norm(float* out, const float* x, const float* weight, int64_t columns) {
  const double squares = row_sum(columns, [=](int64_t c) { return x[c] * x[c]; });
  const auto inverse =
      static_cast<float>(1 / std::sqrt(squares / static_cast<double>(columns) + static_cast<double>(kNormEpsilon)));
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) out[c] = x[c] * inverse * weight[c];
}

void residual_rms_norm(float* out, float* sum, const float* x, const float* residual, const float* weight, int64_t columns) {
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) sum[c] = residual[c] + x[c];
  rms_norm(out, sum, weight, columns);
}

void quantise(std::uint8_t* out, float* scale, const float* x, int64_t columns) {
  bool has_nan = false;
#pragma omp simd reduction(| : has_nan)
  for (int64_t c = 0; c < columns; ++c) has_nan |= x[c] != x[c];
  const float greatest = row_greatest(columns, [=](int64_t c) { return std::abs(x[c]); });
  *scale = has_nan ? std::numeric_limits<float>::quiet_NaN() : std::max(greatest / kGreatestFp8, kLeastScale);
  const float divisor = *scale;
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) out[c] = vector_fp8(x[c] / divisor);
}

bool supports(ReductionOp, DataType type) { return type == DataType::fp32; }

void launch(ReductionOp op, DataType, const ReductionArrays& arrays, int64_t rows, int64_t columns, Stream) {
  const auto* weight = static_cast<const float*>(arrays.weight);
  const auto* bias = static_cast<const float*>(arrays.bias);
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = static_cast<const float*>(arrays.x) + r * columns;
    float* out = static_cast<float*>(arrays.out) + r * (gives_one_number(op) ? 1 : columns);
    switch (op) {
      case ReductionOp::softmax:
        softmax(out, x, columns);
        break;
      case ReductionOp::layer_norm:
        layer_norm(out, x, weight, bias, columns);
        break;
      case ReductionOp::rms_norm:
        rms_norm(out, x, weight, columns);
        break;
      case ReductionOp::residual_rms_norm:
        residual_rms_norm(out, static_cast<float*>(arrays.sum) + r * columns, x,
                          static_cast<const float*>(arrays.residual) + r * columns, weight, columns);
        break;
      case ReductionOp::cross_entropy:
        *out = cross_entropy(x, columns, arrays.target[r]);
        break;
      case ReductionOp::row_sum:
        *out = static_cast<float>(row_sum(columns, [=](int64_t c) { return x[c]; }));
        break;
      case ReductionOp::quantise:
        quantise(static_cast<std::uint8_t*>(arrays.out) + r * columns, arrays.scale + r, x, columns);
        break;
    }
  }
}

}  // namespace

const ReductionKernels reductions = {supports, launch, reductions_reference};

}  // namespace roofmark::cpu
