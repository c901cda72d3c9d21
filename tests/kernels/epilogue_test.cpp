// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/epilogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

class Epilogue : public KernelTest<EpilogueKernels> {
 protected:
  Epilogue() : KernelTest(&cuda::epilogue, &cpu::epilogue) {}

  Memory filled(DataType type, std::size_t count, std::uint64_t array) {
    Memory memory = device_->allocate(count * size_of(type));
    device_->fill(memory.get(), type, count, {Distribution::normal, 3, array});
    return memory;
  }
  std::vector<double> values(DataType type, const Memory& memory, std::size_t count) {
    std::vector<unsigned char> bytes(count * size_of(type));
    device_->to_host(bytes.data(), memory.get(), bytes.size());
    std::vector<double> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = load_as_double(type, bytes.data(), i);
    return all;
  }
};

TEST_P(Epilogue, IsThatOfEachElementAndItsRow) {
  constexpr std::int64_t kRows = 37, kColumns = 19, kBatch = 2, kFirst = 5;
  constexpr std::size_t kElements = kRows * kColumns * kBatch, kSome = kElements - kFirst;
  for (const GemmEpilogue epilogue : kGemmEpilogues) {
    for (const DataType output : {DataType::fp32, DataType::bf16, DataType::fp8}) {
      SCOPED_TRACE(testing::Message() << name(epilogue) << " " << name(output));
      const GemmProblem problem = {kRows, kColumns, 64, DataType::fp8, GemmLayout::tn, kBatch, output, epilogue};
      const Memory product = filled(DataType::fp32, kElements, 0), bias = filled(DataType::bf16, kRows * kBatch, 1);
      const Memory expected = filled(DataType::fp64, kSome, 2), allowed = filled(DataType::fp64, kSome, 2);
      ASSERT_EQ(problem.bias_type(), DataType::bf16);
      kernels_->reference({problem, product.get(), DataType::fp32, bias.get(), 0.25, 0.125, 0.5}, kFirst, kSome,
                          static_cast<double*>(expected.get()), static_cast<double*>(allowed.get()), device_->stream());
      device_->synchronize();
      const std::vector<double> of_product = values(DataType::fp32, product, kElements),
                                of_bias = values(DataType::bf16, bias, kRows * kBatch),
                                got = values(DataType::fp64, expected, kSome),
                                got_allowed = values(DataType::fp64, allowed, kSome);
      for (std::size_t i = 0; i < kSome; ++i) {
        const std::size_t at = i + kFirst, row = at / (kRows * kColumns) * kRows + at % kRows;
        const double added = has_bias(epilogue) ? of_bias[row] : 0;
        double x = of_product[at] + added, slope = 1, loss = 0;
        if (has_relu(epilogue)) x = std::max(x, 0.0);
        if (has_gelu(epilogue)) {
          slope = 1.13;
          loss = std::fabs(x) / 4096;
          x *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
        }
        ASSERT_NEAR(got[i], x, 1e-14) << at;
        const double error = slope * (0.25 + 0.125 * (std::fabs(of_product[at]) + std::fabs(added))) + loss +
                             unit_roundoff(output) * std::max(std::fabs(x), 0.5);
        ASSERT_NEAR(unit_roundoff(output) * got_allowed[i], error, 1e-6) << at << ", but for a sum in fp32";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Epilogue, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
