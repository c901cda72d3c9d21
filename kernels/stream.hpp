// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kernels/base/kernel.hpp"
#include "kernels/base/operation.hpp"

namespace roofmark {

/// The memory streams over arrays of n elements, s a scalar; after McCalpin's STREAM and BabelStream, with read and write.
///   read   out = sum of a[i]      write  a[i] = s               copy  c[i] = a[i]      scale  b[i] = s * c[i]
///   add    c[i] = a[i] + b[i]     triad  a[i] = b[i] + s * c[i] dot   out = sum of a[i] * b[i]
enum class StreamOp { read, write, copy, scale, add, triad, dot };

inline constexpr StreamOp kStreamOps[] = {StreamOp::read, StreamOp::write, StreamOp::copy, StreamOp::scale,
                                          StreamOp::add,  StreamOp::triad, StreamOp::dot};

/// What an operation counts.
struct StreamOperation {
  StreamOp op;
  std::string_view name;
  int inputs, outputs;  ///< arrays; without an output the result is a sum
  int flops;            ///< model FLOPs per element: one per addition and per multiplication
};
inline constexpr StreamOperation kStreamOperations[] = {{StreamOp::read, "read", 1, 0, 1}, {StreamOp::write, "write", 0, 1, 0},
                                                        {StreamOp::copy, "copy", 1, 1, 0}, {StreamOp::scale, "scale", 1, 1, 1},
                                                        {StreamOp::add, "add", 2, 1, 1},   {StreamOp::triad, "triad", 2, 1, 2},
                                                        {StreamOp::dot, "dot", 2, 0, 2}};
static_assert(rows_in_order(kStreamOperations));

constexpr const StreamOperation& operation(StreamOp op) { return kStreamOperations[static_cast<int>(op)]; }
constexpr std::string_view name(StreamOp op) { return operation(op).name; }
constexpr int input_count(StreamOp op) { return operation(op).inputs; }
constexpr bool is_reduction(StreamOp op) { return operation(op).outputs == 0; }
constexpr int array_count(StreamOp op) { return operation(op).inputs + operation(op).outputs; }

/// Maximum number of terms that read and dot add in fp32 before they continue in fp64.
inline constexpr int kStreamChunk = 64;

/// fp64, fp32, fp16, bf16 on CUDA; fp64, fp32 on the CPU. scale, add and triad round once or twice to the type (triad may use a
/// fused multiply-add in fp32 or fp64; 16-bit types are computed in fp32 and rounded once). Arrays are aligned to their
/// elements, may have any length, and do not overlap.
struct StreamKernels {
  bool (*supports)(DataType type);
  /// `to` is the output array; for read and dot it is one double, the sum, accumulated in fp64 for fp64. For all other types at
  /// most kStreamChunk terms are added in fp32, and these sums in fp64. The order of the additions depends on n and the device
  /// only. x is the first input, y the second; null if the operation has none. The workspace is workspace_bytes(op, n) of
  /// zeroed scratch memory, which every launch leaves zeroed or overwrites completely.
  void (*launch)(StreamOp op, DataType type, void* to, const void* x, const void* y, std::size_t n, double s, void* workspace,
                 Stream stream);
  std::size_t (*workspace_bytes)(StreamOp op, std::size_t n);
  /// The library's copy and byte fill on the device (cudaMemcpyAsync and cudaMemsetAsync; memcpy and memset by all threads),
  /// for comparison with copy and write; null if there is none.
  void (*library_copy)(void* to, const void* from, std::size_t bytes, Stream stream) = nullptr;
  void (*library_fill)(void* to, unsigned char value, std::size_t bytes, Stream stream) = nullptr;
};

namespace cuda {
ROOFMARK_KERNELS StreamKernels stream;
}
namespace cpu {
ROOFMARK_KERNELS StreamKernels stream;
}

}  // namespace roofmark
