// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <gmock/gmock.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <limits>

#include "harness/device/random.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Column-major storage of an operand, and its element (row, column) as the product takes it.
struct Operand {
  std::int64_t rows, columns;
  bool transposed;
  std::vector<double> values;

  Operand(std::int64_t rows, std::int64_t columns, bool transposed, std::uint64_t array)
      : rows(rows), columns(columns), transposed(transposed), values(static_cast<std::size_t>(rows * columns)) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = generate(Distribution::normal, DataType::fp32, 7, array, i);
  }
  double operator()(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(transposed ? row * columns + column : column * rows + row)];
  }
};

template <class Real>
void expect_product(const GemmProblem& problem) {
  const Operand a(problem.m, problem.k, transposes_a(problem.layout), 0),
      b(problem.k, problem.n, transposes_b(problem.layout), 1);
  const std::vector<Real> stored_a(a.values.begin(), a.values.end()), stored_b(b.values.begin(), b.values.end());
  std::vector<Real> d(static_cast<std::size_t>(problem.m * problem.n), std::numeric_limits<Real>::quiet_NaN());
  cpu::gemm.plan(problem, 1, {})->launch(0, {stored_a.data(), stored_b.data()}, d.data(), nullptr, nullptr);

  for (std::int64_t column = 0; column < problem.n; ++column) {
    for (std::int64_t row = 0; row < problem.m; ++row) {
      double sum = 0, scale = 0;
      for (std::int64_t l = 0; l < problem.k; ++l) {
        sum += a(row, l) * b(l, column);
        scale += std::fabs(a(row, l) * b(l, column));
      }
      const double bound = 2 * static_cast<double>(problem.k + 1) * unit_roundoff(problem.type) * scale;
      ASSERT_NEAR(static_cast<double>(d[static_cast<std::size_t>(column * problem.m + row)]), sum, bound)
          << name(problem.type) << " " << name(problem.layout) << " " << problem.m << " x " << problem.n << " x " << problem.k
          << " at " << row << ", " << column;
    }
  }
}

TEST(CpuGemm, MultipliesEveryLayoutAtOddSizes) {
  for (GemmLayout layout : kGemmLayouts) {
    for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {7, 5, 3}, {1, 33, 64}, {65, 1, 31}, {67, 61, 129}}) {
      expect_product<double>({m, n, k, DataType::fp64, layout});
      expect_product<float>({m, n, k, DataType::fp32, layout});
    }
  }
}

TEST(CpuGemm, MultipliesABatchOneAfterTheOther) {
  const GemmProblem single = {5, 3, 4, DataType::fp32, GemmLayout::nt};
  GemmProblem batch = single;
  batch.batch = 3;
  const auto run = [](const GemmProblem& problem, const float* a, const float* b, float* d) {
    cpu::gemm.plan(problem, 1, {})->launch(0, {a, b}, d, nullptr, nullptr);
  };
  std::vector<float> a(3 * 5 * 4), b(3 * 4 * 3), together(3 * 5 * 3), alone(together.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5);
  run(batch, a.data(), b.data(), together.data());
  for (std::size_t i = 0; i < 3; ++i) run(single, &a[i * 20], &b[i * 12], &alone[i * 15]);
  EXPECT_EQ(together, alone);
}

GemmProblem uneven(std::int64_t m, std::int64_t n, std::int64_t k, DataType type, std::int64_t batch, std::int64_t imbalance) {
  GemmProblem problem{m, n, k, type, GemmLayout::tn, batch};
  problem.imbalance = imbalance;
  return problem;
}

std::vector<std::int64_t> columns_of(const GemmProblem& problem) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < problem.batch; ++i) all.push_back(problem.columns(i));
  return all;
}

TEST(GemmProblem, GivesTheFirstProductItsShareAndTheOthersTheRest) {
  EXPECT_THAT(columns_of(uneven(1, 4, 1, DataType::fp32, 3, 1)), ElementsAre(4, 4, 4));
  EXPECT_THAT(columns_of(uneven(1, 4, 1, DataType::fp32, 3, 2)), ElementsAre(8, 2, 2));
  EXPECT_THAT(columns_of(uneven(1, 3, 1, DataType::fp32, 5, 2)), ElementsAre(6, 3, 2, 2, 2));
  EXPECT_THAT(columns_of(uneven(1, 1, 1, DataType::fp32, 5, 2)), ElementsAre(2, 1, 1, 1, 0));
  EXPECT_THAT(columns_of(uneven(1, 3, 1, DataType::fp32, 5, 5)), ElementsAre(15, 0, 0, 0, 0));
  EXPECT_THAT(columns_of(uneven(1, 3, 1, DataType::fp32, 1, 1)), ElementsAre(3));
}

