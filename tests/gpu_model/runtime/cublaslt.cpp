// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in cuBLASLt: descriptors, heuristics and products, checked as its documentation says and computed by OpenBLAS.
#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime.hpp"

extern "C" {
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                 float beta, float* c, int ldc);
void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double* a, int lda, const double* b,
                 int ldb, double beta, double* c, int ldc);
}

struct cublasLtContext {
  int device;
};

namespace gpu_model::runtime {
namespace {

struct Desc {
  std::uint32_t magic = 0x44455343;
  cublasComputeType_t compute{};
  cudaDataType_t scale{};
  std::int32_t pointer_mode = 0, ta = 0, tb = 0, tc = 0, fill = 3;
  std::uint32_t epilogue = 1;
  std::int8_t fast_accumulation = 0;
  const void* scales[4] = {};
};
struct Layout {
  std::uint32_t magic = 0x4c41594f;
  cudaDataType_t type{};
  std::int32_t order = 0, batches = 1;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t ld = 0, stride = 0;
};
struct Preference {
  std::uint32_t magic = 0x50524546;
  std::uint64_t workspace = 0;
  std::uint32_t reductions = 7, alignment[4] = {256, 256, 256, 256};
};
struct Algorithm {
  std::uint32_t magic;
  std::int32_t id;
  std::uint32_t tile, stages;
  std::int32_t split;
  std::uint32_t reduction, swizzle, custom;
  std::uint16_t inner, cluster;
  std::uint32_t compute;
  std::uint64_t workspace;
  std::uint32_t alignment, types;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));
constexpr std::uint32_t kAlgorithm = 0x414c474f;

template <class T, class Handle>
T* as(Handle* handle, std::uint32_t magic) {
  auto* made = reinterpret_cast<T*>(handle);
  return made && made->magic == magic ? made : nullptr;
}
Desc* desc(cublasLtMatmulDesc_t d) { return as<Desc>(d, 0x44455343); }
Layout* layout(cublasLtMatrixLayout_t l) { return as<Layout>(l, 0x4c41594f); }
Preference* preference(cublasLtMatmulPreference_t p) { return as<Preference>(p, 0x50524546); }

std::size_t width(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F:
      return 8;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_8I:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 1;
    default:
      return 0;
  }
}
bool fp8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

cublasStatus_t refuse(cublasStatus_t status, const char* why) {
  say("cuBLASLt: %s: %s", cublasLtGetStatusName(status), why);
  return status;
}

struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
  int batches = 1;
};

