// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "cublaslt.hpp"
#include "settings.hpp"

extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a, int lda,
                 const float* b, int ldb, float beta, float* c, int ldc);
void cblas_dgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc);
}

namespace gpu_model::runtime::cublaslt {
namespace {

// Of cblas.h.
constexpr int column_major = 102, no_transpose = 111, transpose = 112;

/// Calls function(T{}) with the C++ type that stores a type's elements.
template <class Function>
void with_element(cudaDataType_t type, Function function) {
  switch (type) {
    case CUDA_R_64F:
      return function(double{});
    case CUDA_R_32F:
      return function(float{});
    case CUDA_R_16F:
      return function(__half{});
    case CUDA_R_16BF:
      return function(__nv_bfloat16{});
    case CUDA_R_8F_E4M3:
      return function(__nv_fp8_e4m3{});
    case CUDA_R_8F_E5M2:
      return function(__nv_fp8_e5m2{});
    case CUDA_R_8I:
      return function(std::int8_t{});
    case CUDA_R_32I:
      return function(std::int32_t{});
    default:
      return;
  }
}

template <class Sum, class T>
Sum value_of(T element) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<Sum>(element);
  } else {
    return static_cast<Sum>(static_cast<float>(element));
  }
}

/// Floats are rounded to nearest even, int8 to the nearest in its range; sums of int32 wrap around.
template <class T, class Sum>
T rounded(Sum value) {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return static_cast<T>(std::clamp(std::nearbyint(value), Sum{-128}, Sum{127}));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<T>(static_cast<std::conditional_t<std::is_arithmetic_v<T>, T, float>>(value));
  }
}

/// The fp32 value with the 10 mantissa bits that the tensor cores read, rounded to nearest even.
float to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

/// One matrix without the gaps between its columns.
template <class Sum>
std::vector<Sum> read(const void* from, const Matrix& matrix) {
  std::vector<Sum> values(matrix.rows * matrix.columns);
  with_element(matrix.type, [&]<class T>(T) {
    for (std::uint64_t column = 0; column < matrix.columns; ++column) {
      const T* const first = static_cast<const T*>(from) + column * static_cast<std::uint64_t>(matrix.leading_dimension);
      std::transform(first, first + matrix.rows, values.data() + column * matrix.rows, value_of<Sum, T>);
    }
  });
  return values;
}
/// The same of a block-scaled matrix, whose columns are its lines.
std::vector<float> read_scaled(const void* from, const void* scales, const Matrix& matrix, std::int64_t block) {
  const auto* const elements = static_cast<const unsigned char*>(from);
  const auto* const scale_bytes = static_cast<const unsigned char*>(scales);
  const auto terms = static_cast<std::int64_t>(matrix.rows), lines = static_cast<std::int64_t>(matrix.columns);
  const std::int64_t tiles_along = (terms / block + 3) / 4;
  std::vector<float> values;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t term = 0; term < terms; ++term) {
      const std::int64_t i = line * terms + term, of_line = term / block;
      const unsigned char* const tile = scale_bytes + (line / 128 * tiles_along + of_line / 4) * 512;
      const unsigned char stored = tile[line % 32 * 16 + line / 32 % 4 * 4 + of_line % 4];
      if (matrix.type == CUDA_R_4F_E2M1) {
        __nv_fp4_e2m1 element;
        __nv_fp8_e4m3 scale;
        element.__x = static_cast<unsigned char>(i % 2 ? elements[i / 2] >> 4 : elements[i / 2] & 15);
        scale.__x = stored;
        values.push_back(static_cast<float>(element) * static_cast<float>(scale));
      } else {
        __nv_fp8_e4m3 element;
        __nv_fp8_e8m0 scale;
        element.__x = elements[i];
        scale.__x = stored;
        values.push_back(static_cast<float>(element) * static_cast<float>(scale));
      }
    }
  }
  return values;
}

/// As a kernel reads what another stored.
template <class Sum>
void store_and_read(cudaDataType_t type, std::vector<Sum>& values) {
  with_element(type, [&]<class T>(T) {
    for (Sum& value : values) value = value_of<Sum>(rounded<T, Sum>(value));
  });
}

/// The fp32 scale of block `block` along k of a row of op(A) or a column of op(B).
float fp32_scale(cublasLtMatmulMatrixScale_t mode, const void* scales, std::int64_t lines, std::int64_t k, std::int64_t line,
                 std::int64_t block) {
  const auto* const first = static_cast<const float*>(scales);
  if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F) return first[line + lines * block];  // M- or N-major, lines x L
  const std::int64_t column = blocks_of_128(k) + 3 - (blocks_of_128(k) + 3) % 4;            // K-major, L in fours
  return first[column * (line / 128) + block];
}

/// sum = A^T B, both k elements per column, where each block of 128 along k is multiplied by the scales of A's and B's.
void multiply_blocks(const Problem& p, const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& sum) {
  const Matmul& operation = p.operation;
  const std::int64_t m = p.m(), n = p.n(), k = p.k();
  std::fill(sum.begin(), sum.end(), 0.0f);
  std::vector<float> part(sum.size());
  for (std::int64_t block = 0; block < blocks_of_128(k); ++block) {
    const std::int64_t first = block * 128;
    cblas_sgemm(column_major, transpose, no_transpose, static_cast<int>(m), static_cast<int>(n),
                static_cast<int>(std::min<std::int64_t>(128, k - first)), 1, a.data() + first, static_cast<int>(k),
                b.data() + first, static_cast<int>(k), 0, part.data(), static_cast<int>(m));
    for (std::int64_t i = 0; i < m * n; ++i) {
      const float of_a = fp32_scale(operation.scale_mode_a, operation.scales_a, m, k, i % m, block);
      const float of_b = fp32_scale(operation.scale_mode_b, operation.scales_b, n, k, i / m, block);
      sum[static_cast<std::size_t>(i)] += of_a * of_b * part[static_cast<std::size_t>(i)];
    }
  }
}

