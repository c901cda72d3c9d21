// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// out[r] = the index of the first maximum of row r of x, where -0 = 0 and NaN is above all numbers, as in torch.argmax and
/// numpy.argmax. x is [rows, columns], row-major and dense, aligned to its elements; out is int32 [rows]; 1 <= columns < 2^31.
/// Greedy decoding: the columns are a vocabulary's logits. CUDA: fp32, fp16 and bf16. CPU: fp32.
struct ArgmaxKernels {
  void (*launch)(DataType type, std::int32_t* out, const void* x, std::int64_t rows, std::int64_t columns, Stream stream);
  /// What out should hold in rows [first, first + count), by a plain loop over each row.
  void (*reference)(DataType type, const void* x, std::int64_t first, std::int64_t count, std::int64_t columns,
                    double* expected, Stream stream);
};

/// Whether a value replaces the maximum of the columns before it.
template <class Value>
constexpr bool exceeds(Value value, Value maximum) {
  const bool is_number = maximum <= std::numeric_limits<Value>::infinity();
  return is_number && !(value <= maximum);
}

namespace cuda {
ROOFMARK_KERNELS ArgmaxKernels argmax;
}
namespace cpu {
ROOFMARK_KERNELS ArgmaxKernels argmax;
}

}  // namespace roofmark
