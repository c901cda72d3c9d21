// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cublaslt.hpp"
#include "runtime.hpp"

namespace gpu_model::runtime::cublaslt {
namespace {

/// A row of the tables of types in the documentation of cublasLtMatmul().
struct Types {
  cublasComputeType_t compute;
  cudaDataType_t scale, a, b, c, d;
};
constexpr Types types_with_c_as_d(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t ab, cudaDataType_t cd) {
  return {compute, scale, ab, ab, cd, cd};
}
constexpr Types supported_types[] = {
    types_with_c_as_d(CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F),
    types_with_c_as_d(CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F),
    types_with_c_as_d(CUBLAS_COMPUTE_32I, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I),
    types_with_c_as_d(CUBLAS_COMPUTE_32I, CUDA_R_32F, CUDA_R_8I, CUDA_R_8I),
    types_with_c_as_d(CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F),
    types_with_c_as_d(CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F),
    types_with_c_as_d(CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F),
    types_with_c_as_d(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F),
    types_with_c_as_d(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F),
    types_with_c_as_d(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F),
    types_with_c_as_d(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF),
    types_with_c_as_d(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F),
    types_with_c_as_d(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8I, CUDA_R_32F),
};

bool is_fp8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

/// The table of fp8: one of A and B at least is e4m3; an output of fp8 has its C in 16 bits, and is e5m2 only if A or B is.
bool fp8_types_are_supported(const Problem& p) {
  if (p.operation.compute != CUBLAS_COMPUTE_32F || p.operation.scale != CUDA_R_32F) return false;
  if (!is_fp8(p.a.type) || !is_fp8(p.b.type)) return false;
  if (p.a.type == CUDA_R_8F_E5M2 && p.b.type == CUDA_R_8F_E5M2) return false;
  if (!is_fp8(p.d.type)) {
    return p.c.type == p.d.type && (p.d.type == CUDA_R_16BF || p.d.type == CUDA_R_16F || p.d.type == CUDA_R_32F);
  }
  return (p.c.type == CUDA_R_16BF || p.c.type == CUDA_R_16F) &&
         (p.d.type == CUDA_R_8F_E4M3 || p.a.type == CUDA_R_8F_E5M2 || p.b.type == CUDA_R_8F_E5M2);
}

/// The table of block scaling: A and B are alike, and only D has another type.
bool block_scaled_types_are_supported(const Problem& p) {
  if (p.operation.scale_mode_a != p.operation.scale_mode_b || p.a.type != p.b.type) return false;
  if (p.operation.compute != CUBLAS_COMPUTE_32F || p.operation.scale != CUDA_R_32F || p.c.type != p.d.type) return false;
  if (p.a.type != (scale_block(p.operation) == 16 ? CUDA_R_4F_E2M1 : CUDA_R_8F_E4M3)) return false;
  return p.d.type == CUDA_R_16BF || p.d.type == CUDA_R_16F || p.d.type == CUDA_R_32F;
}

/// "128-element 1D and 128x128 2D block scaling" in the documentation: the pairs of modes, and D in 16 bits or fp32.
bool fp32_scaled_types_are_supported(const Problem& p) {
  constexpr auto lines = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F, squares = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  const auto a = p.operation.scale_mode_a, b = p.operation.scale_mode_b;
  const bool is_a_pair = (a == lines && b == lines) || (a == lines && b == squares) || (a == squares && b == lines);
  return is_a_pair && fp8_types_are_supported(p) && !is_fp8(p.d.type);
}

/// The column of biases in these tables: like D, but of 16 bits, as C is, where D has 8, and bf16 where narrower operands than
/// 16 bits give fp32. int8 has no epilogue.
bool epilogue_is_supported(const Problem& p) {
  const Matmul& operation = p.operation;
  if (operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return true;
  const std::uint32_t known = CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_GELU;
  const std::uint32_t both = CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_GELU;
  if ((operation.epilogue & ~known) || (operation.epilogue & both) == both || p.a.type == CUDA_R_8I) return false;
  if (!has_bias(operation)) return true;
  const bool widened = element_bits(p.a.type) <= 8 && p.d.type == CUDA_R_32F;
  return p.bias_type() == (is_fp8(p.d.type) ? p.c.type : widened ? CUDA_R_16BF : p.d.type);
}

cublasComputeType_t without_pedantic(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUBLAS_COMPUTE_16F;
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return CUBLAS_COMPUTE_32F;
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return CUBLAS_COMPUTE_64F;
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUBLAS_COMPUTE_32I;
    default:
      return compute;
  }
}

bool types_are_supported(const Problem& p) {
  if (has_fp32_scales(p.operation)) return fp32_scaled_types_are_supported(p);
  if (scale_block(p.operation) > 0) return block_scaled_types_are_supported(p);
  if (is_fp8(p.a.type) || is_fp8(p.b.type)) return fp8_types_are_supported(p);
  const cublasComputeType_t compute = without_pedantic(p.operation.compute);
  return std::any_of(std::begin(supported_types), std::end(supported_types), [&](const Types& row) {
    return row.compute == compute && row.scale == p.operation.scale && row.a == p.a.type && row.b == p.b.type &&
           row.c == p.c.type && row.d == p.d.type;
  });
}

/// INVALID_VALUE or SUCCESS.
cublasStatus_t examine_shapes(const Problem& p) {
  const auto invalid = [](const char* why) { return refuse(CUBLAS_STATUS_INVALID_VALUE, why); };
  for (const Matrix* matrix : {&p.a, &p.b, &p.c, &p.d}) {
    if (matrix->rows == 0 || matrix->columns == 0) return invalid("an empty matrix");
    if (matrix->leading_dimension < static_cast<std::int64_t>(matrix->rows)) {
      return invalid("a leading dimension smaller than the number of rows");
    }
    if (matrix->batches < 1) return invalid("a batch count below 1");
    if (matrix->batches != p.d.batches) return invalid("different batch counts");
  }
  const bool a_as_stored = p.operation.transpose_a == CUBLAS_OP_N, b_as_stored = p.operation.transpose_b == CUBLAS_OP_N;
  const std::uint64_t rows_a = a_as_stored ? p.a.rows : p.a.columns, columns_a = a_as_stored ? p.a.columns : p.a.rows;
  const std::uint64_t rows_b = b_as_stored ? p.b.rows : p.b.columns, columns_b = b_as_stored ? p.b.columns : p.b.rows;
  if (rows_a != p.d.rows || columns_b != p.d.columns || columns_a != rows_b || p.c.rows != p.d.rows ||
      p.c.columns != p.d.columns) {
    return invalid("shapes that do not fit");
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// What block-scaled operands need, or nullptr.
const char* unmet_need_of_block_scaling(const Problem& p, std::uint32_t alignment) {
  if (settings().model->compute_capability < 100) return "block scaling needs compute capability 10.0 or newer";
  if (p.operation.transpose_a == CUBLAS_OP_N || p.operation.transpose_b != CUBLAS_OP_N) return "block scaling needs TN";
  if (p.d.batches > 1) return "the model has no batches of block-scaled products";
  if (p.k() % 32 != 0 || p.a.leading_dimension != p.k() || p.b.leading_dimension != p.k()) {
    return "block scaling needs whole blocks and columns without gaps";
  }
  if (p.m() * static_cast<std::int64_t>(element_bits(p.c.type)) % 128 != 0) {
    return "block scaling needs columns of C of whole 16 bytes";
  }
  for (const void* scales : {p.operation.scales_a, p.operation.scales_b}) {
    if (!scales || reinterpret_cast<std::uintptr_t>(scales) % 16 != 0) return "no scales, or not aligned to 16 bytes";
  }
  return alignment < 16 ? "block scaling needs pointers aligned to 16 bytes" : nullptr;
}

/// What fp32 scales of blocks need beside what fp8 needs, or nullptr. n, fast accumulation and epilogues are as NVIDIA's
/// Transformer Engine found them (cublaslt_gemm.cu, test_float8_blockwise_gemm_exact.py), where the documentation is silent.
const char* unmet_need_of_fp32_scales(const Problem& p) {
  if (settings().model->compute_capability != 90) return "fp32 scales of blocks need compute capability 9.0";
  if (p.operation.fast_accumulation != 0) return "fp32 scales of blocks go without fast accumulation";
  if (p.operation.epilogue & ~std::uint32_t{CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_BIAS}) {
    return "fp32 scales of blocks have no epilogue but a bias";
  }
  if (p.d.batches > 1) return "the model has no batches of products with fp32 scales of blocks";
  if (p.m() % 4 != 0 || p.n() % (p.operation.scale_mode_b == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F ? 8 : 4) != 0) {
    return "fp32 scales of blocks need m that is a multiple of 4, and n of 8, or 4 with B in squares";
  }
  for (const void* scales : {p.operation.scales_a, p.operation.scales_b}) {
    if (!scales || reinterpret_cast<std::uintptr_t>(scales) % 16 != 0) return "no scales, or not aligned to 16 bytes";
  }
  return nullptr;
}

/// What the 8-bit types need, or nullptr.
const char* unmet_need_of_8_bit_types(const Problem& p, std::uint32_t alignment) {
  const bool tn = p.operation.transpose_a != CUBLAS_OP_N && p.operation.transpose_b == CUBLAS_OP_N;
  const auto multiples = [](std::int64_t unit, auto... values) { return ((values % unit == 0) && ...); };
  if (scale_block(p.operation) > 0) return unmet_need_of_block_scaling(p, alignment);
  if (is_fp8(p.a.type)) {
    if (settings().model->compute_capability < 89) return "fp8 needs compute capability 8.9 or newer";
    const int capability = settings().model->compute_capability;
    if (!tn && (capability < 100 || capability >= 120)) return "fp8 needs A transposed and B not (TN)";
    const auto bytes_d = p.d.leading_dimension * static_cast<std::int64_t>(element_bits(p.d.type) / 8);
    if (!multiples(16, p.m(), p.k())) return "fp8 needs m and k that are multiples of 16";
    if (!multiples(16, p.a.leading_dimension, p.b.leading_dimension, bytes_d)) {
      return "fp8 needs leading dimensions of whole 16 bytes";
    }
    if (alignment < 16) return "fp8 needs pointers aligned to 16 bytes";
    if (has_fp32_scales(p.operation)) return unmet_need_of_fp32_scales(p);
  } else if (without_pedantic(p.operation.compute) == CUBLAS_COMPUTE_32I) {
    if (!tn) return "int8 needs A transposed and B not (TN)";
    if (!multiples(4, p.m(), p.k(), p.a.leading_dimension, p.b.leading_dimension, p.d.leading_dimension)) {
      return "int8 needs m, k and leading dimensions that are multiples of 4";
    }
    if (alignment < 4) return "int8 needs pointers aligned to 4 bytes";
  }
  return nullptr;
}

/// Bytes of the scales of a block-scaled matrix.
std::size_t scale_bytes(cublasLtMatmulMatrixScale_t mode, std::int64_t lines, std::int64_t k) {
  const auto in_tiles = [&](std::int64_t blocks) { return (lines + 127) / 128 * ((blocks + 3) / 4) * 512; };
  switch (mode) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
      return static_cast<std::size_t>(lines * blocks_of_128(k)) * sizeof(float);
    case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
      return static_cast<std::size_t>((blocks_of_128(k) + 3) / 4 * 4 * blocks_of_128(lines)) * sizeof(float);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3:
      return static_cast<std::size_t>(in_tiles(k / 16));
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
      return static_cast<std::size_t>(in_tiles(k / 32));
    default:
      return 0;
  }
}

}  // namespace

cublasStatus_t refuse(cublasStatus_t status, const char* why) {
  say("cuBLASLt: %s: %s", cublasLtGetStatusName(status), why);
  return status;
}

bool has_bias(const Matmul& operation) { return (operation.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }

std::size_t element_bits(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F:
      return 64;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 32;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 16;
    case CUDA_R_8I:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 8;
    case CUDA_R_4F_E2M1:
      return 4;
    default:
      return 0;
  }
}

std::size_t extent_bytes(const Matrix& matrix) {
  const std::int64_t one =
      (static_cast<std::int64_t>(matrix.columns) - 1) * matrix.leading_dimension + static_cast<std::int64_t>(matrix.rows);
  return (static_cast<std::size_t>(one + (matrix.batches - 1) * matrix.batch_stride) * element_bits(matrix.type) + 7) / 8;
}

std::int64_t scale_block(const Matmul& operation) {
  switch (operation.scale_mode_a) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3:
      return 16;
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
      return 32;
    default:
      return 0;
  }
}

bool has_fp32_scales(const Matmul& operation) {
  const auto is_fp32 = [](cublasLtMatmulMatrixScale_t mode) {
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  };
  return is_fp32(operation.scale_mode_a) || is_fp32(operation.scale_mode_b);
}

bool leaves_memory(const Problem& problem, const Arrays& arrays) {
  const auto outside = [](const char* what, const void* data, std::size_t bytes) {
    if (place_of(data, bytes) == Place::device) return false;
    say("cuBLASLt: %s of %zu bytes at %p is not within one allocation of the device", what, bytes, data);
    return true;
  };
  const auto matrix = [&](const void* data, const Matrix& one) { return outside("a matrix", data, extent_bytes(one)); };
  bool leaves = matrix(arrays.a, problem.a) || matrix(arrays.b, problem.b) || matrix(arrays.d, problem.d) ||
                (arrays.beta != 0 && matrix(arrays.c, problem.c));
  if (scale_block(problem.operation) > 0 || has_fp32_scales(problem.operation)) {
    const Matmul& operation = problem.operation;
    leaves = leaves || outside("scales", operation.scales_a, scale_bytes(operation.scale_mode_a, problem.m(), problem.k())) ||
             outside("scales", operation.scales_b, scale_bytes(operation.scale_mode_b, problem.n(), problem.k()));
  }
  if (has_bias(problem.operation)) {
    const std::int64_t elements = (problem.d.batches - 1) * problem.operation.bias_batch_stride + problem.m();
    const auto bytes = static_cast<std::size_t>(elements) * element_bits(problem.bias_type()) / 8;
    leaves = leaves || outside("a bias", problem.operation.bias, bytes);
  }
  return leaves;
}

cublasStatus_t examine(const Problem& problem, std::uint32_t alignment) {
  if (const cublasStatus_t status = examine_shapes(problem); status != CUBLAS_STATUS_SUCCESS) return status;
  const auto unsupported = [](const char* why) { return refuse(CUBLAS_STATUS_NOT_SUPPORTED, why); };
  const Matmul& operation = problem.operation;
  for (const Matrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    if (matrix->order != CUBLASLT_ORDER_COL) return unsupported("the model has column-major matrices only");
  }
  if (operation.transpose_c != CUBLAS_OP_N || operation.pointer_mode != CUBLASLT_POINTER_MODE_HOST) {
    return unsupported("the model has scalars in host memory and C as it is stored only");
  }
  if (!types_are_supported(problem)) return unsupported("no row of the table of types has this combination");
  if (!epilogue_is_supported(problem)) return unsupported("no such epilogue, or none for these types and this bias's type");
  const char* const unmet = unmet_need_of_8_bit_types(problem, alignment);
  return unmet ? unsupported(unmet) : CUBLAS_STATUS_SUCCESS;
}

}  // namespace gpu_model::runtime::cublaslt
