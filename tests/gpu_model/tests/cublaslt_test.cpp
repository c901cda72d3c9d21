// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one short test per type, layout and error of cuBLASLt.
#include "kernels/cuda/cublaslt.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/block_scaled.hpp"
#include "tests/gpu_model/tests/new_process.hpp"

namespace gpu_model {
namespace {

using roofmark::DataType;
using roofmark::load_as_double;
using roofmark::store;
namespace library = roofmark::cuda::cublaslt;

/// How the elements of A and B, and of C and D, are stored, and how they are multiplied.
struct Types {
  DataType ab, cd;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  bool tn_only = false;
};
constexpr Types fp32 = {DataType::fp32, DataType::fp32, CUBLAS_COMPUTE_32F, CUDA_R_32F};
constexpr Types fp8 = {DataType::fp8, DataType::bf16, CUBLAS_COMPUTE_32F, CUDA_R_32F, true};
constexpr Types int8 = {DataType::int8, DataType::int32, CUBLAS_COMPUTE_32I, CUDA_R_32I, true};
constexpr Types all_types[] = {
    fp32,
    fp8,
    int8,
    {DataType::fp64, DataType::fp64, CUBLAS_COMPUTE_64F, CUDA_R_64F},
    {DataType::tf32, DataType::fp32, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F},
    {DataType::fp16, DataType::fp16, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    {DataType::fp16, DataType::fp32, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    {DataType::fp16, DataType::fp16, CUBLAS_COMPUTE_16F, CUDA_R_16F},
    {DataType::bf16, DataType::bf16, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F},
    {DataType::bf16, DataType::fp32, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    {DataType::int8, DataType::int8, CUBLAS_COMPUTE_32I, CUDA_R_32F, true},
    {DataType::int8, DataType::fp32, CUBLAS_COMPUTE_32F, CUDA_R_32F},
};

/// Stored matrices of one batch: `rows` x `columns` with `padding` elements behind each column and `gap` behind each matrix.
struct Stored {
  DataType type;
  std::int64_t rows, columns, padding = 0, gap = 0;
  int batches = 1;
  std::int64_t pitch() const { return rows + padding; }
  std::int64_t stride() const { return pitch() * columns + gap; }
  std::size_t count() const { return static_cast<std::size_t>(stride() * batches); }
  std::size_t index(int batch, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(batch * stride() + column * pitch() + row);
  }
};

/// Elements on the device.
class Array {
 public:
  explicit Array(const Stored& stored) : stored_(stored), bytes_(stored.count() * size_of(stored.type)) {
    EXPECT_EQ(cudaMalloc(&memory_, bytes_), cudaSuccess);
  }
  ~Array() { cudaFree(memory_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void* data() const { return memory_; }
  /// Small multiples of 1/4 (of 1 for integers), different everywhere.
  void fill(std::uint32_t seed) {
    const double unit = stored_.type == DataType::int8 || stored_.type == DataType::int32 ? 1 : 0.25;
    std::vector<char> host(bytes_);
    for (std::size_t i = 0; i < stored_.count(); ++i) {
      seed = seed * 1664525 + 1013904223;
      store(stored_.type, host.data(), i, unit * (static_cast<int>(seed >> 24) % 9 - 4));
    }
    EXPECT_EQ(cudaMemcpy(memory_, host.data(), bytes_, cudaMemcpyHostToDevice), cudaSuccess);
  }
  std::vector<double> values() const {
    std::vector<char> host(bytes_);
    EXPECT_EQ(cudaMemcpy(host.data(), memory_, bytes_, cudaMemcpyDeviceToHost), cudaSuccess);
    std::vector<double> values(stored_.count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_as_double(stored_.type, host.data(), i);
    return values;
  }

 private:
  Stored stored_;
  std::size_t bytes_;
  void* memory_ = nullptr;
};

/// One problem: D = alpha op(A) op(B) + beta C.
struct Product {
  Types types = fp32;
  bool transpose_a = true, transpose_b = false;
  std::int64_t m = 48, n = 32, k = 64, padding = 0, gap = 0;
  int batches = 1;

  Stored a() const { return {types.ab, transpose_a ? k : m, transpose_a ? m : k, padding, gap, batches}; }
  Stored b() const { return {types.ab, transpose_b ? n : k, transpose_b ? k : n, padding, gap, batches}; }
  Stored d() const { return {types.cd, m, n, padding, gap, batches}; }
};

library::Matrix layout(const Stored& stored) {
  return library::make_matrix(stored.type, stored.rows, stored.columns, stored.pitch(), stored.batches, stored.stride());
}

class CublasLt : public testing::Test {
 protected:
  CublasLt() : handle_(library::make_handle()) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&workspace_, workspace_bytes), cudaSuccess);
  }
  ~CublasLt() override {
    cudaStreamDestroy(stream_);
    cudaFree(workspace_);
  }

  /// What the heuristic says; its first algorithm is in algorithm_.
  cublasStatus_t propose(const library::Operation& operation, const library::Matrix& a, const library::Matrix& b,
                         const library::Matrix& c, const library::Matrix& d, std::size_t workspace = workspace_bytes,
                         std::uint32_t alignment = 256) {
    cublasLtMatmulPreference_t preference = nullptr;
    EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace});
    for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      prefer(attribute, alignment);
    }
    cublasLtMatmulHeuristicResult_t results[8];
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_.get(), operation.get(), a.get(), b.get(), c.get(),
                                                                 d.get(), preference, 8, results, &found_);
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < found_; ++i) {
      EXPECT_EQ(results[i].state, CUBLAS_STATUS_SUCCESS);
      EXPECT_LE(results[i].workspaceSize, workspace);
    }
    algorithm_ = results[0].algo;
    used_workspace_bytes_ = results[0].workspaceSize;
    EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
    return status;
  }
  cublasStatus_t propose(const Product& p, std::size_t workspace = workspace_bytes, std::uint32_t alignment = 256) {
    const auto operation = library::make_operation(p.types.compute, p.types.scale, p.transpose_a, p.transpose_b);
    const auto d = layout(p.d());
    return propose(operation, layout(p.a()), layout(p.b()), d, d, workspace, alignment);
  }

