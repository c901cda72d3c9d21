// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_reference.hpp"

#include <limits>

namespace roofmark::cpu {
namespace {

template <DataType kType>
double dot(const typename Element<kType>::Storage* x, const typename Element<kType>::Storage* y, std::int64_t n) {
  // head_dim is a multiple of eight; partial sums for the compiler to make vectors of.
  double sums[8] = {};
  for (std::int64_t i = 0; i < n; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += Element<kType>::value(x[i + lane]) * Element<kType>::value(y[i + lane]);
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <DataType kType>
void row(const AttentionProblem& p, const AttentionArrays& arrays, bool rounds_scores, std::int64_t batch, std::int64_t query,
         std::int64_t head, double* expected, double* scale) {
  using Storage = typename Element<kType>::Storage;
  const std::int64_t d = p.head_dim, stride = p.kv_heads * d, kv_head = head / (p.heads / p.kv_heads);
  const auto* q = static_cast<const Storage*>(arrays.q) + ((batch * p.queries + query) * p.heads + head) * d;
  const auto* k = static_cast<const Storage*>(arrays.k) + batch * p.keys * stride + kv_head * d;
  const auto* v = static_cast<const Storage*>(arrays.v) + batch * p.keys * stride + kv_head * d;
  const std::int64_t visible = visible_keys(p, query);
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  double greatest = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < visible; ++j) greatest = std::fmax(greatest, factor * dot<kType>(q, k + j * stride, d));
  for (std::int64_t c = 0; c < d; ++c) expected[c] = scale[c] = 0;
  double sum = 0, score_squares = 0;
  for (std::int64_t j = 0; j < visible; ++j) {
    const double score = factor * dot<kType>(q, k + j * stride, d), weight = std::exp(score - greatest);
    const double of_score = rounds_scores ? score * score : 0;
    sum += weight;
    score_squares += weight * weight * of_score;
    for (std::int64_t c = 0; c < d; ++c) {
      const double term = weight * Element<kType>::value(v[j * stride + c]);
      expected[c] += term;
      scale[c] += term * term * (1 + of_score);
    }
  }
  if (visible == 0) return;
  for (std::int64_t c = 0; c < d; ++c) {
    expected[c] /= sum;
    scale[c] = attention_scale(expected[c], scale[c] / sum / sum, score_squares / sum / sum, visible);
  }
}

void exact(const AttentionProblem& problem, const AttentionArrays& arrays, bool rounds_scores, std::int64_t batch,
           std::int64_t first, std::int64_t count, double* expected, double* scale, Stream) {
  with_type(problem.type, [&]<DataType kType>() {
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (std::int64_t query = 0; query < count; ++query) {
      for (std::int64_t head = 0; head < problem.heads; ++head) {
        const std::int64_t at = (query * problem.heads + head) * problem.head_dim;
        row<kType>(problem, arrays, rounds_scores, batch, first + query, head, expected + at, scale + at);
      }
    }
  });
}

}  // namespace

const AttentionReference attention_reference = {exact, nullptr};

}  // namespace roofmark::cpu
