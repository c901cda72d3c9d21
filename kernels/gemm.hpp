// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// How A and B are stored, in the BLAS convention: everything is column-major, and a letter says whether the stored matrix is
/// used as it is (n) or transposed (t), A's first. In tn both are contiguous along k: y = x W^T over row-major activations
/// x [n, k] and weights W [m, k] is tn with A = W, B = x, D = y.
enum class GemmLayout : std::uint8_t { tn, nt, nn, tt };

inline constexpr GemmLayout kGemmLayouts[] = {GemmLayout::tn, GemmLayout::nt, GemmLayout::nn, GemmLayout::tt};

constexpr std::string_view name(GemmLayout layout) {
  constexpr std::string_view names[] = {"tn", "nt", "nn", "tt"};
  return names[static_cast<int>(layout)];
}
constexpr bool transposes_a(GemmLayout layout) { return layout == GemmLayout::tn || layout == GemmLayout::tt; }
constexpr bool transposes_b(GemmLayout layout) { return layout == GemmLayout::nt || layout == GemmLayout::tt; }

/// Throws std::invalid_argument that names the known layouts.
inline GemmLayout parse_gemm_layout(std::string_view text) {
  std::string known;
  for (GemmLayout layout : kGemmLayouts) {
    if (name(layout) == text) return layout;
    known += (known.empty() ? "" : ", ") + std::string(name(layout));
  }
  throw std::invalid_argument("unknown layout '" + std::string(text) + "' (known: " + known + ")");
}

/// D [m, n] = A [m, k] x B [k, n]; D is column-major, and no matrix is padded. `type` is that of A and B. Of a block-scaled
/// type the layout is tn, and A and B are as block_scaled.hpp has them. A batch is that many independent products of one shape
/// by one call; their A lie one after the other, as do their B and D. No batch of a block-scaled type.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  DataType type = DataType::fp32;
  GemmLayout layout = GemmLayout::tn;
  std::int64_t batch = 1;

  /// Elements of one matrix.
  constexpr std::int64_t a_count() const { return m * k; }
  constexpr std::int64_t b_count() const { return k * n; }
  constexpr std::int64_t d_count() const { return m * n; }
};

/// The type of D: fp8 and the block-scaled types give bf16, int8 gives int32, tf32 gives fp32 (unrounded), every other type
/// itself. Accumulation is in fp64 for fp64, in int32 for int8, and in fp32 for all others (fp8: with the tensor cores' fast
/// accumulation).
constexpr DataType gemm_output_type(DataType type) {
  if (type == DataType::fp8 || is_block_scaled(type)) return DataType::bf16;
  if (type == DataType::int8) return DataType::int32;
  return type == DataType::tf32 ? DataType::fp32 : type;
}

/// A library's algorithms for one problem. Owns its handle and descriptors, but no device memory.
class GemmPlan {
 public:
  virtual ~GemmPlan() = default;
  /// The algorithms that the library proposes, its favourite first; never empty. The text is what the library tells of an
  /// algorithm: number, tile, stages, split-K, reduction, swizzle and so on.
  virtual const std::vector<std::string>& algorithms() const = 0;
  /// Roundings of a partial sum to D's type on the way to one element: 1, or more if the algorithm splits k and adds the parts
  /// in that type.
  virtual int output_roundings(int algorithm) const = 0;
  /// Enqueues D = A x B by algorithms()[algorithm]. All pointers are 256-byte aligned; `workspace` has the table's
  /// workspace_bytes, and executions that share it follow one another. Throws DeviceError.
  virtual void launch(int algorithm, const void* a, const void* b, void* d, void* workspace, Stream stream) const = 0;
};

struct GemmKernels {
  /// "cublaslt", "blas".
  std::string_view library;
  /// Scratch memory, enough for every algorithm.
  std::size_t workspace_bytes;
  /// The library's name and version.
  std::string (*version)();
  /// A plan with at most `most` algorithms; a library may want to know where some operands lie, and does not read them. Throws
  /// Unsupported, with the library's reason, for a problem without a kernel.
  std::unique_ptr<GemmPlan> (*plan)(const GemmProblem& problem, int most, const void* a, const void* b);
};

namespace cuda {
ROOFMARK_KERNELS GemmKernels gemm;
}
namespace cpu {
ROOFMARK_KERNELS GemmKernels gemm;
}

}  // namespace roofmark
