// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode_attention.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/instruction_sets.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace roofmark::cpu {

namespace {

/// Keys that stay in the L1 cache while the heads that share them use them in turn. In memory their distance is often a power
/// of two, which would put them all into one set of the cache, so they are copied to rows of their own.
constexpr std::int64_t kChunk = 16;
constexpr std::int64_t kMostColumns = 256;
constexpr std::int64_t kLineFloats = 16;
constexpr std::int64_t kLeastKeys = 256;  ///< minimum per part

/// Floats per head and part of the keys: maximum score, sum of exponentials, weighted values.
std::int64_t found_floats(const AttentionProblem& p) { return 2 + p.head_dim; }

std::int64_t parts(const AttentionProblem& p) {
  // Several per thread, for balance.
  const std::int64_t wanted = 4 * omp_get_max_threads(), sharers = p.batch * p.kv_heads;
  return std::clamp<std::int64_t>((wanted + sharers - 1) / sharers, 1, std::max<std::int64_t>(1, p.keys / kLeastKeys));
}

/// rows[j] = from[j] for `count` rows of d floats; prefetches the rows after them.
void gather_rows(float* rows, const float* from, std::int64_t stride, std::int64_t d, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) {
    const float* const next = from + (j + kChunk) * stride;
    for (std::int64_t c = 0; c < d; c += kLineFloats) __builtin_prefetch(next + c);
    std::copy_n(from + j * stride, d, rows + j * d);
  }
}

#define ROOFMARK_LOOPS "kernels/cpu/decode_attention.inc"
#include "kernels/cpu/instruction_sets.inc"

bool supports(const AttentionProblem& p) {
  return p.type == DataType::fp32 && p.head_dim % 8 == 0 && p.head_dim <= kMostColumns && p.queries == 1 && !p.causal;
}

std::size_t workspace_bytes(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.batch * p.heads * parts(p) * found_floats(p)) * sizeof(float);
}

void launch(const AttentionProblem& p, const AttentionArrays& arrays, void* workspace, Stream) {
  const std::int64_t group = p.heads / p.kv_heads, d = p.head_dim, part_count = parts(p);
  const std::int64_t keys_a_part = (p.keys + part_count - 1) / part_count;
  const float scale = 1 / std::sqrt(static_cast<float>(d));
  static const auto attend = table_for(instruction_sets().front());
  const auto* q = static_cast<const float*>(arrays.q);
  auto* o = static_cast<float*>(arrays.o);
  const auto found_by = [&](std::int64_t head, std::int64_t part) {
    return static_cast<float*>(workspace) + (head * part_count + part) * found_floats(p);
  };
#pragma omp parallel
  {
    alignas(64) float k_rows[kChunk * kMostColumns], v_rows[kChunk * kMostColumns];
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
            const std::int64_t at = ((batch * p.keys + key) * p.kv_heads + kv_head) * d, count = std::min(kChunk, end - key);
            gather_rows(k_rows, static_cast<const float*>(arrays.k) + at, p.kv_heads * d, d, count);
            gather_rows(v_rows, static_cast<const float*>(arrays.v) + at, p.kv_heads * d, d, count);
            for (std::int64_t head = first; head < first + group; ++head) {
              attend(q + head * d, k_rows, v_rows, d, count, scale, found_by(head, part));
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
        const float weight = std::exp(found[0] - greatest);
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
