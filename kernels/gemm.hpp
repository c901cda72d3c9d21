// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/block_scaled.hpp"
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

/// What the product's kernel does to an element of alpha A x B before it rounds it to D's type: it adds the bias of the row,
/// then takes max(x, 0), or gelu(x) = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
enum class GemmEpilogue : std::uint8_t { none, bias, relu, gelu, bias_relu, bias_gelu };

inline constexpr GemmEpilogue kGemmEpilogues[] = {GemmEpilogue::none, GemmEpilogue::bias,      GemmEpilogue::relu,
                                                  GemmEpilogue::gelu, GemmEpilogue::bias_relu, GemmEpilogue::bias_gelu};

constexpr std::string_view name(GemmEpilogue epilogue) {
  constexpr std::string_view names[] = {"none", "bias", "relu", "gelu", "bias_relu", "bias_gelu"};
  return names[static_cast<int>(epilogue)];
}
constexpr bool has_bias(GemmEpilogue epilogue) {
  return epilogue == GemmEpilogue::bias || epilogue == GemmEpilogue::bias_relu || epilogue == GemmEpilogue::bias_gelu;
}
constexpr bool has_relu(GemmEpilogue epilogue) { return epilogue == GemmEpilogue::relu || epilogue == GemmEpilogue::bias_relu; }
constexpr bool has_gelu(GemmEpilogue epilogue) { return epilogue == GemmEpilogue::gelu || epilogue == GemmEpilogue::bias_gelu; }
constexpr bool has_activation(GemmEpilogue epilogue) { return has_relu(epilogue) || has_gelu(epilogue); }
constexpr GemmEpilogue without_activation(GemmEpilogue epilogue) {
  return has_bias(epilogue) ? GemmEpilogue::bias : GemmEpilogue::none;
}

/// How many elements of A and B share a scale: none; all of a matrix (tensor); 16, 32 or 128 consecutive ones along k (vec); or
/// 128 x 128 of A and 128 along k of B (blk128). DeepSeek-V3 multiplies a layer's weights A by its activations B with blk128,
/// and the operands of a gradient of weights with vec128 (DeepSeek-V3 Technical Report, 3.3.2).
enum class GemmScaling : std::uint8_t { none, tensor, vec16, vec32, vec128, blk128 };

inline constexpr GemmScaling kGemmScalings[] = {GemmScaling::none,  GemmScaling::tensor, GemmScaling::vec16,
                                                GemmScaling::vec32, GemmScaling::vec128, GemmScaling::blk128};

constexpr std::string_view name(GemmScaling scaling) {
  constexpr std::string_view names[] = {"none", "tensor", "vec16", "vec32", "vec128", "blk128"};
  return names[static_cast<int>(scaling)];
}
/// Of a type where nothing else is asked for. A scale of a whole matrix of fp8 is 1 (no scale is set).
constexpr GemmScaling gemm_scaling(DataType type) {
  switch (type) {
    case DataType::fp8:
      return GemmScaling::tensor;
    case DataType::nvfp4:
      return GemmScaling::vec16;
    case DataType::mxfp8:
      return GemmScaling::vec32;
    default:
      return GemmScaling::none;
  }
}

/// The type of D where nothing else is asked for: fp8 and the block-scaled types give bf16, int8 gives int32, tf32 gives fp32
/// (unrounded), every other type itself. Accumulation is in fp64 for fp64, in int32 for int8, and in fp32 for all others (fp8
/// with one scale per matrix: with the tensor cores' fast accumulation).
constexpr DataType gemm_output_type(DataType type) {
  if (type == DataType::fp8 || is_block_scaled(type)) return DataType::bf16;
  if (type == DataType::int8) return DataType::int32;
  return type == DataType::tf32 ? DataType::fp32 : type;
}

