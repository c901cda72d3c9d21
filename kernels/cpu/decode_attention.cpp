// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode_attention.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace roofmark::cpu {

namespace {

constexpr std::int64_t kLanes = 8;
/// Keys that stay in the first-level cache while the heads that share them take their turns.
constexpr std::int64_t kChunk = 16;
constexpr std::int64_t kLeastKeys = 256;  ///< of a part

/// A part of the keys gives a head its greatest score, in exponents of 2, the sum of the powers, and the values weighted with
/// them.
std::int64_t found_floats(const AttentionProblem& p) { return 2 + p.head_dim; }

std::int64_t parts(const AttentionProblem& p) {
  // A few for each thread, so that all end at about the same time.
  const std::int64_t wanted = 4 * omp_get_max_threads(), sharers = p.batch * p.kv_heads;
  return std::clamp<std::int64_t>((wanted + sharers - 1) / sharers, 1, std::max<std::int64_t>(1, p.keys / kLeastKeys));
}

float dot(const float* x, const float* y, std::int64_t n) {
  float sums[kLanes] = {};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/// Takes `count` keys, at most kChunk, into what was found for a head.
void attend(const AttentionProblem& p, const float* q, const float* k, const float* v, std::int64_t count, float scale,
            float* found) {
  const std::int64_t stride = p.kv_heads * p.head_dim;
  float powers[kChunk] = {};
  float greatest = found[0], sum = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    powers[j] = scale * dot(q, k + j * stride, p.head_dim);
    if (powers[j] > greatest) greatest = powers[j];
  }
  for (std::int64_t j = 0; j < count; ++j) sum += powers[j] = std::exp2(powers[j] - greatest);
  const float shrink = std::exp2(found[0] - greatest);
  found[0] = greatest;
  found[1] = found[1] * shrink + sum;
  float* values = found + 2;
  for (std::int64_t c = 0; c < p.head_dim; ++c) values[c] *= shrink;
  for (std::int64_t j = 0; j < count; ++j) {
    const float* value = v + j * stride;
    for (std::int64_t c = 0; c < p.head_dim; ++c) values[c] += powers[j] * value[c];
  }
}

bool supports(const AttentionProblem& p) {
  return p.type == DataType::fp32 && p.head_dim % kLanes == 0 && p.queries == 1 && !p.causal;
}

std::size_t workspace_bytes(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.batch * p.heads * parts(p) * found_floats(p)) * sizeof(float);
}

void launch(const AttentionProblem& p, const AttentionArrays& arrays, void* workspace, Stream) {
  const std::int64_t group = p.heads / p.kv_heads, d = p.head_dim, part_count = parts(p);
  const std::int64_t keys_a_part = (p.keys + part_count - 1) / part_count;
  const float scale = std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(d));
  const auto* q = static_cast<const float*>(arrays.q);
  auto* o = static_cast<float*>(arrays.o);
  const auto found_by = [&](std::int64_t head, std::int64_t part) {
    return static_cast<float*>(workspace) + (head * part_count + part) * found_floats(p);
  };
#pragma omp parallel
  {
#pragma omp for collapse(3) schedule(dynamic)
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      for (std::int64_t part = 0; part < part_count; ++part) {
        for (std::int64_t kv_head = 0; kv_head < p.kv_heads; ++kv_head) {
          const std::int64_t first = (batch * p.kv_heads + kv_head) * group;
          for (std::int64_t head = first; head < first + group; ++head) {
            float* found = found_by(head, part);
            found[0] = -std::numeric_limits<float>::infinity();
            std::fill_n(found + 1, found_floats(p) - 1, 0.0F);
          }
          const std::int64_t end = std::min(p.keys, (part + 1) * keys_a_part);
          for (std::int64_t key = part * keys_a_part; key < end; key += kChunk) {
            const std::int64_t at = ((batch * p.keys + key) * p.kv_heads + kv_head) * d;
            for (std::int64_t head = first; head < first + group; ++head) {
              attend(p, q + head * d, static_cast<const float*>(arrays.k) + at, static_cast<const float*>(arrays.v) + at,
                     std::min(kChunk, end - key), scale, found_by(head, part));
            }
          }
        }
      }
    }
#pragma omp for
    for (std::int64_t head = 0; head < p.batch * p.heads; ++head) {
      float greatest = -std::numeric_limits<float>::infinity(), sum = 0;
      for (std::int64_t part = 0; part < part_count; ++part) greatest = std::fmax(greatest, found_by(head, part)[0]);
      std::fill_n(o + head * d, d, 0.0F);
      for (std::int64_t part = 0; part < part_count; ++part) {
        const float* found = found_by(head, part);
        const float weight = std::exp2(found[0] - greatest);
        sum += weight * found[1];
        for (std::int64_t c = 0; c < d; ++c) o[head * d + c] += weight * found[2 + c];
      }
      for (std::int64_t c = 0; c < d; ++c) o[head * d + c] /= sum;
    }
  }
}

}  // namespace

const DecodeAttentionKernels decode_attention = {supports, workspace_bytes, launch};

}  // namespace roofmark::cpu
