// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <cublasLt.h>

#include <array>

#include "kernels/check.hpp"
#include "kernels/cuda/status.hpp"

// At global scope, where argument-dependent look-up finds it.
static roofmark::StatusText describe_status(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  // The library does not say whether the context survived; the runtime does.
  const bool sticky = describe_status(cudaPeekAtLastError()).sticky;
  return {false, sticky, std::string(cublasLtGetStatusName(status)) + ": " + cublasLtGetStatusString(status)};
}

namespace roofmark::cuda {

namespace {

constexpr std::size_t kWorkspaceBytes = 32u << 20;

template <auto kDestroy>
struct Destroy {
  void operator()(auto* object) const { kDestroy(object); }
};
using Handle = std::unique_ptr<cublasLtContext, Destroy<cublasLtDestroy>>;
using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Matrix = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

cudaDataType_t storage(DataType type) {
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
  }
  return CUDA_R_32F;
}

/// How a product of a type is computed, and the type of its alpha and beta.
struct Arithmetic {
  cublasComputeType_t compute;
  cudaDataType_t scale;
};

Arithmetic arithmetic(DataType type) {
  switch (type) {
    case DataType::fp64:
      return {CUBLAS_COMPUTE_64F, CUDA_R_64F};
    case DataType::tf32:
      return {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
    case DataType::int8:
      return {CUBLAS_COMPUTE_32I, CUDA_R_32I};
    default:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F};
  }
}

Handle make_handle() {
  cublasLtHandle_t made = nullptr;
  check(cublasLtCreate(&made));
  return Handle(made);
}

template <class Value>
void set(const Operation& operation, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof(value)));
}

Operation make_operation(const GemmProblem& problem) {
  const auto [compute, scale] = arithmetic(problem.type);
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, compute, scale));
  Operation operation(made);
  set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_TRANSA, transposes_a(problem.layout) ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_TRANSB, transposes_b(problem.layout) ? CUBLAS_OP_T : CUBLAS_OP_N);
  // The scale pointers of fp8 operands stay null, which means 1.
  if (problem.type == DataType::fp8) set<std::int8_t>(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1);
  return operation;
}

/// A matrix of rows x columns, stored transposed or not, without padding.
Matrix make_matrix(DataType type, std::int64_t rows, std::int64_t columns, bool transposed) {
  if (transposed) std::swap(rows, columns);
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, storage(type), static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                                   rows));
  return Matrix(made);
}

Preference make_preference() {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made));
  Preference preference(made);
  // Pointers are taken as 256-byte aligned unless a preference says less.
  check(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                                             sizeof(kWorkspaceBytes)));
  return preference;
}

template <class Value>
Value configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value = 0;
  std::size_t written = 0;
  check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof(value), &written));
  return value;
}

/// The numbers are those of cublasLt.h: tile 20 is CUBLASLT_MATMUL_TILE_128x128.
std::string describe(const cublasLtMatmulHeuristicResult_t& result) {
  const cublasLtMatmulAlgo_t& a = result.algo;
  return "id " + std::to_string(configured<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_ID)) +                          //
         ", tile " + std::to_string(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_TILE_ID)) +                //
         ", stages " + std::to_string(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_STAGES_ID)) +            //
         ", split-K " + std::to_string(configured<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)) +           //
         ", reduction " + std::to_string(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)) +  //
         ", swizzle " + std::to_string(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING)) +       //
         ", custom " + std::to_string(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION)) +        //
         ", inner " + std::to_string(configured<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID)) +        //
         ", cluster " + std::to_string(configured<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)) +    //
         ", workspace " + std::to_string(result.workspaceSize);
}

/// In place or through the workspace, both schemes below store and add the parts of k in D's type.
int roundings(const cublasLtMatmulAlgo_t& algorithm) {
  const auto parts = configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  const auto scheme = configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  const bool in_output_type = scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE || scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  return in_output_type && parts > 1 ? 2 * parts : 1;
}

class CublasLtPlan final : public GemmPlan {
 public:
  CublasLtPlan(const GemmProblem& problem, int most)
      : type_(problem.type),
        handle_(make_handle()),
        operation_(make_operation(problem)),
        a_(make_matrix(problem.type, problem.m, problem.k, transposes_a(problem.layout))),
        b_(make_matrix(problem.type, problem.k, problem.n, transposes_b(problem.layout))),
        d_(make_matrix(gemm_output_type(problem.type), problem.m, problem.n, false)) {
    const Preference preference = make_preference();
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_.get(), operation_.get(), a_.get(), b_.get(), d_.get(),
                                                                 d_.get(), preference.get(), most, results.data(), &found);
    // The values are whole and consistent, so one that is called invalid belongs to a combination there is no kernel for.
    for (cublasStatus_t no : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_INVALID_VALUE}) {
      if (status == no) refuse(status);
    }
    check(status);
    results.resize(static_cast<std::size_t>(found));
    for (const cublasLtMatmulHeuristicResult_t& result : results) {
      if (result.state != CUBLAS_STATUS_SUCCESS) continue;
      chosen_.push_back(result.algo);
      algorithms_.push_back(describe(result));
      output_roundings_.push_back(roundings(result.algo));
    }
    if (chosen_.empty()) refuse(results.empty() ? CUBLAS_STATUS_NOT_SUPPORTED : results.front().state);
  }

  const std::vector<std::string>& algorithms() const override { return algorithms_; }
  int output_roundings(int algorithm) const override { return output_roundings_[static_cast<std::size_t>(algorithm)]; }

  void launch(int algorithm, const void* a, const void* b, void* d, void* workspace, Stream stream) const override {
    // Alpha 1 and beta 0, in the type the descriptor names. With beta 0, C is not read, and D may stand in for it.
    static constexpr double kOne64 = 1, kZero64 = 0;
    static constexpr float kOne32 = 1, kZero32 = 0;
    static constexpr std::int32_t kOneInt = 1, kZeroInt = 0;
    const void* one = &kOne32;
    const void* zero = &kZero32;
    if (type_ == DataType::fp64) {
      one = &kOne64;
      zero = &kZero64;
    } else if (type_ == DataType::int8) {
      one = &kOneInt;
      zero = &kZeroInt;
    }
    check(cublasLtMatmul(handle_.get(), operation_.get(), one, a, a_.get(), b, b_.get(), zero, d, d_.get(), d, d_.get(),
                         &chosen_[static_cast<std::size_t>(algorithm)], workspace, kWorkspaceBytes, stream));
  }

 private:
  [[noreturn]] static void refuse(cublasStatus_t status) { throw Unsupported("cuBLASLt: " + describe_status(status).text); }

  DataType type_;
  Handle handle_;
  Operation operation_;
  Matrix a_, b_, d_;
  std::vector<cublasLtMatmulAlgo_t> chosen_;
  std::vector<std::string> algorithms_;
  std::vector<int> output_roundings_;
};

std::string version() {
  const std::size_t v = cublasLtGetVersion();
  return "cuBLASLt " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

std::unique_ptr<GemmPlan> plan(const GemmProblem& problem, int most) { return std::make_unique<CublasLtPlan>(problem, most); }

}  // namespace

const GemmKernels gemm = {"cublaslt", kWorkspaceBytes, version, plan};

}  // namespace roofmark::cuda