/// D [m, n] = epilogue(alpha A [m, k] x B [k, n] + beta D); D is column-major, and no matrix is padded. `type` is that of A and
/// B. Where they are block-scaled the layout is tn, and A and B are as block_scaled.hpp has them. A batch is that many
/// independent products; their A lie one after the other, as do their B, D and biases. They have one shape, unless there is an
/// imbalance, as of the tokens of the experts of a layer: then `n` is the mean of their numbers of columns. No batch of
/// block-scaled operands.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  DataType type = DataType::fp32;
  GemmLayout layout = GemmLayout::tn;
  std::int64_t batch = 1;
  DataType output = gemm_output_type(type);
  GemmEpilogue epilogue = GemmEpilogue::none;
  double alpha = 1;  ///< a power of two
  /// Beta is 1, else 0: a gradient of weights that is summed over micro-batches. D is fp32 or fp64, without an epilogue.
  bool accumulates = false;
  GemmScaling scaling = gemm_scaling(type);
  /// The columns of the first product over the mean of all products, at most `batch`; the others have the rest, shared evenly.
  /// From 2 on the layout is tn, so that all columns of B and D are adjacent.
  std::int64_t imbalance = 1;

  /// The number of columns of B and D of a product of the batch, and of all products before it.
  constexpr std::int64_t columns(std::int64_t product) const {
    if (imbalance == 1) return n;
    if (product == 0) return imbalance * n;
    const std::int64_t rest = (batch - imbalance) * n;
    return rest / (batch - 1) + (product - 1 < rest % (batch - 1) ? 1 : 0);
  }
  constexpr std::int64_t first_column(std::int64_t product) const {
    if (imbalance == 1 || product == 0) return product * n;
    const std::int64_t rest = (batch - imbalance) * n, others = product - 1, extra = rest % (batch - 1);
    return imbalance * n + others * (rest / (batch - 1)) + (others < extra ? others : extra);
  }
  /// The products that have columns: the first ones. Only their A exist.
  constexpr std::int64_t products() const {
    if (imbalance == 1) return batch;
    const std::int64_t rest = (batch - imbalance) * n;
    return 1 + (rest < batch - 1 ? rest : batch - 1);
  }
  /// A product of the batch by itself, and the first elements of its A, B and D.
  constexpr GemmProblem product(std::int64_t index) const {
    GemmProblem alone = *this;
    alone.n = columns(index);
    alone.batch = alone.imbalance = 1;
    return alone;
  }
  constexpr std::int64_t first_of_a(std::int64_t product) const { return product * a_count(); }
  constexpr std::int64_t first_of_b(std::int64_t product) const { return first_column(product) * k; }
  constexpr std::int64_t first_of_d(std::int64_t product) const { return first_column(product) * m; }
  /// How A and B are stored.
  constexpr DataType type_of_a() const {
    if (type != DataType::fp8) return type;
    return scaling == GemmScaling::blk128 ? DataType::fp8_blk128 : scaling == GemmScaling::vec128 ? DataType::fp8_vec128 : type;
  }
  constexpr DataType type_of_b() const { return has_fp32_scales() ? DataType::fp8_vec128 : type; }
  constexpr bool has_fp32_scales() const { return roofmark::has_fp32_scales(type_of_a()); }
  /// Elements of one matrix; of B and D, the mean.
  constexpr std::int64_t a_count() const { return m * k; }
  constexpr std::int64_t b_count() const { return k * n; }
  constexpr std::int64_t d_count() const { return m * n; }
  constexpr std::int64_t bias_count() const { return has_bias(epilogue) ? m : 0; }
  /// As cuBLASLt has it: like D, but bf16 where D is fp8, and where narrower operands than 16 bits give fp32.
  constexpr DataType bias_type() const {
    const bool narrow = type == DataType::fp8 || is_block_scaled(type);
    return output == DataType::fp8 || (narrow && output == DataType::fp32) ? DataType::bf16 : output;
  }
};

/// What a product reads. The bias, m elements, is null where the epilogue has none. Kernels that learn the numbers of columns
/// of an uneven batch on the device read `first_columns`, batch + 1 numbers: first_column() of each product, and all columns.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;
  const std::int32_t* first_columns = nullptr;
};

/// The algorithms for one problem, of a library or our own. Owns a library's handle and descriptors, but no device memory.
class GemmPlan {
 public:
  virtual ~GemmPlan() = default;
  /// The algorithms that are proposed, the favourite first; never empty. The text says what is known of an algorithm: number,
  /// tile, stages, split-K, reduction, swizzle and so on.
  virtual const std::vector<std::string>& algorithms() const = 0;
  /// Roundings of a partial sum to D's type on the way to one element: 1, or more if the algorithm splits k and adds the parts
  /// in that type.
  virtual int output_roundings(int algorithm) const = 0;
  /// How often a whole sum may be rounded to D's type before the epilogue, or the rest of it, is applied: once for each part of
  /// an epilogue that may be a kernel of its own, which reads what the one before it stored.
  virtual int roundings_before_epilogue() const { return 0; }
  /// Enqueues the product by algorithms()[algorithm]. All pointers are 256-byte aligned; `workspace` has the table's
  /// workspace_bytes, and executions that share it follow one another. Throws DeviceError.
  virtual void launch(int algorithm, const GemmOperands& operands, void* d, void* workspace, Stream stream) const = 0;
};

struct GemmKernels {
  /// "cublaslt", "blas", "tiled_wgmma".
  std::string_view library;
  /// Scratch memory, enough for every algorithm.
  std::size_t workspace_bytes;
  /// The library's name and version.
  std::string (*version)();
  /// A plan with at most `most` algorithms; a library may want to know where some operands lie, and does not read them. Throws
  /// Unsupported, with the library's reason, for a problem without a kernel.
  std::unique_ptr<GemmPlan> (*plan)(const GemmProblem& problem, int most, const GemmOperands& operands);
  /// Of own kernels: why a device of this compute capability has none for the problem; empty if it has. Null of a library.
  std::string (*unsupported)(const GemmProblem& problem, int compute_capability) = nullptr;
};

namespace cuda {
/// cuBLASLt.
ROOFMARK_KERNELS GemmKernels gemm;
/// Tiles loaded by TMA and multiplied by wgmma: compute capability 9.0.
ROOFMARK_KERNELS GemmKernels gemm_tiled_wgmma;
}  // namespace cuda
namespace cpu {
ROOFMARK_KERNELS GemmKernels gemm;
}

}  // namespace roofmark
