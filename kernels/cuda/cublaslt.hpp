// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/block_scaled.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/base/data_type.hpp"

#if CUBLAS_VERSION >= 120800
#define ROOFMARK_BLOCK_SCALED_PRODUCTS
#endif
#if CUBLAS_VERSION >= 120900
#define ROOFMARK_FP32_SCALED_PRODUCTS
#endif

// At global scope, where argument-dependent look-up finds it.
inline roofmark::StatusText describe_status(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  // The library does not say whether the context survived, and its runtime is another copy than ours.
  return {false, false, std::string(cublasLtGetStatusName(status)) + ": " + cublasLtGetStatusString(status)};
}

// Owners of cuBLASLt's objects. The library takes every matrix as column-major.
namespace roofmark::cuda::cublaslt {

using Handle = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Matrix = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

inline cudaDataType_t storage(DataType type) {
  switch (type) {
    case DataType::fp64:
      return CUDA_R_64F;
    case DataType::fp32:
    case DataType::tf32:
      return CUDA_R_32F;
    case DataType::fp16:
      return CUDA_R_16F;
    case DataType::bf16:
      return CUDA_R_16BF;
    case DataType::fp8:
      return CUDA_R_8F_E4M3;
    case DataType::int8:
      return CUDA_R_8I;
    case DataType::int32:
      return CUDA_R_32I;
#ifdef ROOFMARK_BLOCK_SCALED_PRODUCTS
    case DataType::mxfp8:
      return CUDA_R_8F_E4M3;
    case DataType::nvfp4:
      return CUDA_R_4F_E2M1;
#else
    case DataType::mxfp8:
    case DataType::nvfp4:
      throw Unsupported(std::string(name(type)) + " needs a build with CUDA 12.8 or newer");
#endif
    case DataType::fp8_vec128:
    case DataType::fp8_blk128:
#ifdef ROOFMARK_FP32_SCALED_PRODUCTS
      return CUDA_R_8F_E4M3;
#else
      throw Unsupported("scales of 128 elements of fp8 need a build with CUDA 12.9 or newer");
#endif
  }
  return CUDA_R_32F;
}

/// Whether the library may answer for mxfp8 with the algorithm that its cache of heuristics has for fp8 of the same shape. Up
/// to 12.8.3, of CUDA 12.8.0, the cache does not tell modes of scaling apart (Transformer Engine, cublaslt_gemm.cu).
inline bool confuses_scalings(std::size_t version) { return version <= 120803; }

inline Handle make_handle(std::size_t version = cublasLtGetVersion()) {
  if (confuses_scalings(version)) check(cublasLtHeuristicsCacheSetCapacity(0));  // 0: no cache
  cublasLtHandle_t made = nullptr;
  check(cublasLtCreate(&made));
  return Handle(made);
}

template <class Value>
void set(const Operation& operation, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof(value)));
}

inline Operation make_operation(cublasComputeType_t compute, cudaDataType_t scale, bool transpose_a, bool transpose_b) {
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, compute, scale));
  Operation operation(made);
  set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_TRANSA, transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_TRANSB, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  return operation;
}

#ifdef ROOFMARK_BLOCK_SCALED_PRODUCTS
/// How a matrix of a block-scaled type is scaled.
inline cublasLtMatmulMatrixScale_t scale_mode(DataType type) {
  switch (type) {
    case DataType::nvfp4:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
#ifdef ROOFMARK_FP32_SCALED_PRODUCTS
    case DataType::fp8_vec128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case DataType::fp8_blk128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
#endif
    default:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
  }
}
#endif

/// Says where the scales of A and B are, which both are block-scaled.
inline void set_scales([[maybe_unused]] const Operation& operation, [[maybe_unused]] const BlockScaledLayout& layout_of_a,
                       [[maybe_unused]] const void* a, [[maybe_unused]] const BlockScaledLayout& layout_of_b,
                       [[maybe_unused]] const void* b) {
#ifdef ROOFMARK_BLOCK_SCALED_PRODUCTS
  const auto scales = [](const BlockScaledLayout& layout, const void* operand) -> const void* {
    return static_cast<const std::byte*>(operand) + layout.scales_offset();
  };
  set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, scale_mode(layout_of_a.type));
  set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, scale_mode(layout_of_b.type));
  set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales(layout_of_a, a));
  set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales(layout_of_b, b));