/// Whether cuBLASLt has this on compute capability 9.0.
cublasStatus_t examine(const Desc& d, const Layout& a, const Layout& b, const Layout& c, const Layout& r,
                       const std::uint32_t* alignment, Shape& shape) {
  for (const Layout* l : {&a, &b, &c, &r}) {
    if (!width(l->type) || l->order != CUBLASLT_ORDER_COL) return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "a type or order");
    if (l->rows == 0 || l->columns == 0) return refuse(CUBLAS_STATUS_INVALID_VALUE, "an empty matrix");
    if (l->ld < static_cast<std::int64_t>(l->rows))
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "a leading dimension below the rows");
    if (l->batches < 1) return refuse(CUBLAS_STATUS_INVALID_VALUE, "a batch count below 1");
  }
  const bool ta = d.ta != CUBLAS_OP_N, tb = d.tb != CUBLAS_OP_N;
  shape.m = static_cast<std::int64_t>(ta ? a.columns : a.rows);
  shape.k = static_cast<std::int64_t>(ta ? a.rows : a.columns);
  shape.n = static_cast<std::int64_t>(tb ? b.rows : b.columns);
  shape.batches = r.batches;
  if (static_cast<std::int64_t>(tb ? b.columns : b.rows) != shape.k || static_cast<std::int64_t>(r.rows) != shape.m ||
      static_cast<std::int64_t>(r.columns) != shape.n || c.rows != r.rows || c.columns != r.columns)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "shapes that do not fit");
  if (a.batches != r.batches || b.batches != r.batches || c.batches != r.batches)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "batch counts that differ");
  if (d.tc != CUBLAS_OP_N || d.epilogue != CUBLASLT_EPILOGUE_DEFAULT || d.pointer_mode != CUBLASLT_POINTER_MODE_HOST)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "an epilogue, pointer mode or transposed C that the model does not have");
  // The table of types of cublasLtMatmul().
  const cudaDataType_t ab = a.type, out = r.type;
  bool known = false;
  switch (d.compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      known = d.scale == CUDA_R_64F && ab == CUDA_R_64F && b.type == ab && out == ab && c.type == ab;
      break;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      known = d.scale == CUDA_R_32F && ab == CUDA_R_32F && b.type == ab && out == ab && c.type == ab;
      break;
    case CUBLAS_COMPUTE_16F:
      known = d.scale == CUDA_R_16F && ab == CUDA_R_16F && b.type == ab && out == ab && c.type == ab;
      break;
    case CUBLAS_COMPUTE_32I:
      known = ab == CUDA_R_8I && b.type == ab &&
              ((d.scale == CUDA_R_32I && out == CUDA_R_32I && c.type == out) ||
               (d.scale == CUDA_R_32F && out == CUDA_R_8I && c.type == out));
      break;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      if (d.scale != CUDA_R_32F) break;
      if (fp8(ab) || fp8(b.type)) {
        if (!fp8(ab) || !fp8(b.type) || (ab == CUDA_R_8F_E5M2 && b.type == ab)) break;
        known = (out == CUDA_R_16BF && c.type == CUDA_R_16BF) || (out == CUDA_R_16F && c.type == CUDA_R_16F) ||
                (out == CUDA_R_32F && c.type == CUDA_R_32F) || (fp8(out) && (c.type == CUDA_R_16BF || c.type == CUDA_R_16F));
      } else if (b.type == ab) {
        known = (ab == CUDA_R_16BF && (out == CUDA_R_16BF || out == CUDA_R_32F)) ||
                (ab == CUDA_R_16F && (out == CUDA_R_16F || out == CUDA_R_32F)) || (ab == CUDA_R_8I && out == CUDA_R_32F) ||
                (ab == CUDA_R_32F && out == CUDA_R_32F);
        known = known && c.type == out;
      }
      break;
    default:
      break;
  }
  if (!known) return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "a combination of types that the table does not have");
  const std::uint32_t least = std::min({alignment[0], alignment[1], alignment[2], alignment[3]});
  if (fp8(ab)) {
    if (!ta || tb) return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "fp8 needs A transposed and B not (TN) on 8.9 and 9.0");
    if (shape.m % 16 || shape.n % 16 || shape.k % 16)
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "fp8 needs dimensions that are multiples of 16");
    if (a.ld % 16 || b.ld % 16 || (static_cast<std::size_t>(r.ld) * width(out)) % 16)
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "fp8 needs leading dimensions of whole 16 bytes");
    if (least < 16) return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "fp8 needs pointers aligned to 16 bytes");
  }
  if (ab == CUDA_R_8I && d.compute == CUBLAS_COMPUTE_32I) {
    if (!ta || tb) return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "int8 needs A transposed and B not (TN)");
    if (shape.m % 4 || shape.k % 4 || a.ld % 4 || b.ld % 4 || r.ld % 4)
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "int8 needs m, k and leading dimensions that are multiples of 4");
    if (least < 4) return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "int8 needs pointers aligned to 4 bytes");
  }
  return CUBLAS_STATUS_SUCCESS;
}

// ---- conversions ----------------------------------------------------------------------------------------------------
float from_half(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0)
    return std::copysign(std::ldexp(static_cast<float>(mantissa), -24), std::bit_cast<float>(sign | 0x3f800000u));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}
