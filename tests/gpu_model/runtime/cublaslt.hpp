// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in cuBLASLt: matmul descriptors, the problems that it takes, and their products. It has column-major matrices,
// biases, ReLU and GELU as epilogues, and scalars in host memory. Its three algorithms give the same bits.
// GPUMODEL_BLAS_LIMIT and GPUMODEL_SLOW=cublaslt_matmul:factor act on the products.
#pragma once
#include <cublasLt.h>

#include <cstdint>

namespace gpu_model::runtime::cublaslt {

// The library's opaque objects. `kind` is a number of its own for each, so that one is not taken for another.
struct Matmul {
  static constexpr std::uint32_t number = 0x44455343;
  std::uint32_t kind = number;
  cublasComputeType_t compute{};
  cudaDataType_t scale{};  ///< type of alpha and beta
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N, transpose_c = CUBLAS_OP_N;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  std::int32_t bias_type = -1;  ///< -1: that of D
  const void* bias = nullptr;
  std::int64_t bias_batch_stride = 0;  ///< in elements
  std::int8_t fast_accumulation = 0;
  cublasLtMatmulMatrixScale_t scale_mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, scale_mode_b = scale_mode_a;
  const void *scales_a = nullptr, *scales_b = nullptr;
};
struct Matrix {
  static constexpr std::uint32_t number = 0x4c41594f;
  std::uint32_t kind = number;
  cudaDataType_t type{};
  std::int32_t order = CUBLASLT_ORDER_COL, batches = 1;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading_dimension = 0, batch_stride = 0;  ///< in elements

  friend bool operator==(const Matrix&, const Matrix&) = default;
};
struct Preference {
  static constexpr std::uint32_t number = 0x50524546;
  std::uint32_t kind = number;
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  ///< of A, B, C, D in bytes
};
/// What the bytes of a cublasLtMatmulAlgo_t hold: its configuration and the problem that it was proposed for.
struct Algorithm {
  static constexpr std::uint32_t number = 0x414c474f;
  std::uint32_t kind = number;
  std::int32_t id = 0, split_k = 1;
  std::uint32_t tile = 0, stages = 0, reduction = CUBLASLT_REDUCTION_SCHEME_NONE, swizzle = 0, custom = 0;
  std::uint16_t inner_shape = 0, cluster_shape = 0;
  std::uint32_t alignment = 0;  ///< that every pointer must have, in bytes
  std::uint64_t workspace_bytes = 0;
  cublasComputeType_t compute{};
  std::uint16_t type_a = 0, type_d = 0, epilogue = 0;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// The object behind a handle, or nullptr where that is of another kind.
template <class Object, class Handle>
Object* object(Handle handle) {
  auto* const made = reinterpret_cast<Object*>(handle);
  return made && made->kind == Object::number ? made : nullptr;
}

/// D [m, n] = epilogue(alpha op(A) [m, k] op(B) [k, n] + beta C [m, n]), for each matrix of a batch.
struct Problem {
  Matmul operation;
  Matrix a, b, c, d;
  std::int64_t m() const { return static_cast<std::int64_t>(d.rows); }
  std::int64_t n() const { return static_cast<std::int64_t>(d.columns); }
  cudaDataType_t bias_type() const {
    return operation.bias_type < 0 ? d.type : static_cast<cudaDataType_t>(operation.bias_type);
  }
  std::int64_t k() const { return static_cast<std::int64_t>(operation.transpose_a == CUBLAS_OP_N ? a.columns : a.rows); }
  double flops() const {
    return 2.0 * static_cast<double>(m()) * static_cast<double>(n()) * static_cast<double>(k()) * d.batches;
  }
};

/// `status` with a line on stderr that says why.
cublasStatus_t refuse(cublasStatus_t status, const char* why);

/// What cublasLtMatmul() documents: INVALID_VALUE for shapes that do not fit, NOT_SUPPORTED for types, layouts and alignments
/// that the device has no kernel for. `alignment` is the smallest of the pointers', in bytes.
cublasStatus_t examine(const Problem& problem, std::uint32_t alignment);

bool has_bias(const Matmul& operation);
/// Bits of an element, 0 for a type that the model does not have.
std::size_t element_bits(cudaDataType_t type);
/// Elements along k that share a scale of one byte, 0 where no scales of A are such.
std::int64_t scale_block(const Matmul& operation);
/// A or B has fp32 scales of 128 elements along k, or of blocks of 128 x 128.
bool has_fp32_scales(const Matmul& operation);
/// Blocks of 128 along k, the last of which may be shorter.
inline std::int64_t blocks_of_128(std::int64_t elements) { return (elements + 127) / 128; }
/// Bytes from the first element to behind the last one of all batches.
std::size_t extent_bytes(const Matrix& matrix);
/// A scalar of the operation's scale type.
double read_scalar(cudaDataType_t type, const void* scalar);

struct Arrays {
  const void *a, *b, *c;
  void* d;
  double alpha, beta;
};
/// Whether a matrix or its scales are not within one allocation of the device, where a kernel of the library would fault.
bool leaves_memory(const Problem& problem, const Arrays& arrays);
/// C is not read where beta is 0. Sums and epilogues are in fp64 for fp64 and int8, in fp32 for all other types.
void multiply(const Problem& problem, const Arrays& arrays);

}  // namespace gpu_model::runtime::cublaslt