/// GELU is the approximation by tanh.
template <class Sum>
void apply_epilogue(const Problem& p, int batch, std::vector<Sum>& d) {
  const Matmul& operation = p.operation;
  if (operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return;
  if (settings().split_epilogue) store_and_read(p.d.type, d);
  std::vector<Sum> bias(p.d.rows);
  if (has_bias(operation)) {
    with_element(p.bias_type(), [&]<class T>(T) {
      const T* const first = static_cast<const T*>(operation.bias) + batch * operation.bias_batch_stride;
      std::transform(first, first + bias.size(), bias.data(), value_of<Sum, T>);
    });
  }
  for (std::size_t i = 0; i < d.size(); ++i) {
    const Sum x = d[i] + bias[i % bias.size()];
    if (operation.epilogue & CUBLASLT_EPILOGUE_GELU) {
      const Sum root = 0.7978845608028654, cubic = 0.044715;  // sqrt(2 / pi)
      d[i] = x / 2 * (1 + std::tanh(root * (x + cubic * x * x * x)));
    } else {
      d[i] = operation.epilogue & CUBLASLT_EPILOGUE_RELU ? std::max(x, Sum{0}) : x;
    }
  }
}

template <class Sum>
void write(const std::vector<Sum>& values, void* to, const Matrix& matrix) {
  with_element(matrix.type, [&]<class T>(T) {
    for (std::uint64_t column = 0; column < matrix.columns; ++column) {
      const Sum* const first = values.data() + column * matrix.rows;
      std::transform(first, first + matrix.rows,
                     static_cast<T*>(to) + column * static_cast<std::uint64_t>(matrix.leading_dimension), rounded<T, Sum>);
    }
  });
}

template <class Sum>
void multiply_as(const Problem& p, const Arrays& arrays) {
  const auto m = static_cast<int>(p.m()), n = static_cast<int>(p.n()), k = static_cast<int>(p.k());
  const auto lda = static_cast<int>(p.a.rows), ldb = static_cast<int>(p.b.rows);
  const int transpose_a = p.operation.transpose_a == CUBLAS_OP_N ? no_transpose : transpose;
  const int transpose_b = p.operation.transpose_b == CUBLAS_OP_N ? no_transpose : transpose;
  for (int batch = 0; batch < p.d.batches; ++batch) {
    const auto offset = [&](const Matrix& matrix) {
      return static_cast<std::int64_t>(element_bits(matrix.type) / 8) * matrix.batch_stride * batch;
    };
    const auto operand = [&](const void* data, const void* scales, const Matrix& matrix) {
      if constexpr (std::is_same_v<Sum, float>) {
        if (const std::int64_t block = scale_block(p.operation)) return read_scaled(data, scales, matrix, block);
      }
      return read<Sum>(static_cast<const char*>(data) + offset(matrix), matrix);
    };
    std::vector<Sum> a = operand(arrays.a, p.operation.scales_a, p.a);
    std::vector<Sum> b = operand(arrays.b, p.operation.scales_b, p.b);
    std::vector<Sum> d(p.d.rows * p.d.columns);
    if (arrays.beta != 0) d = read<Sum>(static_cast<const char*>(arrays.c) + offset(p.c), p.c);
    if constexpr (std::is_same_v<Sum, double>) {
      cblas_dgemm(column_major, transpose_a, transpose_b, m, n, k, arrays.alpha, a.data(), lda, b.data(), ldb, arrays.beta,
                  d.data(), m);
    } else if (has_fp32_scales(p.operation)) {
      std::vector<float> sum(d.size());
      multiply_blocks(p, a, b, sum);
      const auto alpha = static_cast<float>(arrays.alpha), beta = static_cast<float>(arrays.beta);
      std::transform(sum.begin(), sum.end(), d.begin(), d.begin(), [&](float s, float c) { return alpha * s + beta * c; });
    } else {
      if (p.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32) {
        for (std::vector<float>* operand : {&a, &b})
          std::transform(operand->begin(), operand->end(), operand->begin(), to_tf32);
      }
      cblas_sgemm(column_major, transpose_a, transpose_b, m, n, k, static_cast<float>(arrays.alpha), a.data(), lda, b.data(),
                  ldb, static_cast<float>(arrays.beta), d.data(), m);
    }
    apply_epilogue(p, batch, d);
    write(d, static_cast<char*>(arrays.d) + offset(p.d), p.d);
  }
}

}  // namespace

double read_scalar(cudaDataType_t type, const void* scalar) {
  double value = 0;
  with_element(type, [&]<class T>(T) { value = value_of<double>(*static_cast<const T*>(scalar)); });
  return value;
}

void multiply(const Problem& problem, const Arrays& arrays) {
  if (problem.a.type == CUDA_R_64F || problem.a.type == CUDA_R_8I) {
    multiply_as<double>(problem, arrays);
  } else {
    multiply_as<float>(problem, arrays);
  }
}

}  // namespace gpu_model::runtime::cublaslt