std::uint16_t to_half(float f) {
  const auto bits = std::bit_cast<std::uint32_t>(f);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const float size = std::fabs(f);
  if (std::isnan(f)) return 0x7fff;
  if (size >= 65520.0f) return sign | 0x7c00;
  if (size < 6.103515625e-05f)
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(std::ldexp(size, 24))));
  std::uint32_t rest = bits & 0x7fffffff;
  rest += 0xfff + (rest >> 13 & 1);
  return static_cast<std::uint16_t>(sign | ((rest >> 13) - (112u << 10)));
}
float from_bf16(std::uint16_t h) { return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16); }
std::uint16_t to_bf16(float f) {
  const auto bits = std::bit_cast<std::uint32_t>(f);
  if (std::isnan(f)) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float from_e4m3(std::uint8_t v) {
  const int exponent = v >> 3 & 15, mantissa = v & 7;
  if ((v & 0x7f) == 0x7f) return std::nanf("");
  const float size =
      exponent ? std::ldexp(8.0f + static_cast<float>(mantissa), exponent - 10) : std::ldexp(static_cast<float>(mantissa), -9);
  return v & 0x80 ? -size : size;
}
float from_e5m2(std::uint8_t v) { return from_half(static_cast<std::uint16_t>(v << 8)); }
float to_tf32(
    float f) {  // as the tensor core reads it: the low 13 bits are not there (rounded to nearest by the library's kernels)
  auto bits = std::bit_cast<std::uint32_t>(f);
  if ((bits & 0x7f800000) == 0x7f800000) return f;
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  return std::bit_cast<float>(bits);
}

template <class T>
std::vector<T> read(const void* from, const Layout& l, bool tf32) {
  std::vector<T> values(static_cast<std::size_t>(l.rows * l.columns));
  for (std::uint64_t j = 0; j < l.columns; ++j) {
    const std::size_t at = j * static_cast<std::uint64_t>(l.ld);
    T* to = values.data() + j * l.rows;
    for (std::uint64_t i = 0; i < l.rows; ++i) {
      switch (l.type) {
        case CUDA_R_64F:
          to[i] = static_cast<T>(static_cast<const double*>(from)[at + i]);
          break;
        case CUDA_R_32F: {
          const float v = static_cast<const float*>(from)[at + i];
          to[i] = static_cast<T>(tf32 ? to_tf32(v) : v);
          break;
        }
        case CUDA_R_16F:
          to[i] = static_cast<T>(from_half(static_cast<const std::uint16_t*>(from)[at + i]));
          break;
        case CUDA_R_16BF:
          to[i] = static_cast<T>(from_bf16(static_cast<const std::uint16_t*>(from)[at + i]));
          break;
        case CUDA_R_8F_E4M3:
          to[i] = static_cast<T>(from_e4m3(static_cast<const std::uint8_t*>(from)[at + i]));
          break;
        case CUDA_R_8F_E5M2:
          to[i] = static_cast<T>(from_e5m2(static_cast<const std::uint8_t*>(from)[at + i]));
          break;
        case CUDA_R_8I:
          to[i] = static_cast<T>(static_cast<const std::int8_t*>(from)[at + i]);
          break;
        case CUDA_R_32I:
          to[i] = static_cast<T>(static_cast<const std::int32_t*>(from)[at + i]);
          break;
        default:
          break;
      }
    }
  }
  return values;
}
template <class T>
void write(void* to, const Layout& l, const std::vector<T>& values) {
  for (std::uint64_t j = 0; j < l.columns; ++j) {
    const std::size_t at = j * static_cast<std::uint64_t>(l.ld);
    const T* from = values.data() + j * l.rows;
    for (std::uint64_t i = 0; i < l.rows; ++i) {
      switch (l.type) {
        case CUDA_R_64F:
          static_cast<double*>(to)[at + i] = static_cast<double>(from[i]);
          break;
        case CUDA_R_32F:
          static_cast<float*>(to)[at + i] = static_cast<float>(from[i]);
          break;
        case CUDA_R_16F:
          static_cast<std::uint16_t*>(to)[at + i] = to_half(static_cast<float>(from[i]));
          break;
        case CUDA_R_16BF:
          static_cast<std::uint16_t*>(to)[at + i] = to_bf16(static_cast<float>(from[i]));
          break;
        case CUDA_R_32I:
          static_cast<std::int32_t*>(to)[at + i] = static_cast<std::int32_t>(static_cast<std::int64_t>(from[i]));
          break;
        default:
          break;
      }
    }
  }
}

struct Product {
  Desc d;
  Layout a, b, c, r;
  Shape shape;
  const void *pa, *pb, *pc;
  void* pr;
  double alpha, beta;
};

template <class T>
void multiply(const Product& p) {
  const auto m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n), k = static_cast<int>(p.shape.k);
  const bool tf32 = p.d.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  for (int batch = 0; batch < p.shape.batches; ++batch) {
    const auto at = [&](const void* base, const Layout& l) {
      return static_cast<const char*>(base) + static_cast<std::int64_t>(width(l.type)) * l.stride * batch;
    };
    const std::vector<T> a = read<T>(at(p.pa, p.a), p.a, tf32), b = read<T>(at(p.pb, p.b), p.b, tf32);
    std::vector<T> r(static_cast<std::size_t>(p.shape.m * p.shape.n));
    if (p.beta != 0) r = read<T>(at(p.pc, p.c), p.c, false);
    const int ta = p.d.ta != CUBLAS_OP_N ? 112 : 111, tb = p.d.tb != CUBLAS_OP_N ? 112 : 111;
    if constexpr (sizeof(T) == 8) {
      cblas_dgemm(102, ta, tb, m, n, k, p.alpha, a.data(), static_cast<int>(p.a.rows), b.data(), static_cast<int>(p.b.rows),
                  p.beta, r.data(), m);
    } else {
      cblas_sgemm(102, ta, tb, m, n, k, static_cast<float>(p.alpha), a.data(), static_cast<int>(p.a.rows), b.data(),
                  static_cast<int>(p.b.rows), static_cast<float>(p.beta), r.data(), m);
    }
    write(const_cast<char*>(at(p.pr, p.r)), p.r, r);
  }
}

