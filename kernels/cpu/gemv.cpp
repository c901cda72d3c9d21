// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemv.hpp"

#include <algorithm>

#include "kernels/element.hpp"

namespace roofmark::cpu {

namespace {

/// Rows that share what is read of x, kGemvGroup elements at a time.
constexpr std::int64_t kRows = 16;

/// The value of a narrow type's bits as `widened` has it, in steps that a compiler makes vectors of: magnitudes from kSpecial
/// on are infinity and NaN.
template <int kExponentBits, int kMantissaBits, std::uint32_t kSpecial>
float widened_in_steps(std::uint32_t bits) {
  constexpr std::uint32_t kMagnitude = (1u << (kExponentBits + kMantissaBits)) - 1;
  constexpr std::uint32_t kScale = (254u - ((1u << (kExponentBits - 1)) - 1)) << 23, kTopExponent = 0x7f800000;
  const std::uint32_t magnitude = bits & kMagnitude, sign = (bits & (kMagnitude + 1)) << (31 - kExponentBits - kMantissaBits);
  const float wide = same_bits<float>(magnitude << (23 - kMantissaBits)) * same_bits<float>(kScale);
  return same_bits<float>(same_bits<std::uint32_t>(wide) | (magnitude >= kSpecial ? kTopExponent : 0) | sign);
}

template <DataType kType>
float value(typename Element<kType>::Storage stored) {
  if constexpr (kType == DataType::fp16) {
    return widened_in_steps<5, 10, 0x7c00>(stored);
  } else if constexpr (kType == DataType::bf16) {
    return same_bits<float>(static_cast<std::uint32_t>(stored) << 16);
  } else if constexpr (kType == DataType::fp8) {
    return widened_in_steps<4, 3, 0x7f>(stored);
  } else {
    return stored;
  }
}

/// Partial sums that the compiler makes vectors of.
constexpr std::int64_t kLanes = 16;
using Sums = float[kLanes];

/// Adds scale times the n products.
template <class Weight>
void accumulate(Sums& sums, float scale, const float* x, std::int64_t n, Weight weight) {
  Sums part = {};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) part[lane] += weight(i + lane) * x[i + lane];
  }
  for (std::int64_t lane = 0; lane < n - whole; ++lane) part[lane] += weight(whole + lane) * x[whole + lane];
  for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += scale * part[lane];
}

template <DataType kWeight>
void accumulate_stored(Sums& sums, float scale, const void* w, std::int64_t at, const float* x, std::int64_t n) {
  const auto* from = static_cast<const typename Element<kWeight>::Storage*>(w) + at;
  accumulate(sums, scale, x, n, [=](std::int64_t i) { return value<kWeight>(from[i]); });
}

/// A group of int4; x has the elements of even index first.
void accumulate_int4(Sums& sums, float scale, const void* w, std::int64_t at, const float* x) {
  constexpr std::int64_t kBytes = kGemvGroup / 2;
  const auto* from = static_cast<const std::int8_t*>(w) + at / 2;
  accumulate(sums, scale, x, kBytes,
             [=](std::int64_t i) { return static_cast<float>(static_cast<std::int8_t>(from[i] * 16) >> 4); });
  accumulate(sums, scale, x + kBytes, kBytes, [=](std::int64_t i) { return static_cast<float>(from[i] >> 4); });
}

float total(Sums& sums) {
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  }
  return sums[0];
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
    Sums sums[kRows] = {};
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t column = group * kGemvGroup, n = std::min<std::int64_t>(kGemvGroup, p.k - column);
      float wide[kGemvGroup];
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t to = p.weights == GemvWeights::int4 ? i % 2 * (kGemvGroup / 2) + i / 2 : i;
        wide[to] = value<kType>(x[column + i]);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = (first + r) * p.k + column;
        const float scale = p.weights == GemvWeights::plain ? 1 : value<kType>(scales[(first + r) * groups + group]);
        switch (p.weights) {
          case GemvWeights::plain:
            accumulate_stored<kType>(sums[r], scale, arrays.w, at, wide, n);
            break;
          case GemvWeights::fp8:
            accumulate_stored<DataType::fp8>(sums[r], scale, arrays.w, at, wide, n);
            break;
          case GemvWeights::int8:
            accumulate_stored<DataType::int8>(sums[r], scale, arrays.w, at, wide, n);
            break;
          case GemvWeights::int4:
            accumulate_int4(sums[r], scale, arrays.w, at, wide);
            break;
        }
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      static_cast<Storage*>(arrays.y)[first + r] = Element<kType>::rounded(static_cast<double>(total(sums[r])));
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
