// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// Elements whose sum is one element of an output.
inline constexpr std::int64_t kSumGroup = 1024;
constexpr std::int64_t sum_groups(std::int64_t count) { return (count + kSumGroup - 1) / kSumGroup; }

/// Patterns of access to memory. Arrays are aligned to their elements.
struct AccessKernels {
  /// Several sweeps over an array, each of which starts `offset` elements after the one before it:
  /// out[s, g] = sum of x[s * offset + i * stride] over the i of group g, modulo 2^32: kSumGroup of the `count` numbers i from
  /// g * kSumGroup on, or as many as are left. Each element is loaded by itself, neighbours by neighbouring threads. out is
  /// [sweeps, sum_groups(count)]; stride in elements.
  void (*stride)(std::int32_t* out, const std::int32_t* x, std::int64_t count, std::int64_t stride, std::int64_t sweeps,
                 std::int64_t offset, Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS AccessKernels access;
}
namespace cpu {
ROOFMARK_KERNELS AccessKernels access;
}

}  // namespace roofmark