std::size_t extent(const Layout& l) {
  const auto one = (static_cast<std::int64_t>(l.columns) - 1) * l.ld + static_cast<std::int64_t>(l.rows);
  return static_cast<std::size_t>(one + (l.batches - 1) * l.stride) * width(l.type);
}

double rate(const Desc& d, const Layout& a) {  // flops a nanosecond
  switch (a.type) {
    case CUDA_R_64F:
      return 67e3 * 0.9;
    case CUDA_R_32F:
      return d.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 494e3 * 0.8 : 60e3 * 0.85;
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
    case CUDA_R_8I:
      return 1979e3 * 0.7;
    default:
      return 989e3 * 0.78;
  }
}

template <class T>
cublasStatus_t put(T& to, const void* from, std::size_t bytes) {
  if (!from || bytes != sizeof(T)) return refuse(CUBLAS_STATUS_INVALID_VALUE, "an attribute of another size");
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "<unknown>";
  }
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "the operation completed successfully";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the GPU program failed to execute";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality requested is not supported";
    default:
      return cublasLtGetStatusName(status);
  }
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  if (enter() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext{current_device().ordinal()};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* to, cublasComputeType_t compute, cudaDataType_t scale) {
  if (!to) return CUBLAS_STATUS_INVALID_VALUE;
  auto* made = new Desc;
  made->compute = compute;
  made->scale = scale;
  *to = reinterpret_cast<cublasLtMatmulDesc_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return delete desc(d), CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
  Desc* d = desc(handle);
  if (!d) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no matmul descriptor");
  switch (which) {
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return put(d->pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return put(d->ta, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return put(d->tb, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC:
      return put(d->tc, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return put(d->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return put(d->fast_accumulation, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return put(d->scales[0], value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return put(d->scales[1], value, bytes);
    case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER:
      return put(d->scales[2], value, bytes);
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER:
      return put(d->scales[3], value, bytes);
    default:
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "a descriptor's attribute that the model does not have");
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* to, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t ld) {
  if (!to) return CUBLAS_STATUS_INVALID_VALUE;
  auto* made = new Layout;
  made->type = type;
  made->rows = rows;
  made->columns = columns;
  made->ld = ld;
  *to = reinterpret_cast<cublasLtMatrixLayout_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return delete layout(l), CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t bytes) {
  Layout* l = layout(handle);
  if (!l) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no matrix layout");
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return put(l->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return put(l->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return put(l->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return put(l->ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return put(l->batches, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return put(l->stride, value, bytes);
    default:
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "a layout's attribute that the model does not have");
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* to) {
  if (!to) return CUBLAS_STATUS_INVALID_VALUE;
  *to = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  return delete preference(p), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* value,
                                                    size_t bytes) {
  Preference* p = preference(handle);
  if (!p) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no preference");
  switch (which) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return put(p->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return put(p->reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return put(p->alignment[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return put(p->alignment[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return put(p->alignment[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return put(p->alignment[3], value, bytes);
    default:
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "a preference that the model does not have");
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t r,
                                              cublasLtMatmulPreference_t wish, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  if (!handle) return refuse(CUBLAS_STATUS_NOT_INITIALIZED, "no handle");
  const Desc* d = desc(operation);
  const Preference* p = preference(wish);
  if (!d || !layout(a) || !layout(b) || !layout(c) || !layout(r) || !p || !results || !found || most <= 0)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "an argument of the heuristic");
  *found = 0;
  Shape shape;
  if (const cublasStatus_t status = examine(*d, *layout(a), *layout(b), *layout(c), *layout(r), p->alignment, shape);
      status != CUBLAS_STATUS_SUCCESS)
    return status;
  const Algorithm all[] = {{kAlgorithm, 66, 20, 35, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0},
                           {kAlgorithm, 66, 24, 36, 1, 0, 1, 0, 0, 3, 0, 0, 0, 0},
                           {kAlgorithm, 21, 20, 13, 3, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 0, 0, 0, 1, 0, 0, 0, 0}};
  for (Algorithm algorithm : all) {
    if (*found == most) break;
    if (algorithm.reduction && !(p->reductions & algorithm.reduction)) continue;
    algorithm.workspace = algorithm.split > 1  ? static_cast<std::uint64_t>(shape.m * shape.n * 4 * algorithm.split)
                          : algorithm.id == 66 ? 1024
                                               : 0;
    if (algorithm.workspace > p->workspace) continue;
    algorithm.alignment = std::min({p->alignment[0], p->alignment[1], p->alignment[2], p->alignment[3]});
    algorithm.compute = static_cast<std::uint32_t>(d->compute);
    algorithm.types = static_cast<std::uint32_t>(layout(a)->type) << 16 | static_cast<std::uint32_t>(layout(r)->type);
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    std::memset(&result, 0, sizeof result);
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = algorithm.workspace;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return *found ? CUBLAS_STATUS_SUCCESS : refuse(CUBLAS_STATUS_NOT_SUPPORTED, "no algorithm left by the preferences");
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t which, void* to, size_t bytes,
                                                    size_t* written) {
  Algorithm a;
  if (!algo) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&a, algo, sizeof a);
  if (a.magic != kAlgorithm) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no algorithm");
  const auto give = [&](const auto& value) {
    if (written) *written = sizeof value;
    if (bytes == 0 && written) return CUBLAS_STATUS_SUCCESS;
    if (!to || bytes != sizeof value) return refuse(CUBLAS_STATUS_INVALID_VALUE, "an algorithm's attribute of another size");
    std::memcpy(to, &value, sizeof value);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (which) {
    case CUBLASLT_ALGO_CONFIG_ID:
      return give(a.id);
    case CUBLASLT_ALGO_CONFIG_TILE_ID:
      return give(a.tile);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
      return give(a.split);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
      return give(a.reduction);
    case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING:
      return give(a.swizzle);
    case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION:
      return give(a.custom);
    case CUBLASLT_ALGO_CONFIG_STAGES_ID:
      return give(a.stages);
    case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
      return give(a.inner);
    case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID:
      return give(a.cluster);
    default:
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "an algorithm's attribute");
  }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* beta,
                              const void* c, cublasLtMatrixLayout_t lc, void* r, cublasLtMatrixLayout_t lr,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  if (!handle) return refuse(CUBLAS_STATUS_NOT_INITIALIZED, "no handle");
  const Desc* d = desc(operation);
  if (!d || !layout(la) || !layout(lb) || !layout(lc) || !layout(lr) || !alpha || !beta || !a || !b || !r)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "an argument of the product");
  if (enter() != cudaSuccess) return refuse(CUBLAS_STATUS_EXECUTION_FAILED, "the context has an error");
  Product p{*d, *layout(la), *layout(lb), *layout(lc), *layout(lr), {}, a, b, c, r, 1, 0};
  std::uint32_t alignment[4];
  const void* pointers[] = {a, b, c ? c : r, r};
  for (int i = 0; i < 4; ++i) alignment[i] = 1u << std::min(8, std::countr_zero(reinterpret_cast<std::uintptr_t>(pointers[i])));
  if (const cublasStatus_t status = examine(p.d, p.a, p.b, p.c, p.r, alignment, p.shape); status != CUBLAS_STATUS_SUCCESS)
    return status;
  std::uint64_t needs = 0;
  if (algo) {
    Algorithm chosen;
    std::memcpy(&chosen, algo, sizeof chosen);
    if (chosen.magic != kAlgorithm) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no algorithm");
    if (chosen.compute != static_cast<std::uint32_t>(d->compute) ||
        chosen.types != (static_cast<std::uint32_t>(p.a.type) << 16 | static_cast<std::uint32_t>(p.r.type)))
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "an algorithm of another problem");
    if (std::min({alignment[0], alignment[1], alignment[2], alignment[3]}) < chosen.alignment)
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "pointers less aligned than the preference said");
    needs = chosen.workspace;
  }
  if (needs > workspace_bytes) return refuse(CUBLAS_STATUS_INVALID_VALUE, "a workspace smaller than the algorithm's");
  if (needs && (!workspace || place_of(workspace, workspace_bytes) != Place::device))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a workspace that is not in device memory");
  if (workspace && reinterpret_cast<std::uintptr_t>(workspace) % 16)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a workspace that is not aligned");
  if (workspace && reinterpret_cast<std::uintptr_t>(workspace) % 256)
    say("cuBLASLt: the workspace is not aligned to 256 bytes");
  switch (d->scale) {
    case CUDA_R_64F:
      p.alpha = *static_cast<const double*>(alpha), p.beta = *static_cast<const double*>(beta);
      break;
    case CUDA_R_32I:
      p.alpha = *static_cast<const std::int32_t*>(alpha), p.beta = *static_cast<const std::int32_t*>(beta);
      break;
    case CUDA_R_16F:
      p.alpha = from_half(*static_cast<const std::uint16_t*>(alpha)),
      p.beta = from_half(*static_cast<const std::uint16_t*>(beta));
      break;
    default:
      p.alpha = *static_cast<const float*>(alpha), p.beta = *static_cast<const float*>(beta);
      break;
  }
  if (p.beta != 0 && !c) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no C, and beta is not 0");
  // A kernel of the library would fault where a matrix leaves its memory.
  const std::pair<const void*, const Layout*> all[] = {{a, &p.a}, {b, &p.b}, {r, &p.r}};
  bool outside = false;
  for (const auto& [pointer, l] : all) {
    if (place_of(pointer, extent(*l)) != Place::device) {
      outside = true;
      say("cuBLASLt: a matrix of %zu bytes at %p is not within one allocation of the device", extent(*l), pointer);
    }
  }
  const std::size_t workspace_used = needs;
  const cudaError_t status =
      submit(stream, "matmul", [p, outside, workspace, workspace_used](Device& device, double start, double overhead) {
        if (outside) {
          set_sticky(device, cudaErrorIllegalAddress);
          return start + overhead;
        }
        if (workspace_used) std::memset(workspace, 0x5A, workspace_used);
        const double flops = 2.0 * double(p.shape.m) * double(p.shape.n) * double(p.shape.k) * p.shape.batches;
        if (settings().blas_limit > 0 && flops > settings().blas_limit) {
          GPUMODEL_TRACE("skipped: a product of %g FLOPs (GPUMODEL_BLAS_LIMIT)", flops);
        } else if (p.a.type == CUDA_R_64F || p.a.type == CUDA_R_8I) {
          multiply<double>(p);
        } else {
          multiply<float>(p);
        }
        const double bytes = double(extent(p.a) + extent(p.b) + extent(p.r));
        const double tiles = std::ceil(double(p.shape.m) / 128) * std::ceil(double(p.shape.n) / 128) * p.shape.batches;
        const double sms = settings().multiprocessors;
        const double waves = std::ceil(tiles / sms) / (tiles / sms) * 132 / sms;
        const double scale = device.clock_mhz(start, 1) / 1755;
        double time = flops / rate(p.d, p.a) * std::min(waves, 2640.0) / scale;
        time = std::max(time, bytes / (bytes > 0.7 * double(settings().l2_bytes) ? settings().model->dram_bytes_per_ns
                                                                                 : settings().model->l2_bytes_per_ns));
        const double slow = slowdown("cublaslt_matmul", device);
        const double end = start + (overhead + (time + 1200) * slow) * device.noise();
        device.was_busy(start, end, 1);
        GPUMODEL_TRACE("matmul %lld x %lld x %lld x %d: model %.2f us", static_cast<long long>(p.shape.m),
                       static_cast<long long>(p.shape.n), static_cast<long long>(p.shape.k), p.shape.batches,
                       (end - start) * 1e-3);
        return end;
      });
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : refuse(CUBLAS_STATUS_EXECUTION_FAILED, cudaGetErrorName(status));
}

}  // extern "C"
