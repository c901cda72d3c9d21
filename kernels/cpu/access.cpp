// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/access.hpp"

#include <algorithm>

namespace roofmark::cpu {

namespace {

void stride(std::int32_t* out, const std::int32_t* x, std::int64_t count, std::int64_t stride, std::int64_t sweeps,
            std::int64_t offset, Stream) {
  const std::int64_t groups = sum_groups(count);
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < sweeps * groups; ++row) {
    const std::int32_t* const from = x + row / groups * offset;
    const std::int64_t first = row % groups * kSumGroup, end = std::min(first + kSumGroup, count);
    std::uint32_t sum = 0;
    for (std::int64_t i = first; i < end; ++i) sum += static_cast<std::uint32_t>(from[i * stride]);
    out[row] = static_cast<std::int32_t>(sum);
  }
}

void gather(std::int32_t* out, const std::int32_t* table, const std::uint32_t* index, std::int64_t rows, std::int64_t width,
            Stream) {
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) std::copy_n(table + index[row] * width, width, out + row * width);
}

}  // namespace

const AccessKernels access = {.stride = stride, .gather = gather};

}  // namespace roofmark::cpu