  /// Enqueues the product by the algorithm proposed last.
  cublasStatus_t multiply(const Product& p, const void* a, const void* b, const void* c, void* d, double alpha = 1,
                          double beta = 0, std::optional<std::size_t> workspace = {}) {
    const auto operation = library::make_operation(p.types.compute, p.types.scale, p.transpose_a, p.transpose_b);
    const DataType scale = p.types.scale == CUDA_R_64F   ? DataType::fp64
                           : p.types.scale == CUDA_R_32I ? DataType::int32
                           : p.types.scale == CUDA_R_16F ? DataType::fp16
                                                         : DataType::fp32;
    double scalars[2] = {};
    store(scale, &scalars[0], 0, alpha);
    store(scale, &scalars[1], 0, beta);
    const auto layout_d = layout(p.d());
    return cublasLtMatmul(handle_.get(), operation.get(), &scalars[0], a, layout(p.a()).get(), b, layout(p.b()).get(),
                          &scalars[1], c, layout_d.get(), d, layout_d.get(), &algorithm_, workspace_,
                          workspace.value_or(workspace_bytes), stream_);
  }

  /// Every element of D is the exact sum, rounded once, and what lies between columns and matrices is untouched.
  void expect_right(const Product& p, double alpha = 1, double beta = 0) {
    SCOPED_TRACE(testing::Message() << name(p.types.ab) << " -> " << name(p.types.cd) << (p.transpose_a ? " t" : " n")
                                    << (p.transpose_b ? 't' : 'n'));
    Array a(p.a()), b(p.b()), c(p.d()), d(p.d());
    a.fill(1);
    b.fill(2);
    c.fill(3);
    d.fill(4);
    const std::vector<double> of_a = a.values(), of_b = b.values(), of_c = c.values(), before = d.values();
    ASSERT_EQ(propose(p), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(multiply(p, a.data(), b.data(), c.data(), d.data(), alpha, beta), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    std::vector<double> expected = before;
    for (int batch = 0; batch < p.batches; ++batch) {
      for (std::int64_t row = 0; row < p.m; ++row) {
        for (std::int64_t column = 0; column < p.n; ++column) {
          double sum = 0;
          for (std::int64_t i = 0; i < p.k; ++i) {
            sum += of_a[p.transpose_a ? p.a().index(batch, i, row) : p.a().index(batch, row, i)] *
                   of_b[p.transpose_b ? p.b().index(batch, column, i) : p.b().index(batch, i, column)];
          }
          const std::size_t at = p.d().index(batch, row, column);
          double stored = 0;
          store(p.types.cd, &stored, 0, alpha * sum + beta * of_c[at]);
          expected[at] = load_as_double(p.types.cd, &stored, 0);
        }
      }
    }
    EXPECT_EQ(d.values(), expected);
  }

  static constexpr std::size_t workspace_bytes = 1 << 20;
  library::Handle handle_;
  cudaStream_t stream_ = nullptr;
  void* workspace_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t used_workspace_bytes_ = 0;
  int found_ = 0;
};

TEST_F(CublasLt, MultipliesEveryTypeInEveryLayout) {
  for (const Types& types : all_types) {
    for (const bool transpose_a : {true, false}) {
      for (const bool transpose_b : {false, true}) {
        const Product product{.types = types, .transpose_a = transpose_a, .transpose_b = transpose_b};
        if (types.tn_only && !(transpose_a && !transpose_b)) {
          EXPECT_EQ(propose(product), CUBLAS_STATUS_NOT_SUPPORTED);
        } else {
          expect_right(product);
        }
      }
    }
  }
}

TEST_F(CublasLt, LeavesPaddingAndGapsAlone) {
  for (const Types& types : {fp32, fp8, int8}) {
    expect_right({.types = types, .m = 32, .n = 16, .k = 48, .padding = 16, .gap = 64, .batches = 3});
  }
}

TEST_F(CublasLt, OddSizesOfTypesWithoutNeeds) {
  expect_right({.m = 7, .n = 5, .k = 3});
  expect_right({.types = {DataType::bf16, DataType::bf16, CUBLAS_COMPUTE_32F, CUDA_R_32F}, .m = 1, .n = 9, .k = 1});
}

TEST_F(CublasLt, AppliesAlphaAndBetaOfTheScaleType) {
  for (const Types& types : all_types) {
    const bool integers = types.scale == CUDA_R_32I;
    expect_right({.types = types, .m = 16, .n = 16, .k = 16}, integers ? -3 : 0.5, integers ? 2 : -0.25);
  }
}

TEST_F(CublasLt, Tf32RoundsItsOperandsAndFp32DoesNot) {
  for (const bool rounds : {false, true}) {
    const Types types{DataType::fp32, DataType::fp32, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F};
    const Product one{.types = types, .m = 1, .n = 1, .k = 1};
    Array a(one.a()), b(one.b()), d(one.d());
    const float operands[] = {1 + 0x1p-11f, 1};
    EXPECT_EQ(cudaMemcpy(a.data(), &operands[0], 4, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(b.data(), &operands[1], 4, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(propose(one), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(multiply(one, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(d.values()[0], rounds ? 1 : 1 + 0x1p-11) << "ties go to even";
  }
}

TEST_F(CublasLt, RefusesTypesOutsideOfItsTable) {
  const Types outside[] = {
      {DataType::fp16, DataType::bf16, CUBLAS_COMPUTE_32F, CUDA_R_32F},
      {DataType::fp32, DataType::fp16, CUBLAS_COMPUTE_32F, CUDA_R_32F},
      {DataType::fp32, DataType::fp32, CUBLAS_COMPUTE_32F, CUDA_R_64F},
      {DataType::fp32, DataType::fp32, CUBLAS_COMPUTE_64F, CUDA_R_64F},
      {DataType::fp16, DataType::fp32, CUBLAS_COMPUTE_16F, CUDA_R_16F},
      {DataType::bf16, DataType::bf16, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F},
      {DataType::int8, DataType::int32, CUBLAS_COMPUTE_32F, CUDA_R_32F},
      {DataType::int8, DataType::int32, CUBLAS_COMPUTE_32I, CUDA_R_32F},
      {DataType::fp8, DataType::fp8, CUBLAS_COMPUTE_32F, CUDA_R_32F},
      {DataType::fp8, DataType::bf16, CUBLAS_COMPUTE_16F, CUDA_R_16F},
  };
  for (const Types& types : outside) {
    EXPECT_EQ(propose({.types = types}), CUBLAS_STATUS_NOT_SUPPORTED) << name(types.ab) << " -> " << name(types.cd);
  }
}

TEST_F(CublasLt, EightBitTypesNeedTheirMultiplesAndAlignments) {
  EXPECT_EQ(propose({.types = fp8, .m = 40}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(propose({.types = fp8, .n = 1}), CUBLAS_STATUS_SUCCESS) << "one token";
  EXPECT_EQ(propose({.types = fp8, .k = 72, .padding = 8}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(propose({.types = fp8, .padding = 4}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(propose({.types = fp8}, workspace_bytes, 8), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(propose({.types = fp8}, workspace_bytes, 16), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(propose({.types = int8, .m = 46}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(propose({.types = int8, .k = 66}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(propose({.types = int8, .padding = 2}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(propose({.types = int8}, workspace_bytes, 2), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(propose({.types = int8, .n = 31}, workspace_bytes, 4), CUBLAS_STATUS_SUCCESS);
}

/// A product whose epilogue has a bias of this type, 2 elements behind each one of a batch; of fp8 with its C in bf16.
class WithEpilogue {
 public:
  WithEpilogue(const Product& p, std::uint32_t epilogue, DataType bias_type)
      : operation(library::make_operation(p.types.compute, p.types.scale, p.transpose_a, p.transpose_b)),
        a(layout(p.a())),
        b(layout(p.b())),
        c(layout({p.types.cd == DataType::fp8 ? DataType::bf16 : p.types.cd, p.m, p.n, 0, 0, p.batches})),
        d(layout(p.d())),
        stored_bias({bias_type, p.m, 1, 0, 2, p.batches}),
        bias(stored_bias) {
    bias.fill(7);
    library::set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    library::set<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, library::storage(bias_type));
    library::set<const void*>(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
    library::set(operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, stored_bias.stride());
  }
  library::Operation operation;
  library::Matrix a, b, c, d;
  Stored stored_bias;
  Array bias;
};

constexpr std::uint32_t epilogues[] = {CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU,
                                       CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS};

TEST_F(CublasLt, AppliesEveryEpilogueBeforeItRounds) {
  struct WithBias {
    DataType ab, cd, bias;
  };
  for (const WithBias& types : {WithBias{DataType::fp32, DataType::fp32, DataType::fp32},
                                {DataType::bf16, DataType::bf16, DataType::bf16},
                                {DataType::bf16, DataType::fp32, DataType::fp32},
                                {DataType::fp8, DataType::bf16, DataType::bf16},
                                {DataType::fp8, DataType::fp16, DataType::fp16},
                                {DataType::fp8, DataType::fp32, DataType::bf16},
                                {DataType::fp8, DataType::fp8, DataType::bf16}}) {
    for (const std::uint32_t epilogue : epilogues) {
      SCOPED_TRACE(testing::Message() << name(types.ab) << " -> " << name(types.cd) << ", epilogue " << epilogue);
      const Product p{.types = {types.ab, types.cd, CUBLAS_COMPUTE_32F, CUDA_R_32F}, .m = 32, .n = 16, .k = 16, .batches = 2};
      WithEpilogue with(p, epilogue, types.bias);
      Array a(p.a()), b(p.b()), d(p.d());
      a.fill(1);
      b.fill(2);
      ASSERT_EQ(propose(with.operation, with.a, with.b, with.c, with.d), CUBLAS_STATUS_SUCCESS);
      const float alpha = 0.5, zero = 0;
      ASSERT_EQ(
          cublasLtMatmul(handle_.get(), with.operation.get(), &alpha, a.data(), with.a.get(), b.data(), with.b.get(), &zero,
                         nullptr, with.c.get(), d.data(), with.d.get(), &algorithm_, workspace_, workspace_bytes, stream_),
          CUBLAS_STATUS_SUCCESS);
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      const std::vector<double> of_a = a.values(), of_b = b.values(), of_bias = with.bias.values(), got = d.values();
      for (int batch = 0; batch < p.batches; ++batch) {
        for (std::int64_t row = 0; row < p.m; ++row) {
          for (std::int64_t column = 0; column < p.n; ++column) {
            double x = 0;
            for (std::int64_t i = 0; i < p.k; ++i) {
              x += alpha * of_a[p.a().index(batch, i, row)] * of_b[p.b().index(batch, i, column)];
            }
            if (epilogue & CUBLASLT_EPILOGUE_BIAS) x += of_bias[with.stored_bias.index(batch, row, 0)];
            if (epilogue & CUBLASLT_EPILOGUE_RELU) x = std::max(x, 0.0);
            if (epilogue & CUBLASLT_EPILOGUE_GELU) x *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
            ASSERT_NEAR(got[p.d().index(batch, row, column)], x,
                        std::max(std::fabs(x), 0x1p-6) * unit_roundoff(types.cd) + 1e-6)
                << batch << ": " << row << ", " << column;
          }
        }
      }
    }
  }
}

TEST_F(CublasLt, RefusesEpiloguesThatItsTablesLack) {
  const auto proposed = [&](const Types& types, std::uint32_t epilogue, DataType bias_type) {
    const Product p{.types = types};
    WithEpilogue with(p, epilogue, bias_type);
    return propose(with.operation, with.a, with.b, with.c, with.d);
  };
  const Types wide{DataType::bf16, DataType::fp32, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  const Types fp8_to_fp32{DataType::fp8, DataType::fp32, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  EXPECT_EQ(proposed(int8, CUBLASLT_EPILOGUE_RELU, DataType::int32), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(proposed(fp32, CUBLASLT_EPILOGUE_RELU_AUX, DataType::fp32), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(proposed(fp32, CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_GELU, DataType::fp32), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(proposed(wide, CUBLASLT_EPILOGUE_BIAS, DataType::bf16), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(proposed(fp8, CUBLASLT_EPILOGUE_BIAS, DataType::fp32), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(proposed(fp8_to_fp32, CUBLASLT_EPILOGUE_BIAS, DataType::fp32), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(proposed(fp8_to_fp32, CUBLASLT_EPILOGUE_BIAS, DataType::bf16), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLt, AnEpilogueWithABiasNeedsIt) {
  const Product p;
  WithEpilogue with(p, CUBLASLT_EPILOGUE_BIAS, DataType::fp32);
  Array a(p.a()), b(p.b()), d(p.d());
  ASSERT_EQ(propose(with.operation, with.a, with.b, with.c, with.d), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(p, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_INVALID_VALUE) << "another epilogue";
  library::set<const void*>(with.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  const float one = 1, zero = 0;
  EXPECT_EQ(cublasLtMatmul(handle_.get(), with.operation.get(), &one, a.data(), with.a.get(), b.data(), with.b.get(), &zero,
                           d.data(), with.c.get(), d.data(), with.d.get(), &algorithm_, workspace_, workspace_bytes, stream_),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, RefusesShapesThatDoNotFit) {
  const auto operation = library::make_operation(CUBLAS_COMPUTE_32F, CUDA_R_32F, false, false);
  const auto of = [](std::int64_t rows, std::int64_t columns, std::int64_t pitch, int batches = 1) {
    return library::make_matrix(DataType::fp32, rows, columns, pitch, batches, rows * columns);
  };
  const auto proposed = [&](const library::Matrix& a, const library::Matrix& b, const library::Matrix& d) {
    return propose(operation, a, b, d, d);
  };
  EXPECT_EQ(proposed(of(4, 6, 4), of(6, 5, 6), of(4, 5, 4)), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(proposed(of(4, 6, 4), of(7, 5, 7), of(4, 5, 4)), CUBLAS_STATUS_INVALID_VALUE) << "k";
  EXPECT_EQ(proposed(of(4, 6, 4), of(6, 5, 6), of(5, 5, 5)), CUBLAS_STATUS_INVALID_VALUE) << "m";
  EXPECT_EQ(proposed(of(4, 6, 4), of(6, 5, 6), of(4, 6, 4)), CUBLAS_STATUS_INVALID_VALUE) << "n";
  EXPECT_EQ(proposed(of(4, 6, 3), of(6, 5, 6), of(4, 5, 4)), CUBLAS_STATUS_INVALID_VALUE) << "leading dimension";
  EXPECT_EQ(proposed(of(4, 0, 4), of(0, 5, 6), of(4, 5, 4)), CUBLAS_STATUS_INVALID_VALUE) << "empty";
  EXPECT_EQ(proposed(of(4, 6, 4, 2), of(6, 5, 6, 2), of(4, 5, 4, 3)), CUBLAS_STATUS_INVALID_VALUE) << "batches";
}

TEST_F(CublasLt, KeepsToTheWorkspaceOfThePreference) {
  ASSERT_EQ(propose(Product{}), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found_, 3);
  ASSERT_EQ(propose(Product{}, 1024), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found_, 2);
  ASSERT_EQ(propose(Product{}, 0), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found_, 1);
}

TEST_F(CublasLt, UsesItsWorkspace) {
  const Product product;
  Array a(product.a()), b(product.b()), d(product.d());
  ASSERT_EQ(propose(product), CUBLAS_STATUS_SUCCESS);
  ASSERT_GT(used_workspace_bytes_, 0u);
  EXPECT_EQ(multiply(product, a.data(), b.data(), d.data(), d.data(), 1, 0, used_workspace_bytes_ - 1),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cudaMemsetAsync(workspace_, 1, used_workspace_bytes_, stream_), cudaSuccess);
  EXPECT_EQ(multiply(product, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  std::vector<char> after(used_workspace_bytes_);
  EXPECT_EQ(cudaMemcpy(after.data(), workspace_, after.size(), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_NE(after, std::vector<char>(used_workspace_bytes_, 1));
  void* const aligned = std::exchange(workspace_, static_cast<char*>(workspace_) + 128);
  EXPECT_EQ(multiply(product, a.data(), b.data(), d.data(), d.data(), 1, 0, workspace_bytes - 128), CUBLAS_STATUS_INVALID_VALUE)
      << "whole 256 bytes";
  workspace_ = aligned;
}

TEST_F(CublasLt, AProductInPlaceHasOneLayout) {
  const Product product;
  Array a(product.a()), b(product.b()), d({product.types.cd, product.m + 16, product.n});
  const auto operation = library::make_operation(product.types.compute, product.types.scale, true, false);
  const auto of_a = layout(product.a()), of_b = layout(product.b());
  const auto of_d = layout(product.d()), same = layout(product.d()),
             wider = layout({product.types.cd, product.m, product.n, 16});
  ASSERT_EQ(propose(product), CUBLAS_STATUS_SUCCESS);
  const float one = 1;
  const auto multiply_into = [&](const library::Matrix& of_c) {
    return cublasLtMatmul(handle_.get(), operation.get(), &one, a.data(), of_a.get(), b.data(), of_b.get(), &one, d.data(),
                          of_c.get(), d.data(), of_d.get(), &algorithm_, workspace_, workspace_bytes, stream_);
  };
  EXPECT_EQ(multiply_into(same), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply_into(wider), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, RefusesWhatTheAlgorithmWasNotProposedFor) {
  const Product product, other{.types = all_types[3]};
  Array a(other.a()), b(other.b()), d(other.d());
  ASSERT_EQ(propose(product), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(other, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_INVALID_VALUE) << "types";
  auto* const shifted = static_cast<char*>(a.data()) + 16;
  EXPECT_EQ(multiply(product, shifted, b.data(), d.data(), d.data()), CUBLAS_STATUS_INVALID_VALUE) << "alignment";
  ASSERT_EQ(propose(product, workspace_bytes, 16), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(product, shifted, b.data(), d.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(product, a.data(), b.data(), nullptr, d.data()), CUBLAS_STATUS_SUCCESS) << "beta is 0";
  EXPECT_EQ(multiply(product, a.data(), b.data(), nullptr, d.data(), 1, 1), CUBLAS_STATUS_INVALID_VALUE) << "no C";
  algorithm_ = {};
  EXPECT_EQ(multiply(product, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_INVALID_VALUE) << "no algorithm";
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
}

TEST_F(CublasLt, RefusesAttributesOfAnotherSizeAndObjectsOfAnotherKind) {
  const auto operation = library::make_operation(CUBLAS_COMPUTE_32F, CUDA_R_32F, false, false);
  const std::int64_t wide = CUBLAS_OP_T;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(operation.get(), CUBLASLT_MATMUL_DESC_TRANSA, &wide, sizeof wide),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(reinterpret_cast<cublasLtMatrixLayout_t>(operation.get()),
                                             CUBLASLT_MATRIX_LAYOUT_LD, &wide, sizeof wide),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, IsCapturedAndRunsWithTheGraph) {
  const Product product{.m = 1, .n = 1, .k = 1};
  Array a(product.a()), b(product.b()), d(product.d());
  const float three = 3, zero = 0;
  for (const Array* operand : {&a, &b}) EXPECT_EQ(cudaMemcpy(operand->data(), &three, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(d.data(), &zero, 4, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(propose(product), CUBLAS_STATUS_SUCCESS);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(multiply(product, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(d.values()[0], 0);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(d.values()[0], 9);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

using CublasLtProcess = CublasLt;

TEST_F(CublasLtProcess, AMatrixThatLeavesItsMemoryIsAnIllegalAddress) {
  for (const std::size_t operand : {0, 1, 2, 3}) {
    in_new_process(
        {},
        [&] {
          const Product product;
          Array a(product.a()), b(product.b()), c(product.d()), d(product.d());
          void* pointers[] = {a.data(), b.data(), c.data(), d.data()};
          pointers[operand] = static_cast<char*>(pointers[operand]) + 256;
          ASSERT_EQ(propose(product), CUBLAS_STATUS_SUCCESS);
          EXPECT_EQ(multiply(product, pointers[0], pointers[1], pointers[2], pointers[3], 1, 1), CUBLAS_STATUS_SUCCESS);
          EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
          EXPECT_EQ(multiply(product, a.data(), b.data(), c.data(), d.data()), CUBLAS_STATUS_EXECUTION_FAILED);
        },
        "not within one allocation");
  }
}

TEST_F(CublasLtProcess, ProductsBeyondTheLimitAreNotComputed) {
  in_new_process({{"GPUMODEL_BLAS_LIMIT", "1000"}}, [&] {
    const Product large;
    Array a(large.a()), b(large.b()), d(large.d());
    for (Array* array : {&a, &b, &d}) array->fill(5);
    const std::vector<double> before = d.values();
    ASSERT_EQ(propose(large), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(multiply(large, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(d.values(), before);
    expect_right({.m = 8, .n = 8, .k = 7});
  });
}

TEST_F(CublasLtProcess, ProductsCanBeMadeSlow) {
  in_new_process({{"GPUMODEL_SLOW", "cublaslt_matmul:1e8"}}, [&] {
    const Product product;
    Array a(product.a()), b(product.b()), d(product.d());
    cudaEvent_t begin, end;
    EXPECT_EQ(cudaEventCreate(&begin), cudaSuccess);
    EXPECT_EQ(cudaEventCreate(&end), cudaSuccess);
    ASSERT_EQ(propose(product), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cudaEventRecord(begin, stream_), cudaSuccess);
    EXPECT_EQ(multiply(product, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cudaEventRecord(end, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    float milliseconds = 0;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
    EXPECT_GT(milliseconds, 60'000.0f);
  });
}

TEST_F(CublasLtProcess, AHandleIsOfOneDevice) {
  in_new_process({{"GPUMODEL_DEVICES", "2"}}, [&] {
    const Product product;
    Array a(product.a()), b(product.b()), d(product.d());
    ASSERT_EQ(propose(product), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    EXPECT_EQ(multiply(product, a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_EXECUTION_FAILED);
  });
}

TEST_F(CublasLtProcess, ComputeCapability80HasNoFp8) {
  in_new_process({{"GPUMODEL_ARCH", "80"}}, [&] {
    EXPECT_EQ(propose({.types = fp8}), CUBLAS_STATUS_NOT_SUPPORTED);
    expect_right({.types = int8});
  });
}

/// A matrix on the device whose elements are 1 and whose scales are 2^((l + 2 block) % 3), l the line or square.
class ScaledOnes {
 public:
  explicit ScaledOnes(const roofmark::BlockScaledLayout& layout) : layout_(layout) {
    std::vector<unsigned char> host(layout.bytes(), layout.type == DataType::nvfp4 ? 0x22 : 0x38);
    roofmark::with_block_scaled_type(layout.type, [&]<DataType type>() {
      auto* const scales = reinterpret_cast<roofmark::BlockScale<type>*>(host.data() + layout.scales_offset());
      for (std::int64_t line = 0; line < layout.lines; ++line) {
        for (std::int64_t block = 0; block < layout.blocks_per_line(); ++block) {
          scales[layout.scale_index(line, block)] = roofmark::stored_scale<type>(static_cast<float>(scale(line, block)));
        }
      }
    });
    EXPECT_EQ(cudaMalloc(&memory_, host.size()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(memory_, host.data(), host.size(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~ScaledOnes() { cudaFree(memory_); }
  ScaledOnes(const ScaledOnes&) = delete;
  ScaledOnes& operator=(const ScaledOnes&) = delete;

  double scale(std::int64_t line, std::int64_t block) const {
    return std::exp2((line / layout_.block_lines() + 2 * block) % 3);
  }
  /// The sum of block `block` of a line.
  double terms(std::int64_t block) const {
    return static_cast<double>(std::min<std::int64_t>(layout_.block(), layout_.terms - block * layout_.block()));
  }
  const roofmark::BlockScaledLayout& layout() const { return layout_; }
  void* data() const { return memory_; }

 private:
  roofmark::BlockScaledLayout layout_;
  void* memory_ = nullptr;
};

class CublasLtScales : public CublasLtProcess {
 protected:
  struct Scaled {
    DataType a, b, d = DataType::bf16;
    std::int64_t m = 272, n = 48, k = 160;
    bool transpose_a = true, transpose_b = false;
    int batches = 1;
    std::int8_t fast_accumulation = 0;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    std::size_t shift = 0;  ///< of the scales of B, in bytes
  };

  /// The operation of a product whose matrices are at `a` and `b`.
  library::Operation operation_of(const Scaled& p, const ScaledOnes& a, const ScaledOnes& b) {
    auto made = library::make_operation(CUBLAS_COMPUTE_32F, CUDA_R_32F, p.transpose_a, p.transpose_b);
    library::set_scales(made, a.layout(), a.data(), b.layout(), static_cast<std::byte*>(b.data()) + p.shift);
    library::set(made, CUBLASLT_MATMUL_DESC_FAST_ACCUM, p.fast_accumulation);
    library::set(made, CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
    return made;
  }
  cublasStatus_t propose_scaled(const Scaled& p) {
    const ScaledOnes a({p.a, p.m, p.k}), b({p.b, p.n, p.k});
    const auto stored = [&](DataType type, bool transposed, std::int64_t rows, std::int64_t columns) {
      return layout({type, transposed ? columns : rows, transposed ? rows : columns, 0, 0, p.batches});
    };
    const auto d = stored(p.d, false, p.m, p.n), c = stored(p.d == DataType::fp8 ? DataType::bf16 : p.d, false, p.m, p.n);
    return propose(operation_of(p, a, b), stored(p.a, p.transpose_a, p.m, p.k), stored(p.b, p.transpose_b, p.k, p.n), c, d);
  }

  void expect_right_scales(const Scaled& p) {
    SCOPED_TRACE(testing::Message() << name(p.a) << " x " << name(p.b) << " -> " << name(p.d));
    const ScaledOnes a({p.a, p.m, p.k}), b({p.b, p.n, p.k});
    const Stored stored_d{p.d, p.m, p.n};
    const auto layout_a = layout({p.a, p.k, p.m}), layout_b = layout({p.b, p.k, p.n}), layout_d = layout(stored_d);
    const auto operation = operation_of(p, a, b);
    ASSERT_EQ(propose(operation, layout_a, layout_b, layout_d, layout_d), CUBLAS_STATUS_SUCCESS);
    Array d(stored_d);
    const float one = 1, zero = 0;
    ASSERT_EQ(
        cublasLtMatmul(handle_.get(), operation.get(), &one, a.data(), layout_a.get(), b.data(), layout_b.get(), &zero,
                       d.data(), layout_d.get(), d.data(), layout_d.get(), &algorithm_, workspace_, workspace_bytes, stream_),
        CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    const std::vector<double> got = d.values();
    for (std::int64_t row = 0; row < p.m; ++row) {
      for (std::int64_t column = 0; column < p.n; ++column) {
        double sum = 0, rounded = 0;
        for (std::int64_t block = 0; block < a.layout().blocks_per_line(); ++block) {
          sum += a.terms(block) * a.scale(row, block) * b.scale(column, block);
        }
        store(p.d, &rounded, 0, sum);
        ASSERT_EQ(got[stored_d.index(0, row, column)], load_as_double(p.d, &rounded, 0)) << row << ", " << column;
      }
    }
  }
};

TEST_F(CublasLtScales, ComputeCapability100MultipliesBlocksOf16And32) {
  in_new_process({{"GPUMODEL_ARCH", "100"}}, [&] {
    for (const DataType type : {DataType::mxfp8, DataType::nvfp4}) {
      expect_right_scales({.a = type, .b = type, .m = 136});
      const ScaledOnes a({type, 136, 160}), b({type, 48, 160});
      const auto gap = layout({type, 160, 136, 32}), layout_b = layout({type, 160, 48}), d = layout({DataType::bf16, 136, 48});
      EXPECT_EQ(propose(operation_of({.a = type, .b = type}, a, b), gap, layout_b, d, d), CUBLAS_STATUS_NOT_SUPPORTED);
    }
    EXPECT_EQ(propose_scaled({.a = DataType::mxfp8, .b = DataType::mxfp8, .m = 132}), CUBLAS_STATUS_NOT_SUPPORTED)
        << "columns of C of 264 bytes";
    EXPECT_EQ(propose_scaled({.a = DataType::mxfp8, .b = DataType::mxfp8, .d = DataType::fp32, .m = 132}),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(propose_scaled({.a = DataType::fp8_vec128, .b = DataType::fp8_vec128}), CUBLAS_STATUS_NOT_SUPPORTED)
        << "the table of scaling modes has 9.0 alone";
  });
}

TEST_F(CublasLtScales, ComputeCapability90MultipliesBlocksOf128) {
  using enum DataType;
  in_new_process({{"GPUMODEL_ARCH", "90"}}, [&] {
    for (const DataType d : {bf16, fp16, fp32}) {
      expect_right_scales({.a = fp8_vec128, .b = fp8_vec128, .d = d});
      expect_right_scales({.a = fp8_blk128, .b = fp8_vec128, .d = d, .n = 40, .k = 656});
      expect_right_scales({.a = fp8_vec128, .b = fp8_blk128, .d = d, .n = 260, .k = 128});
    }
    EXPECT_EQ(propose_scaled({.a = mxfp8, .b = mxfp8}), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(propose_scaled({.a = nvfp4, .b = nvfp4}), CUBLAS_STATUS_NOT_SUPPORTED);
  });
}

TEST_F(CublasLtScales, RefusesWhatBlocksOf128Lack) {
  using enum DataType;
  in_new_process({{"GPUMODEL_ARCH", "90"}}, [&] {
    const Scaled right{.a = fp8_blk128, .b = fp8_vec128};
    ASSERT_EQ(propose_scaled(right), CUBLAS_STATUS_SUCCESS);
    const auto changed = [&](auto change) {
      Scaled other = right;
      change(other);
      return propose_scaled(other);
    };
    EXPECT_EQ(changed([](Scaled& p) { p.b = fp8_blk128; }), CUBLAS_STATUS_NOT_SUPPORTED) << "squares by squares";
    EXPECT_EQ(changed([](Scaled& p) { p.d = fp8; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(changed([](Scaled& p) { p.fast_accumulation = 1; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(changed([](Scaled& p) { p.epilogue = CUBLASLT_EPILOGUE_GELU; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(changed([](Scaled& p) { p.batches = 2; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(changed([](Scaled& p) { p.shift = 8; }), CUBLAS_STATUS_NOT_SUPPORTED) << "scales off 16 bytes";
    EXPECT_EQ(changed([](Scaled& p) { p.n = 44; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(changed([](Scaled& p) { p.m = 264; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(changed([](Scaled& p) { p.k = 168; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(changed([](Scaled& p) { p.transpose_a = false; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(changed([](Scaled& p) { p.transpose_b = true; }), CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(propose_scaled({.a = fp8_vec128, .b = fp8_blk128, .n = 44}), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(propose_scaled({.a = fp8_vec128, .b = fp8_blk128, .n = 42}), CUBLAS_STATUS_NOT_SUPPORTED);
  });
}

}  // namespace
}  // namespace gpu_model
