// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace roofmark {

/// The memory streams over arrays of n elements, s a scalar; after McCalpin's STREAM and BabelStream, with read and write.
///   read   out = sum of a[i]      write  a[i] = s               copy  c[i] = a[i]
///   scale  b[i] = s * c[i]        add    c[i] = a[i] + b[i]     triad a[i] = b[i] + s * c[i]      dot  out = sum of a[i] * b[i]
enum class StreamOp { read, write, copy, scale, add, triad, dot };

/// fp64, fp32, fp16, bf16 on CUDA; fp64, fp32 on the CPU. scale, add and triad round once or twice to the type (triad may use
/// one fused multiply-add in fp32 or fp64; 16-bit types are computed in fp32 and rounded once).
struct StreamKernels {
  bool (*supports)(DataType type);
  /// `to` is the array written, or for read and dot one double: the sum, accumulated in fp64 for fp64 and in fp32 chunks that
  /// are added up in fp64 for all others. x is the first input, y the second; null where the operation has none.
  /// workspace_bytes(op, n) of zeroed scratch, which every launch leaves zeroed or fully rewritten.
  void (*launch)(StreamOp op, DataType type, void* to, const void* x, const void* y, std::size_t n, double s, void* workspace,
                 Stream stream);
  std::size_t (*workspace_bytes)(StreamOp op, std::size_t n);
};

namespace cuda {
ROOFMARK_KERNELS StreamKernels stream;
}
namespace cpu {
ROOFMARK_KERNELS StreamKernels stream;
}

}  // namespace roofmark
