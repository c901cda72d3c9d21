// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cuda/cublaslt.hpp"

namespace roofmark::cuda {

namespace {

constexpr std::size_t kWorkspaceBytes = 32u << 20;

/// The compute type of a product, and the type of its alpha and beta.
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

std::uint32_t epilogue(GemmEpilogue epilogue) {
  switch (epilogue) {
    case GemmEpilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case GemmEpilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case GemmEpilogue::relu:
      return CUBLASLT_EPILOGUE_RELU;
    case GemmEpilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU;
    case GemmEpilogue::bias_relu:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case GemmEpilogue::bias_gelu:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

cublaslt::Operation make_operation(const GemmProblem& problem) {
  const auto [compute, scale] = arithmetic(problem.type);
  cublaslt::Operation operation =
      cublaslt::make_operation(compute, scale, transposes_a(problem.layout), transposes_b(problem.layout));
  // The scale pointers of fp8 operands with one scale per matrix, and of D in fp8, stay null, which means 1. With scales of
  // blocks the library refuses fast accumulation (Transformer Engine, test_split_accumulator_enforced): the sum of each block
  // goes to fp32 anyway.
  if (problem.type_of_a() == DataType::fp8) cublaslt::set<std::int8_t>(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1);
  if (problem.epilogue != GemmEpilogue::none) {
    cublaslt::set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(problem.epilogue));
  }
  if (has_bias(problem.epilogue)) {
    cublaslt::set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cublaslt::storage(problem.bias_type()));
    if (problem.batch > 1) cublaslt::set(operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, problem.bias_count());
  }
  return operation;
}

/// A batch of matrices of rows x columns, stored transposed or not, without padding.
cublaslt::Matrix make_matrix(DataType type, std::int64_t rows, std::int64_t columns, bool transposed, std::int64_t batch) {
  if (transposed) std::swap(rows, columns);
  return cublaslt::make_matrix(type, rows, columns, rows, static_cast<int>(batch), rows * columns);
}

template <class Value>
cublasStatus_t get(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute, Value& value) {
  std::size_t written = 0;
  return cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof(value), &written);
}

/// "?" where the library has no such attribute.
template <class Value>
std::string in_words(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value = 0;
  return get(algorithm, attribute, value) == CUBLAS_STATUS_SUCCESS ? std::to_string(value) : "?";
}

/// The numbers are those of cublasLt.h: tile 20 is CUBLASLT_MATMUL_TILE_128x128.
std::string describe(const cublasLtMatmulHeuristicResult_t& result) {
  const cublasLtMatmulAlgo_t& a = result.algo;
  return "id " + in_words<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_ID) +                          //
         ", tile " + in_words<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_TILE_ID) +                //
         ", stages " + in_words<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_STAGES_ID) +            //
         ", split-K " + in_words<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) +           //
         ", reduction " + in_words<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) +  //
         ", swizzle " + in_words<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING) +       //
         ", custom " + in_words<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION) +        //
         ", inner " + in_words<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID) +        //
         ", cluster " + in_words<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID) +    //
         ", workspace " + std::to_string(result.workspaceSize);
}

/// The two schemes below add the parts of k in D's type, in place or in the workspace.
int roundings(const cublasLtMatmulAlgo_t& algorithm) {
  // An algorithm without these attributes splits nothing.
  std::int32_t parts = 0;
  std::uint32_t scheme = 0;
  if (get(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, parts) != CUBLAS_STATUS_SUCCESS) return 1;
  if (get(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, scheme) != CUBLAS_STATUS_SUCCESS) return 1;
  const bool in_output_type = scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE || scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  return in_output_type && parts > 1 ? 2 * parts : 1;
}

class CublasLtPlan final : public GemmPlan {
 public:
  /// `alignment`: of every pointer, in bytes.
  CublasLtPlan(const GemmProblem& problem, int most, const GemmOperands& operands, std::uint32_t alignment = 256)
      : problem_(problem),
        handle_(cublaslt::make_handle()),
        operation_(make_operation(problem)),
        a_(make_matrix(problem.type_of_a(), problem.m, problem.k, transposes_a(problem.layout), problem.batch)),
        b_(make_matrix(problem.type_of_b(), problem.k, problem.n, transposes_b(problem.layout), problem.batch)),
        c_(make_matrix(type_of_c(problem), problem.m, problem.n, false, problem.batch)),
        d_(make_matrix(problem.output, problem.m, problem.n, false, problem.batch)) {
    set_operands(operands);
    for (const cublasLtMatmulHeuristicResult_t& result :
         cublaslt::find_algorithms(handle_, operation_, a_, b_, c_, d_, {kWorkspaceBytes, alignment}, most)) {
      chosen_.push_back(result.algo);
      algorithms_.push_back(describe(result));
      output_roundings_.push_back(roundings(result.algo));
    }
  }

  const std::vector<std::string>& algorithms() const override { return algorithms_; }
  int output_roundings(int algorithm) const override { return output_roundings_[static_cast<std::size_t>(algorithm)]; }
  /// Of some shapes, and on some GPUs, the library stores the sum in D and adds the bias or applies the GELU in a kernel of its
  /// own (cublasLt::epilogue::impl::globalKernel in the binary of 13.1; llm.c, pull requests 338 and 363, saw it on an RTX
  /// 4090). In fp32 and fp64 that is one more rounding among those of the sum. max(x, 0) does not see the rounding.
  int roundings_before_epilogue() const override {
    const bool narrow = problem_.output == DataType::fp16 || problem_.output == DataType::bf16;
    return narrow && (has_bias(problem_.epilogue) || has_gelu(problem_.epilogue)) ? 1 : 0;
  }

