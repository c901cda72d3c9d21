// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/cpu/instruction_sets.hpp"
#include "kernels/cpu/last_level_cache.hpp"

namespace roofmark::cpu {

namespace {

constexpr std::int64_t kLine = 64;

#define ROOFMARK_LOOPS "kernels/cpu/transpose.inc"
#include "kernels/cpu/instruction_sets.inc"

void launch(DataType type, void* out, const void* in, std::int64_t rows, std::int64_t columns, Stream) {
  static const auto loops = table_for(instruction_sets().front());
  const std::size_t bytes = 2 * static_cast<std::size_t>(rows * columns) * size_of(type);
  loops(type, out, in, rows, columns, bytes > last_level_cache_bytes(omp_get_max_threads()));
}

}  // namespace

const TransposeKernels transpose = {launch};

}  // namespace roofmark::cpu
