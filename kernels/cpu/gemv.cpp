// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemv.hpp"

#include <algorithm>

#include "kernels/element.hpp"

namespace roofmark::cpu {

namespace {

/// Rows that share what is read of x, kGemvGroup elements at a time.
constexpr std::int64_t kRows = 16;

/// The value of a stored element, as Element has it, in fp32.
template <DataType kType>
float value(typename Element<kType>::Storage stored) {
  if constexpr (kType == DataType::fp16) {
    return widened<5, 10, true>(stored);
  } else if constexpr (kType == DataType::bf16) {
    return same_bits<float>(static_cast<std::uint32_t>(stored) << 16);
  } else if constexpr (kType == DataType::fp8) {
    return widened<4, 3, false>(stored);
  } else {
    return stored;
  }
}

/// The sum of n products, in partial sums that the compiler makes vectors of.
template <class Weight>
float dot(const float* x, std::int64_t n, Weight weight) {
  constexpr std::int64_t kLanes = 16;
  float sums[kLanes] = {};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += weight(i + lane) * x[i + lane];
  }
  for (std::int64_t lane = 0; lane < n - whole; ++lane) sums[lane] += weight(whole + lane) * x[whole + lane];
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  }
  return sums[0];
}

template <DataType kWeight>
float dot_stored(const void* w, std::int64_t at, const float* x, std::int64_t n) {
  const auto* from = static_cast<const typename Element<kWeight>::Storage*>(w) + at;
  return dot(x, n, [=](std::int64_t i) { return value<kWeight>(from[i]); });
}

/// A group of int4; x has the elements of even index first.
float dot_int4(const void* w, std::int64_t at, const float* x) {
  constexpr std::int64_t kBytes = kGemvGroup / 2;
  const auto* from = static_cast<const std::int8_t*>(w) + at / 2;
  const auto lower = [=](std::int64_t i) { return static_cast<float>(static_cast<std::int8_t>(from[i] * 16) >> 4); };
  const auto upper = [=](std::int64_t i) { return static_cast<float>(from[i] >> 4); };
  return dot(x, kBytes, lower) + dot(x + kBytes, kBytes, upper);
}

template <DataType kType>
void multiply(const GemvProblem& p, const GemvArrays& arrays) {
  using Storage = typename Element<kType>::Storage;
  const auto* x = static_cast<const Storage*>(arrays.x);
  const auto* scales = static_cast<const Storage*>(arrays.scales);
  const std::int64_t groups = (p.k + kGemvGroup - 1) / kGemvGroup;
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < p.m; first += kRows) {
    const std::int64_t rows = std::min(kRows, p.m - first);
    float sums[kRows] = {};
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t column = group * kGemvGroup, n = std::min<std::int64_t>(kGemvGroup, p.k - column);
      float wide[kGemvGroup];
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t to = p.weights == GemvWeights::int4 ? i % 2 * (kGemvGroup / 2) + i / 2 : i;
        wide[to] = value<kType>(x[column + i]);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = (first + r) * p.k + column;
        const auto scale = [=] { return value<kType>(scales[(first + r) * groups + group]); };
        switch (p.weights) {
          case GemvWeights::plain:
            sums[r] += dot_stored<kType>(arrays.w, at, wide, n);
            break;
          case GemvWeights::fp8:
            sums[r] += scale() * dot_stored<DataType::fp8>(arrays.w, at, wide, n);
            break;
          case GemvWeights::int8:
            sums[r] += scale() * dot_stored<DataType::int8>(arrays.w, at, wide, n);
            break;
          case GemvWeights::int4:
            sums[r] += scale() * dot_int4(arrays.w, at, wide);
            break;
        }
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      static_cast<Storage*>(arrays.y)[first + r] = Element<kType>::rounded(static_cast<double>(sums[r]));
    }
  }
}

bool supports(const GemvProblem& p) {
  const bool type = p.type == DataType::fp32 || p.type == DataType::bf16 || p.type == DataType::fp16;
  return type && (p.weights == GemvWeights::plain || p.k % kGemvGroup == 0);
}

void launch(const GemvProblem& p, const GemvArrays& arrays, Stream) {
  if (p.type == DataType::fp32) return multiply<DataType::fp32>(p, arrays);
  if (p.type == DataType::fp16) return multiply<DataType::fp16>(p, arrays);
  return multiply<DataType::bf16>(p, arrays);
}

}  // namespace

const GemvKernels gemv = {supports, launch};

}  // namespace roofmark::cpu