#endif
}

/// What a library's known errors depend on.
struct Facts {
  int compute_capability;  ///< 120 for 12.0
  std::size_t version;     ///< of cuBLASLt: 130601 for 13.6.1
};
/// Of the current device.
inline Facts facts() { return {device_limits().compute_capability, cublasLtGetVersion()}; }

inline std::string version_text(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

/// Why the library cannot be trusted with matrices of `span` elements, from the first to the last, that begin `stride` elements
/// apart; empty where it can. On compute capability 12.0 and 12.1 it reads past the end of operands that a batch shares (stride
/// 0): a known issue of CUDA's release notes from 13.0 Update 2 to 13.3 Update 1, which has cuBLAS 13.6.0 (6040940, 5996751).
/// Heads that are interleaved, whose stride is less than their span, have been seen to do the same (local-inference-lab/vllm
/// pull request 710).
inline std::string distrusted_batch(const Facts& facts, std::int64_t span, std::int64_t stride) {
  constexpr std::size_t kMended = 130601;
  if (facts.compute_capability / 10 != 12 || facts.version >= kMended || stride >= span) return {};
  return "cuBLASLt " + version_text(facts.version) + " reads past the end of shared or interleaved operands of a batch on " +
         "compute capability 12.x: take " + version_text(kMended) + " or newer";
}

/// A matrix as stored, with columns `pitch` elements apart; or a batch of `count` matrices, `stride` elements apart (0: all are
/// the same matrix). Throws Unsupported for a batch that the library gets wrong.
inline Matrix make_matrix(DataType type, std::int64_t rows, std::int64_t columns, std::int64_t pitch, int count = 1,
                          std::int64_t stride = 0, const Facts& facts = cublaslt::facts()) {
  if (count > 1) {
    const std::string why = distrusted_batch(facts, (columns - 1) * pitch + rows, stride);
    if (!why.empty()) throw Unsupported(why);
  }
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, storage(type), static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                                   pitch));
  Matrix matrix(made);
  if (count > 1) {
    check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
    check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
  }
  return matrix;
}

/// What find_algorithms may return.
struct Preference {
  std::size_t workspace_bytes;
  std::uint32_t alignment = 256;  ///< of every pointer, in bytes
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

/// The library's algorithms for D = alpha A B + beta C, at most `most`, the heuristic's favourite first. Throws Unsupported,
/// with the library's reason, if there is none.
inline std::vector<cublasLtMatmulHeuristicResult_t> find_algorithms(const Handle& handle, const Operation& operation,
                                                                    const Matrix& a, const Matrix& b, const Matrix& c,
                                                                    const Matrix& d, const Preference& preference, int most) {
  const auto refuse = [](cublasStatus_t status) { throw Unsupported("cuBLASLt: " + describe_status(status).text); };
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made));
  const Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> owner(made);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, preference.workspace_bytes);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, preference.reductions);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, preference.alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, preference.alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, preference.alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, preference.alignment);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle.get(), operation.get(), a.get(), b.get(), c.get(),
                                                               d.get(), made, most, results.data(), &found);
  // All values are consistent, so "invalid value" means that the library has no kernel for the combination.
  for (cublasStatus_t no : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_INVALID_VALUE}) {
    if (status == no) refuse(status);
  }
  check(status);
  results.resize(static_cast<std::size_t>(found));
  const cublasStatus_t why = results.empty() ? CUBLAS_STATUS_NOT_SUPPORTED : results.front().state;
  std::erase_if(results, [](const cublasLtMatmulHeuristicResult_t& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (results.empty()) refuse(why);
  return results;
}

}  // namespace roofmark::cuda::cublaslt