  void launch(int algorithm, const GemmOperands& operands, void* d, void* workspace, Stream stream) const override {
    // In the descriptor's type. With beta 0, C is not read.
    const double beta64 = problem_.accumulates ? 1 : 0;
    const auto alpha32 = static_cast<float>(problem_.alpha), beta32 = static_cast<float>(beta64);
    static constexpr std::int32_t kOneInt = 1, kZeroInt = 0;
    const void* alpha = &alpha32;
    const void* beta = &beta32;
    if (problem_.type == DataType::fp64) {
      alpha = &problem_.alpha;
      beta = &beta64;
    } else if (problem_.type == DataType::int8) {
      alpha = &kOneInt;
      beta = &kZeroInt;
    }
    set_operands(operands);
    const void* const c = type_of_c(problem_) == problem_.output ? d : nullptr;
    check(cublasLtMatmul(handle_.get(), operation_.get(), alpha, operands.a, a_.get(), operands.b, b_.get(), beta, c, c_.get(),
                         d, d_.get(), &chosen_[static_cast<std::size_t>(algorithm)], workspace, kWorkspaceBytes, stream));
  }

 private:
  /// An fp8 C does not exist; beside an fp8 D it has the bias's type.
  static DataType type_of_c(const GemmProblem& problem) {
    return problem.output == DataType::fp8 ? problem.bias_type() : problem.output;
  }

  void set_operands(const GemmOperands& operands) const {
    if (has_bias(problem_.epilogue)) cublaslt::set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
    if (!is_block_scaled(problem_.type_of_a())) return;
    cublaslt::set_scales(operation_, {problem_.type_of_a(), problem_.m, problem_.k}, operands.a,
                         {problem_.type_of_b(), problem_.n, problem_.k}, operands.b);
  }

  GemmProblem problem_;
  cublaslt::Handle handle_;
  cublaslt::Operation operation_;
  cublaslt::Matrix a_, b_, c_, d_;
  std::vector<cublasLtMatmulAlgo_t> chosen_;
  std::vector<std::string> algorithms_;
  std::vector<int> output_roundings_;
};

/// Products of one batch with different numbers of columns, one call after another, each by the library's first algorithm.
class UnevenPlan final : public GemmPlan {
 public:
  UnevenPlan(const GemmProblem& problem, const GemmOperands& operands) : problem_(problem) {
    std::string text;
    for (std::int64_t first = 0, behind = 0; first < problem.products(); first = behind) {
      std::size_t alignment = 256;  // that the pointers of all products of the run have
      for (; behind < problem.products() && problem.columns(behind) == problem.columns(first); ++behind) {
        for (const std::size_t at : {at_a(behind), at_b(behind), at_d(behind)}) alignment = std::gcd(alignment, at);
      }
      runs_.push_back(
          {first, behind,
           std::make_unique<CublasLtPlan>(problem.product(first), 1, operands, static_cast<std::uint32_t>(alignment))});
      text += (first == 0 ? "one product per call: n " : "; n ") + std::to_string(problem.columns(first)) + " by " +
              runs_.back().plan->algorithms().front();
    }
    algorithms_.push_back(std::move(text));
  }

  const std::vector<std::string>& algorithms() const override { return algorithms_; }
  int output_roundings(int algorithm) const override {
    int most = 1;
    for (const Run& run : runs_) most = std::max(most, run.plan->output_roundings(algorithm));
    return most;
  }

  void launch(int algorithm, const GemmOperands& operands, void* d, void* workspace, Stream stream) const override {
    const auto *const a = static_cast<const std::byte*>(operands.a), *const b = static_cast<const std::byte*>(operands.b);
    auto* const to = static_cast<std::byte*>(d);
    for (const Run& run : runs_) {
      for (std::int64_t i = run.first; i < run.behind; ++i) {
        run.plan->launch(algorithm, {a + at_a(i), b + at_b(i)}, to + at_d(i), workspace, stream);
      }
    }
  }

 private:
  /// Products first to behind - 1, which have the same number of columns.
  struct Run {
    std::int64_t first, behind;
    std::unique_ptr<CublasLtPlan> plan;
  };

  /// Bytes before a product's A, B and D.
  std::size_t at_a(std::int64_t i) const { return static_cast<std::size_t>(problem_.first_of_a(i)) * size_of(problem_.type); }
  std::size_t at_b(std::int64_t i) const { return static_cast<std::size_t>(problem_.first_of_b(i)) * size_of(problem_.type); }
  std::size_t at_d(std::int64_t i) const { return static_cast<std::size_t>(problem_.first_of_d(i)) * size_of(problem_.output); }

  GemmProblem problem_;
  std::vector<Run> runs_;
  std::vector<std::string> algorithms_;
};

std::string version() { return "cuBLASLt " + cublaslt::version_text(cublasLtGetVersion()); }

std::unique_ptr<GemmPlan> plan(const GemmProblem& problem, int most, const GemmOperands& operands) {
  constexpr std::size_t kFirstWithFp32Scales = 120900;
  if (problem.has_fp32_scales() && cublasLtGetVersion() < kFirstWithFp32Scales) {
    throw Unsupported(version() + " has no scales of 128 elements of fp8: take 12.9 or newer");
  }
  if (problem.imbalance > 1) return std::make_unique<UnevenPlan>(problem, operands);
  return std::make_unique<CublasLtPlan>(problem, most, operands);
}

}  // namespace

const GemmKernels gemm = {"cublaslt", kWorkspaceBytes, version, plan};

}  // namespace roofmark::cuda
