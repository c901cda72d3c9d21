// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// out[c, r] = in[r, c]: in is [rows, columns], out is [columns, rows], both row-major and dense; elements of 1, 2, 4 or 8
/// bytes, moved as bits. The arrays do not overlap. Reads or writes must stride across rows, so this shows what the memory
/// delivers when not both can be contiguous: tiles are transposed in shared memory (CUDA) or in the cache (CPU).
struct TransposeKernels {
  void (*launch)(DataType type, void* out, const void* in, std::int64_t rows, std::int64_t columns, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS TransposeKernels transpose;
}
namespace cpu {
ROOFMARK_KERNELS TransposeKernels transpose;
}

}  // namespace roofmark
