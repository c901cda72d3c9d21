// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <cblas.h>
#include <omp.h>

#include <limits>

#include "kernels/base/check.hpp"

// Weak: any other BLAS lacks them, and still multiplies.
extern "C" __attribute__((weak)) char* openblas_get_config(void);
extern "C" __attribute__((weak)) char* openblas_get_corename(void);

namespace roofmark::cpu {

namespace {

/// Sets the number of OpenMP's threads again, at the end, that it was at the beginning. Older versions of OpenBLAS lower it for
/// the whole process to the most that they were built for, 64 in Debian 12 (until OpenBLAS pull request 3951).
class OpenMpThreads {
 public:
  OpenMpThreads() = default;
  ~OpenMpThreads() { omp_set_num_threads(before_); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_ = omp_get_max_threads();
};

class BlasPlan final : public GemmPlan {
 public:
  explicit BlasPlan(const GemmProblem& problem) : problem_(problem) {
    if (problem.type != DataType::fp64 && problem.type != DataType::fp32) {
      throw Unsupported("the BLAS multiplies fp64 and fp32, not " + std::string(name(problem.type)));
    }
    if (problem.output != problem.type || problem.epilogue != GemmEpilogue::none) {
      throw Unsupported("the BLAS has no epilogue, and no D of another type than A and B");
    }
    for (std::int64_t size : {problem.m, problem.columns(0), problem.k}) {
      if (size > std::numeric_limits<int>::max()) throw Unsupported("the BLAS supports sizes below 2^31");
    }
  }

  const std::vector<std::string>& algorithms() const override {
    static const std::vector<std::string> only = {"gemm"};
    return only;
  }

  int output_roundings(int /*algorithm*/) const override { return 1; }

  void launch(int /*algorithm*/, const GemmOperands& operands, void* d, void* /*workspace*/, Stream) const override {
    const void *const a = operands.a, *const b = operands.b;
    const auto m = static_cast<int>(problem_.m), k = static_cast<int>(problem_.k);
    const CBLAS_TRANSPOSE of_a = transposes_a(problem_.layout) ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE of_b = transposes_b(problem_.layout) ? CblasTrans : CblasNoTrans;
    const int lda = of_a == CblasTrans ? k : m;
    const double beta = problem_.accumulates ? 1 : 0;
    const OpenMpThreads threads;
    for (std::int64_t i = 0; i < problem_.products(); ++i) {
      const auto n = static_cast<int>(problem_.columns(i));
      const int ldb = of_b == CblasTrans ? n : k;
      const std::int64_t at_a = problem_.first_of_a(i), at_b = problem_.first_of_b(i), at_d = problem_.first_of_d(i);
      if (problem_.type == DataType::fp64) {
        cblas_dgemm(CblasColMajor, of_a, of_b, m, n, k, problem_.alpha, static_cast<const double*>(a) + at_a, lda,
                    static_cast<const double*>(b) + at_b, ldb, beta, static_cast<double*>(d) + at_d, m);
      } else {
        cblas_sgemm(CblasColMajor, of_a, of_b, m, n, k, static_cast<float>(problem_.alpha), static_cast<const float*>(a) + at_a,
                    lda, static_cast<const float*>(b) + at_b, ldb, static_cast<float>(beta), static_cast<float*>(d) + at_d, m);
      }
    }
  }

 private:
  GemmProblem problem_;
};

std::string version() {
  if (!openblas_get_config || !openblas_get_corename) return "BLAS";
  return std::string(openblas_get_config()) + ", kernels for " + openblas_get_corename();
}

std::unique_ptr<GemmPlan> plan(const GemmProblem& problem, int /*most*/, const GemmOperands& /*operands*/) {
  return std::make_unique<BlasPlan>(problem);
}

}  // namespace

const GemmKernels gemm = {"blas", 0, version, plan};

}  // namespace roofmark::cpu