TEST(GemmProblem, ColumnsOfAllProductsFollowOneAnother) {
  for (const std::int64_t batch : {1, 2, 3, 5, 8, 128}) {
    for (std::int64_t imbalance = 1; imbalance <= batch; ++imbalance) {
      for (const std::int64_t n : {1, 2, 7, 16, 513}) {
        const GemmProblem problem = uneven(3, n, 5, DataType::fp32, batch, imbalance);
        SCOPED_TRACE(std::to_string(batch) + " products, n " + std::to_string(n) + ", imbalance " + std::to_string(imbalance));
        std::int64_t before = 0, with_columns = 0;
        for (std::int64_t i = 0; i < batch; ++i) {
          const std::int64_t columns = problem.columns(i);
          ASSERT_EQ(problem.first_column(i), before);
          ASSERT_EQ(problem.first_of_b(i), before * 5);
          ASSERT_EQ(problem.first_of_d(i), before * 3);
          ASSERT_GE(columns, 0);
          ASSERT_LE(i > 0 ? problem.columns(1) - columns : 0, 1);
          ASSERT_LE(columns, i > 0 ? problem.columns(i - 1) : imbalance * n);
          with_columns += columns > 0;
          const GemmProblem alone = problem.product(i);
          ASSERT_EQ(alone.n, columns);
          ASSERT_EQ(alone.batch, 1);
          ASSERT_EQ(alone.columns(0), columns);
          before += columns;
        }
        ASSERT_EQ(before, batch * n);
        ASSERT_EQ(problem.products(), with_columns);
        ASSERT_EQ(problem.columns(0), imbalance * n);
      }
    }
  }
}

template <class Real>
void expect_uneven_product(const GemmProblem& problem, const std::vector<std::int64_t>& columns) {
  const std::int64_t m = problem.m, k = problem.k, all = problem.batch * problem.n;
  std::vector<Real> a(static_cast<std::size_t>(problem.batch * m * k)), b(static_cast<std::size_t>(all * k)),
      d(static_cast<std::size_t>(all * m), std::numeric_limits<Real>::quiet_NaN());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<Real>(static_cast<int>(i * 7 % 11) - 5);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<Real>(static_cast<int>(i * 5 % 13) - 6);
  cpu::gemm.plan(problem, 1, {})->launch(0, {a.data(), b.data()}, d.data(), nullptr, nullptr);
  std::int64_t column = 0;
  for (std::size_t product = 0; product < columns.size(); ++product) {
    for (const std::int64_t behind = column + columns[product]; column < behind; ++column) {
      for (std::int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += static_cast<double>(a[(product * static_cast<std::size_t>(m) + row) * k + l]) * b[column * k + l];
        }
        ASSERT_EQ(d[column * m + row], sum) << "product " << product << " row " << row << " column " << column;
      }
    }
  }
  EXPECT_EQ(column, all);
}

// Of small whole numbers, whose sums are exact.
TEST(CpuGemm, MultipliesProductsOfDifferentNumbersOfColumns) {
  expect_uneven_product<double>(uneven(7, 4, 9, DataType::fp64, 3, 2), {8, 2, 2});
  expect_uneven_product<float>(uneven(7, 4, 9, DataType::fp32, 3, 2), {8, 2, 2});
  expect_uneven_product<float>(uneven(5, 3, 33, DataType::fp32, 5, 2), {6, 3, 2, 2, 2});
  expect_uneven_product<float>(uneven(5, 1, 4, DataType::fp32, 5, 2), {2, 1, 1, 1, 0});
  expect_uneven_product<double>(uneven(5, 3, 4, DataType::fp64, 5, 5), {15, 0, 0, 0, 0});
}

// Some BLAS was built for fewer threads than that, and lowers OpenMP's.
TEST(CpuGemm, LeavesTheNumberOfThreadsAsItWas) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1000);
  constexpr std::int64_t kSize = 128;
  const std::vector<float> operand(kSize * kSize, 1);
  std::vector<float> d(kSize * kSize);
  cpu::gemm.plan({kSize, kSize, kSize, DataType::fp32}, 1, {})
      ->launch(0, {operand.data(), operand.data()}, d.data(), nullptr, nullptr);
  EXPECT_EQ(omp_get_max_threads(), 1000);
  omp_set_num_threads(before);
  EXPECT_EQ(d.back(), kSize);
}

TEST(CpuGemm, RefusesWhatTheBlasLacks) {
  const auto plan = [](DataType type, std::int64_t m) { return cpu::gemm.plan({m, 16, 16, type, GemmLayout::tn}, 1, {}); };
  EXPECT_THROW(plan(DataType::bf16, 16), Unsupported);
  EXPECT_THROW(plan(DataType::fp64, std::int64_t{1} << 31), Unsupported);
  EXPECT_THROW(cpu::gemm.plan(uneven(16, std::int64_t{1} << 30, 16, DataType::fp64, 2, 2), 1, {}), Unsupported);
}

TEST(CpuGemm, SaysWhichLibraryItIs) {
  EXPECT_EQ(cpu::gemm.library, "blas");
  EXPECT_THAT(cpu::gemm.version(), HasSubstr("BLAS"));
}

TEST(CudaGemm, SaysWhichLibraryItIs) {
  if (!&cuda::gemm) GTEST_SKIP() << "this build has no CUDA";
  EXPECT_EQ(cuda::gemm.library, "cublaslt");
  EXPECT_THAT(cuda::gemm.version(), testing::MatchesRegex("cuBLASLt [0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(GemmLayout, IsReadFromItsName) {
  for (GemmLayout layout : kGemmLayouts) EXPECT_EQ(parse_gemm_layout(name(layout)), layout);
  try {
    parse_gemm_layout("nx");
    FAIL() << "nx is no layout";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("'nx'"), HasSubstr("tn, nt, nn, tt")));
  }
}

}  // namespace
}  // namespace roofmark
